/** The places in which work is started and its inputs are fetched. */
import test from 'ava';
import { continueIn, OVERRULED, type PoolName } from '../../actors/effects/outcome.js';
import type { LaterEffect } from '../../src/kinds/effect.js';
import { aborted, bench, row, until } from './effect-bench.js';
import { THING } from './support.js';

const OWNER = { ...THING, name: 'owner' };
const startWork = (epoch: number): LaterEffect => ({
  type: 'StartWork',
  owner: OWNER,
  ownerUid: 'u-owner',
  slot: 0,
  epoch,
});
const stopWork = (epoch: number): LaterEffect => ({ type: 'StopWork', epoch, graceSeconds: 30 });

test('the stop of work whose start is under way ends the start at once, and comes after it', async (t) => {
  const order: string[] = [];
  const { runner, done } = bench(async ({ effect }, { signal }) => {
    if (effect.type === 'StartWork') await aborted(signal);
    order.push(`${effect.type} ${String(signal.reason === OVERRULED)}`);
    return { outcome: 'Done' };
  });
  runner.take(row(1, startWork(1)));
  runner.take(row(2, stopWork(2)));
  runner.take(row(3, stopWork(1)));
  await until(() => done.length === 3);
  t.deepEqual(order, ['StartWork true', 'StopWork false', 'StopWork false']);
});

test('a start that waits for its next try, or for its turn, is overruled at once too', async (t) => {
  const tries: boolean[] = [];
  const busy: string[] = [];
  const { runner, done, stop } = bench(async ({ row: { uid }, effect }, { signal }) => {
    if (effect.type !== 'StartWork') return { outcome: 'Done' };
    if (uid === 'u-1') {
      tries.push(signal.aborted);
      return signal.aborted ? { outcome: 'Done' } : { outcome: 'Retry', message: 'the machine is away' };
    }
    busy.push(uid);
    await aborted(signal);
    return { outcome: 'Done' };
  });
  runner.take(row(1, startWork(1)));
  // Its pause has grown so long that only the stop can end it in time.
  await until(() => tries.length >= 3);
  for (let n = 0; n < 400; n += 1) runner.take({ ...row(100 + n, startWork(1)), uid: `u-busy-${n}` });
  await until(() => busy.length > 0);
  const before = busy.length;
  runner.take(row(2, stopWork(1)));
  runner.take({ ...row(600, stopWork(1)), uid: 'u-busy-399' });
  await until(() => [1, 2, 499, 600].every((version) => done.includes(version)));
  t.is(busy.length, before + 1);
  t.deepEqual(tries.slice(-1), [true]);
  stop.abort();
});

test('starts that are under way hear that the process stops', async (t) => {
  const reasons: unknown[] = [];
  const { runner, stop } = bench(async (_task, { signal }) => {
    await aborted(signal);
    reasons.push(signal.reason);
    return { outcome: 'Done' };
  });
  runner.take(row(1, startWork(1)));
  runner.take({ ...row(2, startWork(1)), uid: 'u-2' });
  stop.abort('stopping');
  await until(() => reasons.length === 2);
  t.deepEqual(reasons, ['stopping', 'stopping']);
});

test('slow starts of one org, however many, hold up no start of another', async (t) => {
  const started: string[] = [];
  const { runner, done, stop } = bench(async ({ row: { address, uid } }, { signal }) => {
    started.push(address.org);
    // An input that comes a byte at a time.
    if (uid.startsWith('u-slow')) await aborted(signal);
    return { outcome: 'Done' };
  });
  const slow = (org: string, from: number): void => {
    for (let n = from; n < from + 1_000; n += 1) {
      runner.take({ ...row(n, startWork(1)), address: { ...THING, org }, uid: `u-slow-${n}` });
    }
  };
  slow('o-slow', 1);
  slow('o-slower', 1_001);
  await until(() => started.length > 1);
  for (let n = 5_000; n < 5_100; n += 1) runner.take({ ...row(n, startWork(1)), uid: `u-${n}` });
  await until(() => done.filter((version) => version >= 5_000).length === 100);
  t.true(started.filter((org) => org === 'o-slow').length >= 64);
  t.true(started.filter((org) => org.startsWith('o-slow')).length < 128);
  stop.abort();
});

