/** The order in which commits are published and answered, and what is answered when nothing is published any more. */
import test from 'ava';
import { readVersion } from '../../src/api/encode.js';
import { openPublishOrder } from '../../storage/commit/publish-order.js';
import type { QueuedCommit } from '../../storage/commit/queued-commit.js';
import type { CommitResult } from '../../storage/commit/request.js';

interface Asked {
  readonly queued: QueuedCommit;
  readonly body: Buffer;
  result: CommitResult | undefined;
}

function asked(name: string): Asked {
  const body = Buffer.from(
    `{"apiVersion":"svc.dev/v1","kind":"Volume","metadata":{"resourceVersion":                  ,"name":"${name}"}}`,
  );
  const address = { org: 'o-1', kind: 'Volume', project: 'default', name };
  // Only what is read here.
  const request = { address, uid: name, write: { op: 'insert', body } } as unknown as QueuedCommit['request'];
  const one: Asked = {
    ...{ body, result: undefined },
    queued: {
      ...{ type: 'Object', request, before: undefined, keys: [], bytes: 0, since: 0, sealed: undefined },
      resolve: (result) => void (one.result = result),
    },
  };
  return one;
}

test('a commit behind one that is missing is answered when its process has lost the lease, with its version in the body', (t) => {
  const published: number[] = [];
  const order = openPublishOrder(10, (changes) => published.push(...changes.map(({ version }) => version)));
  const [waits, later] = [asked('waits'), asked('later')];
  order.committed(12, [waits.queued]);
  t.is(waits.result, undefined, 'version 11 is missing');
  order.abandon();
  order.committed(14, [later.queued]);
  t.deepEqual(published, []);
  for (const [one, version] of [
    [waits, 12],
    [later, 14],
  ] as const) {
    t.deepEqual(one.result, { outcome: 'Committed', version });
    t.is(readVersion(one.body), version);
    t.notThrows(() => JSON.parse(one.body.toString()) as unknown, 'it is JSON');
  }
});
