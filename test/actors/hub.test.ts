import test from 'ava';
import fc from 'fast-check';
import { openHub, type Hub } from '../../actors/hub/hub.js';
import { openSlices } from '../../actors/slices.js';
import type { Range, Watcher } from '../../actors/resource-service.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { CommittedChange } from '../../storage/commit/request.js';
import { change } from './support.js';
import { tries } from '../support/extent.js';

const RANGE: Range = { org: 'acme', kind: { kind: 'Thing' } as KindDefinition };

interface Seen extends Watcher {
  readonly versions: number[];
  ended: string | undefined;
}

function watcher(keepsUp: () => boolean = () => true): Seen {
  const versions: number[] = [];
  const seen: Seen = {
    versions,
    ended: undefined,
    onChanges(changes) {
      versions.push(...changes.map(({ version }) => version));
      return keepsUp();
    },
    onEnd(reason) {
      seen.ended = reason;
    },
  };
  return seen;
}

function hubOver(
  log: CommittedChange[],
  maxChanges = 1_000,
  floor = 0,
  slices = openSlices(4),
  now = (): number => performance.now(),
): Hub {
  return openHub({
    now,
    start: 0,
    slices,
    ring: { maxBytes: 1_000_000_000, maxChanges },
    log: {
      head: async () => log.at(-1)?.version ?? 0,
      after: async (_org, _kind, from, { changes: limit, bytes: most }) => {
        if (from < floor) return { outcome: 'Expired' };
        const all = log.filter(({ version }) => version > from);
        let bytes = 0;
        const changes = all.slice(0, limit).filter(({ after, before }, i) => {
          bytes += after.length + (before?.length ?? 0);
          return i === 0 || bytes <= most;
        });
        const through = changes.length < all.length ? (changes.at(-1)?.version ?? from) : (log.at(-1)?.version ?? from);
        return { outcome: 'Changes', changes, through };
      },
    },
  });
}

const until = async (condition: () => boolean): Promise<void> => {
  const deadline = Date.now() + 5_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('the condition did not come true in 5 s');
    await new Promise((resolve) => setImmediate(resolve));
  }
};

test('watchers that join at random versions while changes are published see each change once and in order', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat({ max: 4 }), { minLength: 1, maxLength: 60 }),
      fc.integer({ min: 1, max: 20 }),
      async (steps, ringSize) => {
        const log: CommittedChange[] = [];
        const hub = hubOver(log, ringSize);
        const stop = new AbortController();
        const joined: { seen: Seen; from: number; ready: Promise<unknown> }[] = [];
        let version = 0;
        for (const step of steps) {
          if (step === 0) {
            const from = Math.floor(version / 2);
            const seen = watcher();
            joined.push({ seen, from, ready: hub.watch(RANGE, from, seen, stop.signal) });
          } else {
            const batch = Array.from({ length: step }, () => change((version += 1)));
            log.push(...batch);
            hub.publish(batch);
          }
          if (step === 4) await new Promise((resolve) => setImmediate(resolve));
        }
        await Promise.all(joined.map(({ ready }) => ready));
        for (const { seen, from } of joined) {
          await until(() => seen.versions.length >= version - from);
          t.deepEqual(
            seen.versions,
            Array.from({ length: version - from }, (_, i) => from + 1 + i),
          );
        }
        stop.abort();
        t.is(hub.watchers, 0);
      },
    ),
    { numRuns: tries(50) },
  );
});

test('a watcher that does not keep up is ended and never slows the others', async (t) => {
  const hub = hubOver([]);
  const stop = new AbortController();
  const slow = watcher(() => false);
  const quick = watcher();
  await hub.watch(RANGE, 0, slow, stop.signal);
  await hub.watch(RANGE, 0, quick, stop.signal);
  hub.publish([change(1)]);
  await until(() => quick.versions.length === 1);
  hub.publish([change(2)]);
  await until(() => quick.versions.length === 2);
  t.is(slow.ended, 'Slow');
  t.deepEqual(slow.versions, [1]);
  t.is(hub.watchers, 1);
});

