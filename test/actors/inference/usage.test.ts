/** What endpoints are told of their use: each change, once, and again what did not arrive. */
import test, { type ExecutionContext } from 'ava';
import { openUsage, type Usage, type UsageDeps, type UseRow } from '../../../actors/inference/usage.js';
import type { Delivery } from '../../../actors/mailbox.js';
import type { Address } from '../../../src/api/address.js';
import type { ModelUsage } from '../../../src/kinds/object-message.js';
import { steady, until } from '../../e2e/until.js';

const START = 29_000_000 * 60_000;
const MINUTE = 60_000;
const at = (name: string): Address => ({ org: 'o-1', kind: 'InferenceEndpoint', project: 'default', name });
const use = (requests: number) => ({ requests, errors: 0, inputTokens: requests * 10, outputTokens: requests });

interface World {
  readonly usage: Usage;
  now: number;
  answer: Delivery;
  readonly running: Map<string, number>;
  /** By uid, in order. */
  readonly told: Map<string, ModelUsage[]>;
  last(uid: string): ModelUsage | undefined;
}

async function open(t: ExecutionContext, rows: readonly UseRow[] = [], bounds?: UsageDeps['bounds']): Promise<World> {
  const told = new Map<string, ModelUsage[]>();
  const running = new Map<string, number>();
  const problems: string[] = [];
  const stopping = new AbortController();
  const deps: UsageDeps = {
    rows: { readUse: (since) => Promise.resolve(rows.filter(({ minute }) => minute >= since)) },
    send: (to, uid, message) => {
      if (message.type !== 'UsageChanged' || to.name !== uid) throw new Error(message.type);
      if (world.answer === 'Done') told.set(uid, [...(told.get(uid) ?? []), message.usage]);
      return Promise.resolve(world.answer);
    },
    clock: () => world.now,
    running: (uid) => running.get(uid) ?? 0,
    onProblem: (message) => problems.push(message),
    ...{ bounds, every: 2 },
  };
  const world: World = {
    ...{ now: START, answer: 'Done', running, told, last: (uid) => told.get(uid)?.at(-1) },
    // Given below: what is read at the start looks at the clock.
    usage: undefined as unknown as Usage,
  };
  const usage = await openUsage(deps);
  const ended = usage.run(stopping.signal);
  t.teardown(async () => {
    stopping.abort();
    await ended;
    if (problems.length > 0) throw new Error(problems.join('; '));
  });
  return Object.assign(world, { usage });
}

const requestsOf = (world: World, uid: string, requests: number): Promise<unknown> =>
  until(`${uid} is told of ${requests}`, async () => world.last(uid)?.requests === requests, 5_000);
const count = (world: World): number => [...world.told.values()].reduce((sum, { length }) => sum + length, 0);

test('what is posted is told, and no more is said until something changes', async (t) => {
  const world = await open(t);
  world.usage.know('a', at('a'));
  await requestsOf(world, 'a', 0);
  world.usage.posted('o-1', 'a', use(2), '0.5');
  world.usage.posted('o-1', 'a', use(1), '0.000000001');
  await requestsOf(world, 'a', 3);
  t.deepEqual(world.last('a'), {
    ...{ requests: 3, errors: 0, inputTokens: 30, outputTokens: 3, costUSD: '0.500000001', openHolds: 0 },
  });
  const said = count(world);
  t.is(await steady('nothing more is said', () => count(world), 100), said);
});

test('a request that begins or ends is told, and so is a minute that leaves', async (t) => {
  const world = await open(t);
  world.usage.know('a', at('a'));
  world.usage.posted('o-1', 'a', use(5), '1');
  world.running.set('a', 2);
  await until('two run', async () => world.last('a')?.openHolds === 2, 5_000);
  world.running.delete('a');
  await until('none runs', async () => world.last('a')?.openHolds === 0, 5_000);
  world.now = START + 1_440 * MINUTE - 1;
  t.is((await steady('the minute counts', () => count(world), 50)) > 0, true);
  t.is(world.last('a')?.requests, 5);
  world.now += 1;
  await requestsOf(world, 'a', 0);
});

test('at the start it knows what was posted in the last 24 hours, and tells it once it knows where', async (t) => {
  const row = (minute: number, requests: number): UseRow => ({
    ...{ org: 'o-1', uid: 'a', minute, ...use(requests), costUSD: '0.1' },
  });
  const old = START - 1_440 * MINUTE;
  const world = await open(t, [row(START, 1), row(old, 100), row(old + MINUTE, 2), row(START - 5 * MINUTE, 4)]);
  world.usage.posted('o-1', 'a', use(8), '0.1');
  world.usage.know('a', at('a'));
  await requestsOf(world, 'a', 15);
  t.is(world.last('a')?.costUSD, '0.40');
});

test('what does not arrive is sent again, and to one that is gone nothing is', async (t) => {
  const world = await open(t);
  world.answer = 'Retry';
  world.usage.know('a', at('a'));
  world.usage.posted('o-1', 'a', use(1), '1');
  t.is(await steady('nothing arrives', () => count(world), 30), 0);
  world.answer = 'Done';
  await requestsOf(world, 'a', 1);
  world.answer = 'Absent';
  world.usage.posted('o-1', 'a', use(1), '1');
  const said = await steady('it is gone', () => count(world), 50);
  world.answer = 'Done';
  t.is(await steady('nothing is said', () => count(world), 50), said);
});

test('where memory has no room, what was posted to longest ago is forgotten', async (t) => {
  const world = await open(t, [], { endpoints: 2, minutes: 3 });
  const post = (uid: string): void => {
    world.usage.know(uid, at(uid));
    world.usage.posted('o-1', uid, use(1), '1');
  };
  for (const uid of ['a', 'b', 'c']) post(uid);
  await Promise.all(['b', 'c'].map((uid) => requestsOf(world, uid, 1)));
  t.is(world.last('a'), undefined, 'one endpoint too many');
  world.now += MINUTE;
  for (const uid of ['b', 'c']) post(uid);
  await requestsOf(world, 'c', 2);
  // One minute too many: b had been posted to before c, and counts anew.
  world.usage.know('b', at('b'));
  world.usage.posted('o-1', 'b', use(7), '1');
  await requestsOf(world, 'b', 7);
  t.is(world.last('c')?.requests, 2);
});