test('orgs take turns: one with a thousand starts in line goes before another once for each of its own', async (t) => {
  const order: string[] = [];
  let go: () => void = () => undefined;
  const gate = new Promise<void>((open) => (go = open));
  const { runner } = bench(async ({ row: { address, uid } }) => {
    if (uid.startsWith('u-first')) await gate;
    else order.push(address.org);
    return { outcome: 'Done' };
  });
  for (let n = 1; n <= 64; n += 1) runner.take({ ...row(n, startWork(1)), uid: `u-first-${n}` });
  for (let n = 100; n < 1_100; n += 1) runner.take({ ...row(n, startWork(1)), uid: `u-many-${n}` });
  go();
  for (let n = 2_000; n < 2_010; n += 1) {
    runner.take({ ...row(n, startWork(1)), address: { ...THING, org: 'o-few' }, uid: `u-few-${n}` });
  }
  await until(() => order.length === 1_010);
  t.true(order.lastIndexOf('o-few') < 200);
});

test('slow inputs hold no place of a start: other starts of the same org go ahead, and other orgs fetch theirs', async (t) => {
  const fetching = new Map<string, number>();
  const ended: string[] = [];
  const { runner, done, stop } = bench(async ({ row: { address, uid }, effect }, { signal, pool }) => {
    if (effect.type === 'StopWork') return { outcome: 'Done' };
    if (signal.reason === OVERRULED) ended.push(`${uid} in ${pool}`);
    if (signal.aborted || uid.startsWith('u-plain')) return { outcome: 'Done' };
    if (pool === 'starts') return uid === 'u-quick' && fetched ? { outcome: 'Done' } : continueIn('fetches');
    fetching.set(address.org, (fetching.get(address.org) ?? 0) + 1);
    if (uid === 'u-quick') {
      fetched = true;
      return continueIn('starts');
    }
    await aborted(signal);
    if (signal.reason === OVERRULED) ended.push(`${uid} in ${pool}`);
    return { outcome: 'Done' };
  });
  let fetched = false;
  for (let n = 1; n <= 1_000; n += 1) runner.take({ ...row(n, startWork(1)), uid: `u-slow-${n}` });
  for (let n = 2_000; n < 2_100; n += 1) runner.take({ ...row(n, startWork(1)), uid: `u-plain-${n}` });
  runner.take({ ...row(3_000, startWork(1)), address: { ...THING, org: 'o-quick' }, uid: 'u-quick' });
  await until(() => done.length === 101);
  t.deepEqual([fetching.get(THING.org), fetching.get('o-quick')], [64, 1]);
  // One whose input is on its way, and one that waits for its turn to fetch.
  runner.take({ ...row(4_001, stopWork(1)), uid: 'u-slow-1' });
  runner.take({ ...row(5_000, stopWork(1)), uid: 'u-slow-1000' });
  await until(() => [1, 1_000, 4_001, 5_000].every((version) => done.includes(version)));
  t.deepEqual(ended.toSorted(), ['u-slow-1 in fetches', 'u-slow-1000 in ends']);
  stop.abort();
});

test('an input that fails is fetched again in a place for fetches, and a start that goes on in steps is no failed one', async (t) => {
  const tries: PoolName[] = [];
  const { runner, done, returned } = bench(async (_task, { pool }) => {
    tries.push(pool);
    if (tries.length > 20) return { outcome: 'Done' };
    if (tries.length === 2) return { outcome: 'Retry', message: 'no answer' };
    return continueIn(pool === 'starts' ? 'fetches' : 'starts');
  });
  runner.take(row(1, startWork(1)));
  await until(() => done.includes(1));
  t.deepEqual(tries.slice(0, 5), ['starts', 'fetches', 'fetches', 'starts', 'fetches']);
  t.deepEqual(returned, []);
});