test('a watch from below the floor of the log is told so instead of skipping what is gone', async (t) => {
  const hub = hubOver([change(90), change(91)], 1, 80);
  hub.publish([change(90), change(91)]);
  t.is(await hub.watch(RANGE, 79, watcher(), new AbortController().signal), 'Expired');
  t.is(await hub.watch(RANGE, 85, watcher(), new AbortController().signal), 'Watching');
});

test('a watcher of one project or name is not shown its neighbours', async (t) => {
  const hub = hubOver([]);
  const stop = new AbortController();
  const other = { org: 'acme', kind: 'Thing', project: 'other', name: 'one' };
  const one = watcher();
  await hub.watch({ ...RANGE, project: 'default', name: 'one' }, 0, one, stop.signal);
  hub.publish([change(1), change(2, Buffer.from('{}'), other), change(3)]);
  await until(() => one.versions.length >= 2);
  t.deepEqual(one.versions, [1, 3]);
});

test('a watcher that catches up gets steps of bounded size, from log and ring, and the next when it has drained', async (t) => {
  const body = Buffer.alloc(200 * 1024, 'x');
  const log = Array.from({ length: 40 }, (_, i) => change(i + 1, body));
  const hub = hubOver(log, 25);
  hub.publish(log);
  const steps: number[] = [];
  const seen = watcher();
  let release: (() => void) | undefined;
  const slow: Watcher = {
    onChanges(changes, version) {
      steps.push(changes.reduce((sum, { after, before }) => sum + after.length + (before?.length ?? 0), 0));
      return seen.onChanges(changes, version);
    },
    onEnd: (reason) => seen.onEnd(reason),
    drained: () => new Promise((resolve) => (release = resolve)),
  };
  const stop = new AbortController();
  const watching = hub.watch(RANGE, 0, slow, stop.signal);
  while (seen.versions.length < 40) {
    const before = steps.length;
    await until(() => release !== undefined || seen.versions.length === 40);
    t.true(steps.length - before <= 1, 'one step for each time it has drained');
    const drained = release;
    release = undefined;
    drained?.();
    await until(() => steps.length > before || seen.versions.length === 40);
  }
  release?.();
  await watching;
  t.deepEqual(
    seen.versions,
    log.map(({ version }) => version),
  );
  t.true(Math.max(...steps) < 2 * 1024 * 1024, `steps of ${steps.join()} bytes`);
});

test('a watch from long ago takes one slice of the event loop for each step through what is in memory', async (t) => {
  let slices = 0;
  const next = async (): Promise<void> => void (slices += 1);
  const log = Array.from({ length: 2_000 }, (_, i) => change(i + 1));
  const hub = hubOver(log, 5_000, 0, { next });
  hub.publish(log);
  let most = 0;
  const seen = watcher();
  const onChanges: Watcher['onChanges'] = (changes, version) => {
    most = Math.max(most, changes.length);
    return seen.onChanges(changes, version);
  };
  await hub.watch(RANGE, 0, { ...seen, onChanges }, new AbortController().signal);
  t.is(seen.versions.length, 2_000);
  t.true(most <= 250, `${most} changes at once`);
  t.true(slices >= 8, `${slices} slices`);
});

test('a drain ends every watch cleanly', async (t) => {
  const hub = hubOver([]);
  const seen = watcher();
  await hub.watch(RANGE, 0, seen, new AbortController().signal);
  hub.drain();
  t.is(seen.ended, 'Draining');
  t.is(hub.watchers, 0);
});

test('a watch from a version that the hub has not yet published repeats nothing of it', async (t) => {
  const hub = hubOver([change(1), change(2), change(3)]);
  hub.publish([change(1)]);
  const seen = watcher();
  // The list that the client has seen was read from Postgres, where 2 and 3 were committed already.
  await hub.watch(RANGE, 3, seen, new AbortController().signal);
  hub.publish([change(2), change(3)]);
  hub.publish([change(4)]);
  await until(() => seen.versions.length > 0);
  t.deepEqual(seen.versions, [4]);
});

