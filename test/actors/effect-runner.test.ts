import test from 'ava';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EffectTask, PoolName } from '../../actors/effects/lanes.js';
import { openEffectRunner, type EffectRunner } from '../../actors/effects/runner.js';
import { continueIn, OVERRULED, type EffectStep } from '../../actors/effects/outcome.js';
import type { Delivery } from '../../actors/mailbox.js';
import type { LaterEffect } from '../../src/kinds/effect.js';
import type { StoredEffects } from '../../storage/store.js';
import { THING } from './support.js';

const tell = (name: string): LaterEffect => ({
  type: 'Tell',
  to: { ...THING, name },
  letter: { letter: 'ChildrenGone' },
});

const row = (version: number, ...effects: LaterEffect[]): StoredEffects => ({
  version,
  address: THING,
  uid: 'u-1',
  effects,
});

interface Bench {
  readonly runner: EffectRunner;
  readonly done: number[];
  readonly returned: { version: number; reason: string }[];
  readonly stop: AbortController;
}

function bench(
  carryOut: (task: EffectTask, signal: AbortSignal, pool: PoolName) => Promise<EffectStep>,
  stored: StoredEffects[] = [],
  asker: Delivery = 'Done',
): Bench {
  const stop = new AbortController();
  const done: number[] = [];
  const returned: { version: number; reason: string }[] = [];
  const runner = openEffectRunner({
    pending: {
      effects: async (after, limit) => stored.filter(({ version }) => version > after).slice(0, limit),
      effectsAt: async (versions) => stored.filter(({ version }) => versions.includes(version)),
      effectsDone: (version) => {
        done.push(version);
        const at = stored.findIndex((one) => one.version === version);
        if (at >= 0) stored.splice(at, 1);
      },
    },
    carryOut,
    giveBack: async (task, reason) => {
      returned.push({ version: task.row.version, reason });
      return asker;
    },
    stopping: stop.signal,
    chance: () => 0,
    onOutcome: () => undefined,
    waitMs: 5,
    firstBackoffMs: asker === 'Done' ? undefined : 0.01,
  });
  return { runner, done, returned, stop };
}

const until = async (condition: () => boolean): Promise<void> => {
  const deadline = Date.now() + 30_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('the condition did not come true in 30 s');
    await sleep(1);
  }
};

test('effects of one object on one target run in version order, one at a time, while other targets go ahead', async (t) => {
  const order: string[] = [];
  let together = 0;
  let mostTogether = 0;
  const { runner, done } = bench(async ({ row: { version }, effect }) => {
    const name = effect.type === 'Tell' ? effect.to.name : '';
    if (name === 'slow') {
      together += 1;
      mostTogether = Math.max(mostTogether, together);
      await sleep(5);
      together -= 1;
    }
    order.push(`${name}${version}`);
    return { outcome: 'Done' };
  });
  for (let version = 1; version <= 5; version += 1) runner.take(row(version, tell('slow'), tell('quick')));
  await until(() => done.length === 5);
  t.is(mostTogether, 1);
  t.deepEqual(
    order.filter((entry) => entry.startsWith('slow')),
    ['slow1', 'slow2', 'slow3', 'slow4', 'slow5'],
  );
  t.true(order.indexOf('quick5') < order.indexOf('slow2'));
});

test('a row is forgotten in storage only when all of its effects are done', async (t) => {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const { runner, done } = bench(async ({ effect }) => {
    if (effect.type === 'Tell' && effect.to.name === 'held') await held;
    return { outcome: 'Done' };
  });
  runner.take(row(7, tell('held'), tell('free')));
  await until(() => runner.tasks === 1);
  t.deepEqual(done, []);
  release();
  await until(() => done.length === 1);
  t.deepEqual(done, [7]);
});

test('a passing fault is tried again, and a lasting one goes back to the object that asked', async (t) => {
  let tries = 0;
  const { runner, done, returned } = bench(async ({ row: { version } }) => {
    tries += 1;
    if (version === 1) return tries < 3 ? { outcome: 'Retry', message: 'busy' } : { outcome: 'Done' };
    return { outcome: 'Failed', reason: 'Impossible', message: 'never' };
  });
  runner.take(row(1, tell('a')));
  await until(() => done.includes(1));
  t.is(tries, 3);
  runner.take(row(2, tell('b')));
  await until(() => done.includes(2));
  t.deepEqual(returned, [{ version: 2, reason: 'Impossible' }]);
});

test('what an object that is gone has asked for is tried until it is done, and dropped only when it can never be', async (t) => {
  let tries = 0;
  const passing = bench(
    async () => (++tries < 15 ? { outcome: 'Retry', message: 'its mailbox is full' } : { outcome: 'Done' }),
    [],
    'Absent',
  );
  passing.runner.take(row(1, tell('full')));
  await until(() => passing.done.length === 1);
  t.is(tries, 15);
  const lasting = bench(async () => ({ outcome: 'Failed', reason: 'Forbidden', message: '' }), [], 'Absent');
  lasting.runner.take(row(2, tell('never')));
  await until(() => lasting.done.length === 1);
  t.is(lasting.returned.length, 1);
});

