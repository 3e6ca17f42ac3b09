/** The bodies that validation is measured with are whole, valid and of the size that is claimed. */
import test from 'ava';
import { SPECIMEN_BYTES, specimen } from '../../ops/bench/specimens.js';
import { KINDS } from '../../src/kinds/index.js';
import { prepareCreate } from '../../src/kinds/write/create.js';

test('there is a valid specimen of 2 KB of every kind that clients write', (t) => {
  for (const kind of KINDS) {
    const body = specimen(kind, 'measured');
    t.is(body !== undefined, kind.operations.has('create'), kind.kind);
    if (body === undefined) continue;
    t.is(Buffer.byteLength(JSON.stringify(body)), SPECIMEN_BYTES, kind.kind);
    const project = kind.scope === 'project' ? 'default' : '';
    const made = prepareCreate(kind, { org: 'o', kind: kind.kind, project, name: 'measured' }, body, {
      context: { now: 0, uid: () => 'u', randomBytes: (length) => new Uint8Array(length) },
      fieldValidation: 'Strict',
      fieldManager: 'test',
      dryRun: true,
      duplicates: [],
    });
    t.is(made.outcome, 'Prepared', `${kind.kind}: ${JSON.stringify(made)}`);
  }
});