test('a receiver that throws is ended, and the others go on', async (t) => {
  const hub = hubOver([]);
  const stop = new AbortController();
  const bad = watcher(() => {
    throw new Error('a cell cannot be rendered');
  });
  const good = watcher();
  await hub.watch(RANGE, 0, bad, stop.signal);
  await hub.watch(RANGE, 0, good, stop.signal);
  hub.publish([change(1)]);
  await until(() => good.versions.length === 1);
  hub.publish([change(2)]);
  await until(() => good.versions.length === 2);
  t.is(bad.ended, 'Slow');
  t.is(hub.watchers, 1);
});

test('a watch that was catching up when the hub was drained is ended, too', async (t) => {
  const log = Array.from({ length: 30 }, (_, i) => change(i + 1));
  const hub = hubOver(log, 5);
  hub.publish(log);
  const seen = watcher();
  const watching = hub.watch(RANGE, 0, seen, new AbortController().signal);
  hub.drain();
  await watching;
  t.is(seen.ended, 'Draining');
  t.is(hub.watchers, 0);
});

test('a watch from above every version that was given is told so, instead of waiting in silence', async (t) => {
  const hub = hubOver([change(1), change(2)]);
  hub.publish([change(1)]);
  t.is(await hub.watch(RANGE, 3, watcher(), new AbortController().signal), 'Expired');
  t.is(hub.watchers, 0);
});

test('thousands of watchers of one org are handed a change in slices, and an org with one watcher has its turn between', async (t) => {
  let clock = 0;
  const hub = hubOver([], 1_000, 0, openSlices(4), () => clock);
  const stop = new AbortController();
  let rounds = 0;
  const handed: number[] = [];
  const many: Watcher = {
    // A hand-over takes a tenth of a millisecond.
    onChanges() {
      clock += 0.1;
      handed[rounds] = (handed[rounds] ?? 0) + 1;
      return true;
    },
    onEnd: () => undefined,
  };
  for (let n = 0; n < 2_000; n += 1) await hub.watch(RANGE, 0, { ...many }, stop.signal);
  let before: number | undefined;
  const alone: Watcher = {
    onChanges() {
      before = handed.reduce((sum, count) => sum + count, 0);
      return true;
    },
    onEnd: () => undefined,
  };
  await hub.watch({ ...RANGE, org: 'globex' }, 0, alone, stop.signal);
  hub.publish([change(1), change(2, Buffer.from('{}'), { ...change(2).address, org: 'globex' })]);
  const settledAt: number[] = [];
  await until(() => {
    rounds += 1;
    const served = handed.reduce((sum, count) => sum + count, 0);
    if (served < 2_000) settledAt.push(hub.settled('acme'));
    return served === 2_000;
  });
  t.true(Math.max(...handed.filter((count) => count > 0)) <= 60, 'at most about 5 ms between two rounds of the loop');
  t.true((before ?? Infinity) <= 60, `the other org waited for ${before} watchers`);
  t.true(
    settledAt.every((version) => version === 0),
    'no bookmark before all watchers of the org have the change',
  );
  await until(() => hub.settled('acme') === 2);
  t.is(hub.settled('globex'), 2);
  stop.abort();
});

test('changes that pile up behind watchers of their org are bounded in bytes, and those watchers are ended as slow ones', async (t) => {
  let clock = 0;
  const hub = hubOver([], 4, 0, openSlices(4), () => (clock += 10));
  const stop = new AbortController();
  const watchers = Array.from({ length: 50 }, () => watcher());
  for (const one of watchers) await hub.watch(RANGE, 0, one, stop.signal);
  const other = watcher();
  await hub.watch({ ...RANGE, org: 'globex' }, 0, other, stop.signal);
  hub.publish([change(1)]);
  await until(() => watchers[0]?.versions.length === 1);
  const body = Buffer.alloc(1024 * 1024);
  for (let version = 2; version < 42; version += 1) hub.publish([change(version, body)]);
  hub.publish([change(42, Buffer.from('{}'), { ...change(42).address, org: 'globex' })]);
  await until(() => watchers.every(({ ended }) => ended === 'Slow'));
  t.true(
    watchers.every(({ versions }) => versions.length <= 1),
    'none got a part with a gap',
  );
  await until(() => other.versions.length === 1);
  t.is(other.ended, undefined);
  stop.abort();
});
