/**
 * The bytes of watch events. They are made once per change, type of event and form, and shared by all watchers that
 * get this event in this form, whatever they select; a whole tick's frames are joined once for all watchers that see
 * everything of a range, because the hub hands all of them the same array (facts, "HTTP": the cost of a watch is per write).
 *
 * The bytes are ready HTTP chunks: `sender.ts` writes them to the socket as they are.
 * Kept in WeakMaps beside the change: they go when the hub forgets it.
 */
import { decodeObject, stampVersion } from '../../src/api/encode.js';
import type { ApiObject } from '../../src/api/object.js';
import type { CommittedChange } from '../../storage/commit/request.js';
import type { Rendering } from '../table/rendering.js';
import type { Selection } from '../resources/selection.js';

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';

const END = Buffer.from('}\n');
const HEADS = new Map<EventType, Buffer>(
  (['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR'] as const).map((type) => [
    type,
    Buffer.from(`{"type":"${type}","object":`),
  ]),
);
const NOTHING = Buffer.alloc(0);

export function frame(type: EventType, object: Buffer | string): Buffer {
  const bytes = typeof object === 'string' ? Buffer.from(object) : object;
  return Buffer.concat([HEADS.get(type) ?? NOTHING, bytes, END]);
}

/** What a watcher with a selection sees of a change; undefined: nothing. */
export type Seen = { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly state: 'after' | 'before' } | undefined;

/**
 * Coming into a selection is ADDED, leaving it is DELETED with the last state that was in it, as in Kubernetes.
 * `before` and `after` say whether those states match; a change that has no such state does not match in it.
 */
export function seen(type: CommittedChange['type'], before: boolean, after: boolean): Seen {
  if (type === 'DELETED') return before || after ? { type: 'DELETED', state: 'after' } : undefined;
  if (after) return { type: before ? 'MODIFIED' : 'ADDED', state: 'after' };
  return before ? { type: 'DELETED', state: 'before' } : undefined;
}

interface Parsed {
  before?: ApiObject;
  after?: ApiObject;
}

const parsed = new WeakMap<CommittedChange, Parsed>();

function parsedOf(change: CommittedChange): Parsed {
  let both = parsed.get(change);
  if (both === undefined) {
    both = { after: decodeObject(change.after), ...(change.before ? { before: decodeObject(change.before) } : {}) };
    parsed.set(change, both);
  }
  return both;
}

export function select(change: CommittedChange, selection: Selection): Seen {
  if (selection.all) return { type: change.type, state: 'after' };
  const { before, after } = parsedOf(change);
  // A deletion is judged by what the object was: its last state is `after`, and equals `before` but for the version.
  const was = before !== undefined && selection.shows(before);
  return seen(change.type, was, change.type === 'DELETED' ? was : after !== undefined && selection.shows(after));
}

/** The frame of a change in a form. */
export function changeFrame(change: CommittedChange, what: NonNullable<Seen>, rendering: Rendering): Buffer {
  const body =
    what.state === 'after' || change.before === undefined
      ? change.after
      : stampVersion(Buffer.from(change.before), change.version);
  return frame(what.type, rendering.single(body));
}

const chunks = new WeakMap<CommittedChange, Map<string, Buffer>>();

/** The same frame as a chunk, made once for all watchers to whom the change is this event, whatever they select. */
function changeChunk(change: CommittedChange, what: NonNullable<Seen>, rendering: Rendering): Buffer {
  let made = chunks.get(change);
  if (made === undefined) chunks.set(change, (made = new Map()));
  const key = `${what.type}/${what.state}/${rendering.key}`;
  let bytes = made.get(key);
  if (bytes === undefined) made.set(key, (bytes = chunk([changeFrame(change, what, rendering)])));
  return bytes;
}

const joined = new WeakMap<readonly CommittedChange[], Map<string, Buffer | undefined>>();

/**
 * All that a watcher with this selection sees of a tick, as HTTP chunks that it shares with others; none when it sees
 * nothing. A watcher with a selection shares chunks of single changes: thousands of different selections copy no byte.
 */
export function tickChunks(
  changes: readonly CommittedChange[],
  selection: Selection,
  rendering: Rendering,
): readonly Buffer[] {
  const shown: Buffer[] = [];
  if (!selection.all) {
    for (const change of changes) {
      const what = select(change, selection);
      if (what !== undefined) shown.push(changeChunk(change, what, rendering));
    }
    return shown;
  }
  const whole = wholeTick(changes, rendering);
  if (whole !== undefined) return [whole];
  for (const change of changes) shown.push(changeChunk(change, { type: change.type, state: 'after' }, rendering));
  return shown;
}

/**
 * The changes of an array as one chunk: one write for each watcher instead of one a change. It is made for the second
 * watcher that is handed this very array; what one watcher gets while it catches up is not copied.
 */
function wholeTick(changes: readonly CommittedChange[], rendering: Rendering): Buffer | undefined {
  if (changes.length < 2) return undefined;
  let made = joined.get(changes);
  if (made === undefined) joined.set(changes, (made = new Map()));
  let bytes = made.get(rendering.key);
  if (bytes === undefined && made.has(rendering.key)) {
    bytes = chunk(
      changes.map((change) => payload(changeChunk(change, { type: change.type, state: 'after' }, rendering))),
    );
  }
  made.set(rendering.key, bytes);
  return bytes;
}

const LINE = Buffer.from('\r\n');

/** One chunk of a chunked HTTP body. */
export function chunk(parts: readonly Buffer[]): Buffer {
  let size = 0;
  for (const part of parts) size += part.length;
  if (size === 0) return NOTHING;
  return Buffer.concat([Buffer.from(`${size.toString(16)}\r\n`), ...parts, LINE]);
}

/** The bytes between a chunk's head and its end. */
export function payload(bytes: Buffer): Buffer {
  return bytes.subarray(bytes.indexOf('\n') + 1, bytes.length - LINE.length);
}
