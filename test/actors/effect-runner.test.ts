import test from 'ava';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEffectRunner } from '../../actors/effects/runner.js';
import type { LaterEffect } from '../../src/kinds/effect.js';
import { LOCAL_NODE } from '../../src/kinds/node/local.js';
import type { StoredEffects } from '../../storage/store.js';
import { aborted, bench, row, tell, until } from './effect-bench.js';
import { THING } from './support.js';

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
  const { runner, stop } = bench(async ({ effect }, { signal }) => {
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

test('a row that is committed and not known yet waits until it is, since its effects would find what was there before', async (t) => {
  let published = 2;
  const seen: (readonly [version: number, published: number])[] = [];
  const stored = [1, 2, 3, 4].map((version) => row(version, tell('a')));
  const { runner, done } = bench(
    async ({ row: { version } }) => {
      seen.push([version, published]);
      return { outcome: 'Done' };
    },
    stored,
    'Done',
    () => published,
  );
  const recovered = runner.recover();
  await until(() => done.length === 2);
  published = 3;
  await until(() => done.length === 3);
  published = 4;
  runner.take(row(4, tell('a')));
  await recovered;
  await until(() => done.length === 4);
  t.deepEqual(seen, [...[[1, 2] as const, [2, 2] as const], ...[[3, 3] as const, [4, 4] as const]]);
});

test('a stop leaves unfinished effects in storage for the next process', async (t) => {
  const { runner, done, stop } = bench(async (_task, { signal }) => {
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

test('messages to parked objects fill no memory, and are delivered in order when the objects are back', async (t) => {
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
  t.deepEqual(done, [], 'rows stay in storage while a message of theirs waits');
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

test('an object that is parked again while its messages are being read loses none of them', async (t) => {
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

test('a message to a child waits until the child was made', async (t) => {
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

test('thousands of effects of an org that find no room hold up no other org, and not what gives its places back', async (t) => {
  const stored: StoredEffects[] = [];
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const carried: string[] = [];
  const { runner, done } = bench(async ({ row: { address }, effect }) => {
    if (effect.type === 'Tell' && effect.to.name === 'held') await gate;
    carried.push(`${address.org}/${address.kind}`);
    return { outcome: 'Done' };
  }, stored);
  const commit = (version: number, org: string, kind: string, effect: LaterEffect): void => {
    const one = {
      ...row(version, effect),
      uid: `u-${version}`,
      address: { ...THING, org, kind, name: `n${version}` },
    };
    stored.push(one);
    runner.take(one);
  };
  for (let version = 1; version <= 26_000; version += 1) commit(version, 'many', 'Job', tell('held'));
  t.is(runner.tasks, 25_000, 'an org leaves as much room as it takes');
  commit(26_001, 'many', 'Attempt', { type: 'Tell', to: LOCAL_NODE, message: { type: 'PlaceReleased' } });
  commit(26_002, 'few', 'Job', tell('child'));
  await until(() => done.length === 2);
  t.deepEqual(carried, ['many/Attempt', 'few/Job']);
  open();
  await until(() => done.length === 26_002);
  t.is(stored.length, 0);
});

test('storage that is away when effects are recovered is asked again until it answers', async (t) => {
  let [known, away] = [false, true];
  const seen: number[] = [];
  const stop = new AbortController();
  const runner = openEffectRunner({
    published: () => Infinity,
    pending: {
      async effects(after) {
        if (!away) return after < 1 ? [row(1, tell('a'))] : [];
        away = false;
        throw new Error('away');
      },
      async effectsOrgs() {
        if (known) return [{ org: THING.org, among: false }];
        known = true;
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

test('an effect that waits for the volatile messages to a target goes on when those in hand are done, and not before', async (t) => {
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const { runner, done } = bench(async ({ row: { version }, effect }, { messagesSent }) => {
    if (version < 0) await gate;
    else if (effect.type === 'Tell') await messagesSent({ ...THING, name: effect.to.name.slice('waits-for-'.length) });
    return { outcome: 'Done' };
  });
  runner.takeVolatile(THING, 'u-2', [tell('node')]);
  runner.take(row(1, tell('waits-for-node')));
  runner.take(row(2, tell('waits-for-another')));
  await until(() => done.length > 0);
  await sleep(50);
  t.deepEqual(done, [2]);
  open();
  await until(() => runner.tasks === 0);
  t.deepEqual(done, [2, 1]);
});

test('what a Node grants, and a place that is given back, wait behind none of the thousands that the org of the Node has', async (t) => {
  const carried: string[] = [];
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const { runner } = bench(async ({ row: { address }, effect }) => {
    if (address.name.startsWith('many')) await held;
    else carried.push(effect.type === 'Tell' ? effect.message.type : effect.type);
    return { outcome: 'Done' };
  });
  const of = (version: number, name: string, effect: LaterEffect): StoredEffects => ({
    ...row(version, effect),
    uid: `${version}`,
    address: { ...LOCAL_NODE, kind: 'Thing', name },
  });
  for (let n = 1; n <= 1_000; n += 1) runner.take(of(n, `many-${n}`, tell(`other-${n}`)));
  const message = { type: 'PlaceReleased' } as const;
  runner.take(of(1_001, 'ended', { type: 'Tell', to: LOCAL_NODE, message }));
  await until(() => carried.includes('PlaceReleased'));
  runner.take({ ...row(1_002, tell('granted')), uid: 'node', address: LOCAL_NODE });
  await until(() => carried.length === 2);
  runner.take(of(1_003, 'last', tell('others')));
  await sleep(0);
  t.is(carried.length, 2);
  release();
  await until(() => carried.length === 3);
});
