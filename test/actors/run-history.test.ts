/** What is remembered of runs: from which commits it is learned, what is forgotten, and what a new process finds. */
import test from 'ava';
import { openRunHistory, type RunHistory } from '../../actors/run-history.js';
import { encodeObject } from '../../src/api/encode.js';
import type { Address } from '../../src/api/address.js';
import type { ApiObject } from '../../src/api/object.js';
import { jobKind } from '../../src/kinds/job/index.js';
import { sandboxKind } from '../../src/kinds/sandbox/index.js';
import type { CommittedChange } from '../../storage/commit/request.js';
import { openRunHistoryRows, type RunHistoryRows } from '../../storage/run-history.js';
import { openStore } from '../../storage/open.js';
import { openTestDatabase } from '../support/postgres.js';
import { objectOf } from '../kinds/decide.js';

const KINDS = [jobKind, sandboxKind];
const owners = new Map<string, ApiObject>();
const keyOf = ({ org, project, kind, name }: Address): string => `${org}/${project}/${kind}/${name}`;

const open = (rows: RunHistoryRows): Promise<RunHistory> =>
  openRunHistory({
    rows,
    kindOf: (name) => KINDS.find(({ kind }) => kind === name),
    cached: (address) => {
      const object = owners.get(keyOf(address));
      return object && { body: encodeObject(object) };
    },
    onProblem: (message) => {
      throw new Error(message);
    },
  });

const NONE: RunHistoryRows = { load: async () => [], save: async () => undefined };

function owner(kind: 'Job' | 'Sandbox', name: string, command: string, org = 'o'): void {
  const definition = kind === 'Job' ? jobKind : sandboxKind;
  const spec = { command: [command], ...(kind === 'Sandbox' ? { image: 'svc/agent-tools' } : {}) };
  const object = objectOf(definition, spec, { name, uid: name });
  owners.set(keyOf({ org, project: 'p', kind, name }), object);
}

const PROVEN = '2026-01-01T00:00:09.250Z';

function ended(of: readonly ['Job' | 'Sandbox', string], status: object = {}, org = 'o'): CommittedChange {
  const [kind, name] = of;
  const timings = {
    ...{ commandStartedTime: '2026-01-01T00:00:02.000Z', finishedTime: '2026-01-01T00:00:09.000Z' },
    ...{ bootSeconds: 0.5, teardownSeconds: 0.25 },
  };
  const attempt = (more: object): Buffer =>
    encodeObject({
      ...{ apiVersion: 'svc.dev/v1', kind: 'Attempt', spec: { epoch: 1, slot: 0 } },
      metadata: {
        ...{ name: `${name}-0`, uid: 'a', creationTimestamp: '2026-01-01T00:00:00Z', generation: 1 },
        ownerReferences: [{ apiVersion: 'svc.dev/v1', kind, name, uid: name, controller: true }],
      },
      status: { phase: 'Succeeded', ...status, timings: { ...timings, ...more } },
    });
  return {
    ...{ version: 1, type: 'MODIFIED', address: { org, project: 'p', kind: 'Attempt', name: `${name}-0` }, uid: 'a' },
    ...{ before: attempt({}), after: attempt({ deletionProvenTime: PROVEN }) },
  };
}

const likeOf = (kind: 'Job' | 'Sandbox', name: string, org = 'o'): string => {
  const object = owners.get(keyOf({ org, project: 'p', kind, name }));
  const definition = kind === 'Job' ? jobKind : sandboxKind;
  return (object && definition.pricedWork?.(object).parts[0]?.like) ?? '';
};

test('a run is learned once, from the commit that proves its end, and only when nothing disturbed it', async (t) => {
  const history = await open(NONE);
  owner('Job', 'job', 'a');
  owner('Sandbox', 'box', 'b');
  const runsOf = (kind: 'Job' | 'Sandbox', name: string) => history.of('o', 'p', likeOf(kind, name));
  const change = ended(['Job', 'job']);
  history.committed(change);
  history.committed({ ...change, before: change.after });
  const run = { bootMs: 500, runMs: 7_000, teardownMs: 250 };
  t.deepEqual(runsOf('Job', 'job'), [run]);
  t.is(history.of('other', 'p', likeOf('Job', 'job')), undefined, 'of the org alone');
  t.is(history.of('o', 'other', likeOf('Job', 'job')), undefined, 'and of the project');

  history.committed(ended(['Job', 'job'], { phase: 'Failed' }));
  history.committed(ended(['Job', 'job'], { phase: 'Cancelled' }));
  history.committed(ended(['Job', 'job'], { interruption: { trigger: 'Funding' } }));
  history.committed(ended(['Job', 'gone']));
  history.committed({ ...change, type: 'DELETED', before: change.before });
  t.is(runsOf('Job', 'job')?.length, 1);
  history.committed(ended(['Sandbox', 'box'], { phase: 'Cancelled' }));
  history.committed(ended(['Sandbox', 'box'], { phase: 'Failed' }));
  t.deepEqual(runsOf('Sandbox', 'box'), [run]);
  for (let i = 0; i < 40; i++) history.committed(change);
  t.is(runsOf('Job', 'job')?.length, 32);
});

test('an org that runs ever new work forgets its own oldest, and nobody else’s', async (t) => {
  const history = await open(NONE);
  owner('Job', 'steady', 'steady', 'quiet');
  history.committed(ended(['Job', 'steady'], {}, 'quiet'));
  for (let i = 0; i < 1_001; i++) {
    owner('Job', 'many', `command ${i}`);
    history.committed(ended(['Job', 'many']));
  }
  t.truthy(history.of('o', 'p', likeOf('Job', 'many')));
  owner('Job', 'many', 'command 0');
  t.is(history.of('o', 'p', likeOf('Job', 'many')), undefined);
  owner('Job', 'many', 'command 1');
  t.truthy(history.of('o', 'p', likeOf('Job', 'many')));
  t.truthy(history.of('quiet', 'p', likeOf('Job', 'steady', 'quiet')));
});

test('a new process finds what the one before has learned, and the rows are bounded', async (t) => {
  const { url } = await openTestDatabase(t);
  const store = await openStore({ url, seal: (_parts, plain) => plain, open: (_parts, sealed) => sealed });
  t.teardown(() => store.close());
  const lease = await store.acquire({ holder: 'history', ttl: 2_000 }, AbortSignal.timeout(20_000));
  t.teardown(() => lease.release());
  const rows = openRunHistoryRows(store.postgres);
  const first = await open(rows);
  owner('Job', 'kept', 'it\'s "kept"');
  const stopping = new AbortController();
  const running = first.run(stopping.signal);
  first.committed(ended(['Job', 'kept']));
  stopping.abort();
  await running;
  const second = await open(rows);
  t.deepEqual(second.of('o', 'p', likeOf('Job', 'kept')), [{ bootMs: 500, runMs: 7_000, teardownMs: 250 }]);

  const entry = (like: string) => ({ org: 'o', project: 'p', like, runs: [{ bootMs: 1, runMs: 2, teardownMs: 3 }] });
  const bounds = { keptMs: 3_600_000, most: 2 };
  for (const like of ['a', 'b', 'c', 'd']) await rows.save([entry(like)], bounds);
  t.deepEqual((await rows.load(10)).map(({ like }) => like).toSorted(), ['c', 'd'].toSorted());
  await rows.save([entry('c')], { ...bounds, keptMs: 0 });
  t.is((await rows.load(10)).length, 0);
});