test('an effect whose own object is parked waits for it and stays stored', async (t) => {
  const { runner, done, returned, stop } = bench(
    async () => ({ outcome: 'Failed', reason: 'Forbidden', message: '' }),
    [],
    'Parked',
  );
  runner.take(row(1, tell('a')));
  await until(() => returned.length >= 3);
  t.deepEqual(done, []);
  t.is(runner.oldestMs(Date.now() + 60_000), 0);
  stop.abort();
});

test('an effect that fails again and again is as old as its last try, and one try that hangs grows old', async (t) => {
  const tries: number[] = [];
  const { runner, stop } = bench(async ({ effect }, signal) => {
    tries.push(Date.now());
    if (effect.type === 'Tell' && effect.to.name === 'hangs') await aborted(signal);
    return { outcome: 'Retry', message: 'not yet' };
  });
  runner.take(row(1, tell('again')));
  await until(() => tries.length >= 3);
  const [lastButOne = 0, last = 0] = tries.slice(-2);
  t.true(runner.oldestMs(last) < last - lastButOne, 'as old as the last try');
  runner.take(row(2, tell('hangs')));
  t.true(runner.oldestMs(Date.now() + 900_000) >= 900_000);
  stop.abort();
});

test('what an earlier process left in storage is carried out after a start, oldest first and each once', async (t) => {
  const stored = Array.from({ length: 1_203 }, (_, i) => row(i + 1, tell('a')));
  const seen: number[] = [];
  const { runner, done } = bench(async ({ row: { version } }) => {
    seen.push(version);
    return { outcome: 'Done' };
  }, stored);
  await runner.recover();
  await until(() => done.length === 1_203);
  t.deepEqual(
    seen,
    Array.from({ length: 1_203 }, (_, i) => i + 1),
  );
});

test('a stop leaves unfinished effects in storage for the next process', async (t) => {
  const { runner, done, stop } = bench(async (_task, signal) => {
    await sleep(60_000, undefined, { signal }).catch(() => undefined);
    return { outcome: 'Retry', message: 'stopped' };
  });
  runner.take(row(1, tell('a')));
  stop.abort();
  await sleep(20);
  t.deepEqual(done, []);
});

test('hundreds of effects that wait for a parked object hold up nobody else', async (t) => {
  const { runner, done } = bench(async ({ effect }) =>
    effect.type === 'Tell' && effect.to.name === 'free' ? { outcome: 'Done' } : { outcome: 'Wait', message: 'parked' },
  );
  for (let version = 1; version <= 600; version += 1) runner.take(row(version, tell(`parked-${version}`)));
  runner.take(row(601, tell('free')));
  await until(() => done.length === 1);
  t.deepEqual(done, [601]);
  t.is(runner.tasks, 600, 'each asks by itself whether its target is back');
});

test('letters to parked objects fill no memory, and are delivered in order when the objects are back', async (t) => {
  const stored: StoredEffects[] = [];
  let parked = true;
  const order = new Map<string, number[]>();
  const { runner, done } = bench(async ({ row: { version, uid }, effect }) => {
    if (effect.type !== 'Tell') return { outcome: 'Done' };
    if (effect.to.name.startsWith('parked') && parked) return { outcome: 'Wait', message: 'parked' };
    const lane = `${uid} to ${effect.to.name}`;
    order.set(lane, [...(order.get(lane) ?? []), version]);
    return { outcome: 'Done' };
  }, stored);
  const commit = (version: number, ...effects: LaterEffect[]): void => {
    const one = { ...row(version, ...effects), uid: `u-${version % 50}` };
    stored.push(one);
    runner.take(one);
  };
  const count = 3_000;
  for (let version = 1; version <= count; version += 1) {
    commit(version, tell(`parked-${version % 3}`), tell('free'));
    if (version % 100 === 0) await sleep(0);
  }
  await until(() => runner.tasks === 3);
  t.is(
    [...order].reduce((sum, [lane, { length }]) => sum + (lane.endsWith('free') ? length : 0), 0),
    count,
  );
  t.deepEqual(done, [], 'rows stay in storage while a letter of theirs waits');
  t.is(runner.oldestMs(Date.now() + 60_000), 0, 'what waits for an operator does not count as stuck');
  parked = false;
  // What comes while they are read again goes behind them.
  for (let version = count + 1; version <= count + 500; version += 1) {
    commit(version, tell(`parked-${version % 3}`));
    if (version % 10 === 0) await sleep(0);
  }
  await until(() => done.length === count + 500);
  t.deepEqual([runner.tasks, stored.length], [0, 0]);
  for (const [lane, versions] of order)
    t.deepEqual(
      versions,
      versions.toSorted((a, b) => a - b),
      lane,
    );
});

