/** Property: whatever happens to objects, a watch with a selection and a list with it tell the same story. */
import test from 'ava';
import * as fc from 'fast-check';
import { encodeObject, stampVersion } from '../../src/api/encode.js';
import type { CommittedChange } from '../../storage/commit/request.js';
import type { Selection } from '../../http/resources/selection.js';
import { changeFrame, chunk, select, payload, tickChunks } from '../../http/watch/frames.js';
import { openRenderings } from '../../http/table/rendering.js';
import { KINDS } from '../../src/kinds/index.js';
import { object } from './support/test-api.js';
import { at, text } from './support/json.js';
import { tries } from '../support/extent.js';

type Step = { readonly name: string; readonly to: '0' | '1' | 'gone' };

const steps = fc.array(fc.record({ name: fc.constantFrom('a', 'b', 'c'), to: fc.constantFrom('0', '1', 'gone') }), {
  maxLength: 40,
});

const selected: Selection = {
  all: false,
  name: undefined,
  project: undefined,
  shows: (candidate) => candidate.metadata.labels?.['on'] === '1',
};

function history(all: readonly Step[]): CommittedChange[] {
  const current = new Map<string, Buffer>();
  const changes: CommittedChange[] = [];
  let version = 0;
  for (const { name, to } of all) {
    const before = current.get(name);
    if (to === 'gone' && before === undefined) continue;
    version += 1;
    const was: string = before === undefined ? '0' : JSON.parse(before.toString()).metadata.labels.on;
    const body = encodeObject(object('Secret', name, 'default', {}, { labels: { on: to === 'gone' ? was : to } }));
    const after = stampVersion(body, version);
    const type = to === 'gone' ? 'DELETED' : before === undefined ? 'ADDED' : 'MODIFIED';
    changes.push({
      version,
      type,
      address: { org: 'o', kind: 'Secret', project: 'default', name },
      uid: name,
      before,
      after,
    });
    if (to === 'gone') current.delete(name);
    else current.set(name, after);
  }
  return changes;
}

const kind = KINDS.find((candidate) => candidate.kind === 'Secret') ?? KINDS[0];
const rendering = kind && openRenderings('svc.dev', () => 0).of({ form: 'object', yaml: false }, kind, 'None');

test('applying the events of a selected watch gives exactly the selected objects, at every version', (t) => {
  fc.assert(
    fc.property(steps, (all) => {
      const shown = new Map<string, string>();
      const truth = new Map<string, string>();
      let last = 0;
      for (const change of history(all)) {
        const { name } = change.address;
        const on: string = JSON.parse(change.after.toString()).metadata.labels.on;
        if (change.type === 'DELETED' || on !== '1') truth.delete(name);
        else truth.set(name, String(change.version));
        const what = select(change, selected);
        if (what !== undefined && rendering) {
          const event: unknown = JSON.parse(changeFrame(change, what, rendering).toString());
          const version = text(event, 'object.metadata.resourceVersion');
          // No step back and no repeat: a client resumes from the version that it read last.
          if (Number(version) <= last || Number(version) !== change.version) return false;
          last = Number(version);
          if (what.type === 'ADDED' && shown.has(name)) return false;
          if (what.type === 'MODIFIED' && !shown.has(name)) return false;
          if (what.type === 'DELETED') {
            // The state that it had in the selection.
            if (!shown.delete(name) || at(event, 'object.metadata.labels.on') !== '1') return false;
          } else shown.set(name, version);
        }
        if (shown.size !== truth.size || [...truth].some(([key, value]) => shown.get(key) !== value)) return false;
      }
      return true;
    }),
    { numRuns: tries(500) },
  );
  t.pass();
});

test('a tick is made once for all who see everything of it, and is one well-formed HTTP chunk', (t) => {
  const changes = history([
    { name: 'a', to: '1' },
    { name: 'a', to: '0' },
    { name: 'b', to: '1' },
  ]);
  if (!rendering) return t.fail();
  const everything: Selection = { ...selected, all: true };
  const alone = tickChunks(changes, everything, rendering);
  const [bytes, ...none] = tickChunks(changes, everything, rendering);
  if (!bytes) return t.fail();
  t.is(none.length, 0);
  t.deepEqual(Buffer.concat(alone.map(payload)), payload(bytes));
  t.is(tickChunks(changes, { ...everything }, rendering)[0], bytes);
  const [size, ...rest] = bytes.toString().split('\r\n');
  t.is(Number.parseInt(size ?? '', 16), Buffer.byteLength(rest[0] ?? ''));
  t.is(rest.at(-1), '');
  t.is((rest[0] ?? '').trimEnd().split('\n').length, 3);
  t.is(chunk([]).length, 0);
});

test('thousands of different selections that see the same event of a change share its bytes', (t) => {
  const changes = history([
    { name: 'a', to: '1' },
    { name: 'a', to: '0' },
    { name: 'a', to: 'gone' },
    { name: 'b', to: '1' },
  ]);
  if (!rendering) return t.fail();
  const made = new Set<Buffer>();
  for (let n = 0; n < 3_000; n += 1) {
    const on = String(n % 3);
    const shows: Selection['shows'] = (candidate) =>
      n % 3 === 2 ? candidate.metadata.name !== `x${n}` : candidate.metadata.labels?.['on'] === on;
    for (const bytes of tickChunks(changes, { ...selected, shows }, rendering)) made.add(bytes);
  }
  // Everything as it was written, a's way out of on=1 and its way into on=0; a DELETED is the same for all.
  t.is(made.size, changes.length + 2);
});
