/**
 * Serves `GET …/files?list=true`: the entries of a directory of a running object, as JSON `{items, truncated}`.
 *
 * I10: what comes about the entries counts LISTED_COST times in the memory of answers (`../answer-memory.ts`) until the answer is written or its
 * client has left; where there is no room, the answer is 429. Short listings need none. A long one is written in pieces of SLICE_ENTRIES and
 * about PIECE_CHARACTERS, as its client takes them (`../long-json.ts`).
 */
import type { Entry, FilePlace, Listing } from '../../actors/work/files/open.js';
import type { Caller } from '../../actors/resource-service.js';
import { refuse } from '../../src/api/refusal.js';
import { rfc3339 } from '../../src/api/time.js';
import type { Exchange } from '../exchange.js';
import { sendLongJson } from '../long-json.js';
import { JSON_TYPE, reply } from '../reply.js';
import type { ServerContext } from '../server-context.js';

/** Entries that are written in one slice of the event loop, and about how many characters of JSON. */
const SLICE_ENTRIES = 500;
const PIECE_CHARACTERS = 64 * 1024;
/** Bytes of a listing that are not counted. */
const SHORT_BYTES = 16 * 1024;
/** Bytes that are held for each one that comes: as it came, put together, and as entries. */
const LISTED_COST = 4;

export async function sendDirectory(
  x: Exchange,
  context: ServerContext,
  place: FilePlace,
  allows: (caller: Caller) => boolean,
): Promise<void> {
  const { org } = place.owner;
  const memory = context.answerMemory.open(org);
  const release = context.streams.add(x, { allows, end: () => x.res.destroy() });
  let listed = 0;
  const hold = (bytes: number): void => {
    listed += bytes;
    if (listed > SHORT_BYTES && !memory.hold(bytes * LISTED_COST)) throw noRoom();
  };
  const nextSlice = (): Promise<void> => context.resources.slice(org);
  try {
    const listing = await context.files.list(place, x.gone, hold);
    const base = place.path.endsWith('/') ? place.path : `${place.path}/`;
    const pieces = piecesOf(listing, base);
    if (isShort(listing, base)) {
      await nextSlice();
      reply(x, 200, [...pieces].join(''), { 'content-type': JSON_TYPE });
    } else {
      await sendLongJson(x, { place: await context.answerPlaces.take(org, x.gone), pieces, nextSlice });
    }
  } finally {
    memory.free();
    release();
  }
}

function noRoom(): Error {
  return refuse('TooManyRequests', 'the answers of this org hold too much memory', {
    retryAfterSeconds: 5,
    fix: 'List fewer large directories at once, and read each answer as it comes.',
  });
}

/** Written at once. */
function isShort({ entries }: Listing, base: string): boolean {
  let characters = 0;
  for (const { name, target } of entries) {
    characters += base.length + 2 * name.length + (target?.length ?? 0) + 100;
    if (characters > PIECE_CHARACTERS) return false;
  }
  return true;
}

function* piecesOf({ entries, truncated }: Listing, base: string): Generator<string> {
  let piece = '{"items":[';
  let inPiece = 0;
  for (const [index, entry] of entries.entries()) {
    if (inPiece === SLICE_ENTRIES || piece.length >= PIECE_CHARACTERS) {
      yield piece;
      piece = '';
      inPiece = 0;
    }
    piece += `${index === 0 ? '' : ','}${JSON.stringify(wireEntry(entry, base))}`;
    inPiece += 1;
  }
  yield `${piece}],"truncated":${truncated}}`;
}

function wireEntry(
  { name, type, size, mode, modified, target }: Entry,
  base: string,
): Readonly<Record<string, unknown>> {
  return { name, path: base + name, type, size, mode, modifiedTime: rfc3339(modified), target };
}