test('an object that is parked again while its letters are being read loses none of them', async (t) => {
  const stored: StoredEffects[] = [];
  let taken = 0;
  let parked = true;
  const seen: number[] = [];
  const { runner, done } = bench(async ({ row: { version } }) => {
    if (parked) return { outcome: 'Wait', message: 'parked' };
    taken += 1;
    if (taken % 100 === 0) parked = true; // it crashes again
    seen.push(version);
    return { outcome: 'Done' };
  }, stored);
  for (let version = 1; version <= 1_200; version += 1) {
    stored.push(row(version, tell('crashing')));
    runner.take(row(version, tell('crashing')));
  }
  const operator = setInterval(() => (parked = false), 3);
  await until(() => done.length === 1_200);
  clearInterval(operator);
  t.deepEqual(
    seen,
    Array.from({ length: 1_200 }, (_, i) => i + 1),
  );
  t.is(runner.tasks, 0);
});

test('a letter to a child waits until the child was made', async (t) => {
  let made = false;
  const order: string[] = [];
  const { runner, done } = bench(async ({ effect }) => {
    if (effect.type === 'CreateChild' && !made) {
      made = true;
      return { outcome: 'Retry', message: 'busy' };
    }
    order.push(effect.type);
    return { outcome: 'Done' };
  });
  runner.take(row(1, { type: 'CreateChild', kind: THING.kind, name: 'child', spec: {} }));
  runner.take(row(2, tell('child')));
  await until(() => done.length === 2);
  t.deepEqual(order, ['CreateChild', 'Tell']);
});

test('what no longer fits into memory is carried out later, in order, and none of it is lost', async (t) => {
  const stored: StoredEffects[] = [];
  const order: number[] = [];
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const { runner, done } = bench(async ({ row: { version } }) => {
    if (version === 1) await gate;
    else order.push(version);
    return { outcome: 'Done' };
  }, stored);
  const commit = (one: StoredEffects): void => {
    stored.push(one);
    runner.take(one);
  };
  commit(row(1, ...Array.from({ length: 50_000 }, (_, i) => tell(`held-${i}`))));
  for (let version = 2; version <= 600; version += 1) commit(row(version, tell('late')));
  t.is(runner.tasks, 50_000);
  open();
  await until(() => runner.tasks < 30_000);
  commit(row(601, tell('late')));
  await until(() => done.length === 601);
  t.deepEqual(
    order,
    Array.from({ length: 600 }, (_, i) => i + 2),
  );
});

test('storage that is away when effects are recovered is asked again until it answers', async (t) => {
  let away = true;
  const seen: number[] = [];
  const stop = new AbortController();
  const runner = openEffectRunner({
    pending: {
      async effects(after) {
        if (!away) return after < 1 ? [row(1, tell('a'))] : [];
        away = false;
        throw new Error('away');
      },
      effectsAt: async () => [],
      effectsDone: () => undefined,
    },
    carryOut: async ({ row: { version } }) => {
      seen.push(version);
      return { outcome: 'Done' };
    },
    giveBack: async () => 'Done',
    stopping: stop.signal,
    chance: () => 0,
    onOutcome: () => undefined,
  });
  await runner.recover();
  await until(() => seen.length === 1);
  t.deepEqual(seen, [1]);
});

test('whoever asks whether letters were taken hears of it when those in hand are, and not before', async (t) => {
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const { runner } = bench(async () => {
    await gate;
    return { outcome: 'Done' };
  });
  runner.takeVolatile(THING, 'u-2', [tell('node')]);
  let sent = false;
  const sending = runner.lettersSent({ ...THING, name: 'node' }).then(() => (sent = true));
  await runner.lettersSent({ ...THING, name: 'another' });
  await sleep(50);
  t.false(sent);
  open();
  await sending;
  t.is(runner.tasks, 0);
});

const OWNER = { ...THING, name: 'owner' };
const startWork = (epoch: number): LaterEffect => ({
  type: 'StartWork',
  owner: OWNER,
  ownerUid: 'u-owner',
  slot: 0,
  epoch,
});
const stopWork = (epoch: number): LaterEffect => ({ type: 'StopWork', epoch, graceSeconds: 30 });

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((done) => {
    if (signal.aborted) done();
    else signal.addEventListener('abort', () => done(), { once: true });
  });

test('the stop of work whose start is under way ends the start at once, and comes after it', async (t) => {
  const order: string[] = [];
  const { runner, done } = bench(async ({ effect }, signal) => {
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
  const { runner, done, stop } = bench(async ({ row: { uid }, effect }, signal) => {
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
  const { runner, stop } = bench(async (_task, signal) => {
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
  const { runner, done, stop } = bench(async ({ row: { address, uid } }, signal) => {
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
  const { runner, done, stop } = bench(async ({ row: { address, uid }, effect }, signal, pool) => {
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
  const { runner, done, returned } = bench(async (_task, _signal, pool) => {
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
