/** What holds of a Sandbox in any order of messages, with repeats, losses and crashes. */
import { equal, ok } from 'node:assert/strict';
import test from 'ava';
import { array, assert, constantFrom, nat, property, record, type Arbitrary } from 'fast-check';
import { SNAPSHOT } from '../../../src/kinds/sandbox/plan.js';
import type { Fate } from '../job/fake-engine.js';
import { World } from '../job/world.js';
import { BOX, checkAlways, checkAtRest, savedAt, seen, type Memory } from './invariants.js';
import { tries } from '../../support/extent.js';

const MI = 2 ** 20;
const CAPACITY = { milliCpu: 4_000, memory: 4_096 * MI, disk: 100_000 * MI };
const LIFETIME_MS = 720 * 3_600_000;

const FATES: readonly Fate[] = [
  'stay',
  'stay',
  'stay',
  'stay',
  'succeed',
  'fail',
  'startFailed',
  'startLost',
  'lost',
  'hang',
  'save',
];

interface Scenario {
  readonly spec: object;
  readonly fates: readonly number[];
  readonly steps: readonly number[];
}

const scenarios: Arbitrary<Scenario> = record({
  state: constantFrom('Running', 'Running', 'Stopped'),
  idleTimeout: constantFrom('0s', '5m'),
  onIdle: constantFrom('Stop', 'Stop', 'Delete'),
  fates: array(nat(FATES.length - 1), { minLength: 1, maxLength: 12 }),
  steps: array(nat(1_000), { maxLength: 200, size: 'max' }),
}).map(({ state, idleTimeout, onIdle, fates, steps }) => ({
  spec: { image: 'svc/agent-tools', state, lifecycle: { idleTimeout, onIdle, maxLifetime: '720h' } },
  fates,
  steps,
}));

function begin({ spec, fates }: Scenario): World {
  const world = new World({
    capacity: CAPACITY,
    fate: (_slot, epoch) => FATES[fates[epoch % fates.length] ?? 0] ?? 'stay',
    outputs: (epoch) =>
      epoch % 4 === 3
        ? [{ name: SNAPSHOT, sha256: '', size: 0, directory: true, error: 'the quota is used up' }]
        : [{ name: SNAPSHOT, sha256: String(epoch).padStart(64, '0'), size: 1, directory: true }],
  });
  world.create(BOX, spec, {});
  return world;
}

function turn(world: World, number: number): void {
  const kind = number % 20;
  const pick = Math.floor(number / 20);
  if (kind === 19) world.crash();
  else if (kind >= 17) world.repeat(pick);
  else if (kind === 16) world.tick(expiry(world));
  else if (kind === 15) client(world, pick);
  else if (kind === 14) {
    const epoch = (seen(world)?.kept?.epoch ?? 1) - (pick % 3 === 0 ? 1 : 0);
    world.send(BOX, { type: 'ActivitySeen', epoch, at: world.now, busy: pick % 2 === 0 });
  } else if (kind === 13) world.lose(pick);
  else {
    const choices = world.choices();
    choices[pick % Math.max(1, choices.length)]?.();
  }
}

function expiry(world: World): number {
  return Date.parse(seen(world)?.status.expirationTime ?? '') || world.now + LIFETIME_MS;
}

function client(world: World, pick: number): void {
  const box = seen(world);
  if (box === undefined) return;
  if (pick % 7 === 6) world.remove(BOX);
  else if (pick % 7 === 5) world.change(BOX, { workingDir: `/w${pick}` });
  else world.change(BOX, { state: box.spec.state === 'Running' ? 'Stopped' : 'Running' });
}

function play(scenario: Scenario): { readonly world: World; readonly memory: Memory } {
  const world = begin(scenario);
  const memory: Memory = { epoch: 0, saved: 0 };
  checkAlways(world, memory);
  for (const number of scenario.steps) {
    turn(world, number);
    // A start may follow in the same step as the end before it, never two.
    checkAlways(world, memory);
  }
  return { world, memory };
}

/** To the rest before its expiry. */
function rest(world: World): void {
  world.settle(400, expiry(world) - LIFETIME_MS / 2);
}

test('At most one Attempt is left at a time, epochs grow, and Stopped means that nothing runs', (t) => {
  t.notThrows(() =>
    assert(
      property(scenarios, (scenario) => {
        const { world } = play(scenario);
        rest(world);
        checkAtRest(world);
      }),
      { numRuns: tries(250) },
    ),
  );
});

test('Its time over, or deleted, a Sandbox leaves nothing', (t) => {
  t.notThrows(() =>
    assert(
      property(scenarios, nat(1), (scenario, how) => {
        const { world } = play(scenario);
        if (how === 0) world.remove(BOX);
        world.settle();
        equal(seen(world), undefined, 'it is still there');
        checkAtRest(world);
      }),
      { numRuns: tries(150) },
    ),
  );
});

test('Asked to stop it comes to Stopped, whatever it was doing; asked to run, it makes a new epoch', (t) => {
  t.notThrows(() =>
    assert(
      property(scenarios, (scenario) => {
        const { world } = play(scenario);
        if (!world.change(BOX, { state: 'Stopped' })) return;
        rest(world);
        const stopped = seen(world);
        if (stopped === undefined) return;
        equal(stopped.status.phase, 'Stopped');
        checkAtRest(world);
        world.change(BOX, { state: 'Running' });
        rest(world);
        const after = seen(world);
        if (after === undefined) return;
        ok((after.kept?.epoch ?? 0) > (stopped.kept?.epoch ?? 0));
        checkAtRest(world);
      }),
      { numRuns: tries(150) },
    ),
  );
});

/** Lets everything happen that needs no time. */
function run(world: World): void {
  for (let [next] = world.choices(); next !== undefined; [next] = world.choices()) next();
}

/** The fates are those of its epochs, over and over. */
function plain(fates: readonly Fate[], lifecycle: object = { idleTimeout: '0s' }, command?: readonly string[]): World {
  const numbers = fates.map((fate) => FATES.indexOf(fate));
  const last = numbers.pop() ?? 0;
  const spec = { image: 'svc/agent-tools', command, lifecycle: { maxLifetime: '720h', ...lifecycle } };
  const world = begin({ spec, fates: [last, ...numbers], steps: [] });
  run(world);
  return world;
}

test('A lost one is Recovering and runs again with the last snapshot; a failed collection keeps the older one', (t) => {
  const world = plain(['stay', 'lost', 'stay', 'stay']);
  world.change(BOX, { state: 'Stopped' });
  run(world);
  t.is(savedAt(seen(world)?.status ?? {}), 1);
  world.change(BOX, { state: 'Running' });
  run(world);
  // Epoch 2 was lost, epoch 3 runs.
  const back = seen(world);
  t.is(back?.status.phase, 'Running');
  t.is(back?.kept?.epoch, 3);
  t.is(savedAt(back?.status ?? {}), 1);
  const saved = (): string | undefined =>
    seen(world)?.status.conditions?.find(({ type }) => type === 'StateSaved')?.reason;
  t.is(saved(), 'NodeLost');
  world.change(BOX, { state: 'Stopped' });
  run(world);
  t.is(savedAt(seen(world)?.status ?? {}), 1, 'what could not be collected replaces nothing');
  t.is(saved(), 'CollectionFailed');
  t.deepEqual(
    world.events.map(({ event }) => event),
    ['sandbox.started', 'sandbox.stopped', 'sandbox.started', 'sandbox.started', 'sandbox.stopped'],
  );
});

/** Lets everything happen that needs no time, but for the second try of a save. */
function runUnsaved(world: World): void {
  while (world.choices().length > world.engine.running().length) world.choices()[0]?.();
}

test('What cannot be saved keeps its Attempt, however long that takes', (t) => {
  const world = plain(['save']);
  const saved = (): string => {
    const { status, reason } = seen(world)?.status.conditions?.find(({ type }) => type === 'StateSaved') ?? {};
    return `${status} ${reason}`;
  };
  world.change(BOX, { state: 'Stopped' });
  for (let hours = 0; hours < 3; hours += 1) {
    runUnsaved(world);
    t.is(seen(world)?.status.phase, 'Stopping');
    t.is(saved(), 'False CollectionFailed');
    t.is(world.engine.works.size, 1, 'its files are where they were');
    world.now += 3_600_000;
    world.tick(world.now);
  }
  run(world);
  t.is(seen(world)?.status.phase, 'Stopped');
  t.is(saved(), 'True Saved');
  t.is(savedAt(seen(world)?.status ?? {}), 1);
});

test('What is deleted does not wait for files that nobody can want any more', (t) => {
  for (const before of ['Running', 'Stopped']) {
    const world = plain(['save']);
    world.change(BOX, { state: before });
    runUnsaved(world);
    t.is(world.engine.works.size, 1);
    world.remove(BOX);
    run(world);
    t.is(world.engine.works.size, 0);
    t.is(seen(world), undefined);
  }
});

test('The idle time begins anew with all that is asked of it, and does not run while something is under way', (t) => {
  const world = plain(['stay'], { idleTimeout: '2m' });
  const begun = world.now;
  const say = (busy: boolean): void => world.send(BOX, { type: 'ActivitySeen', epoch: 1, at: world.now, busy });
  world.now = begun + 60_000;
  say(true);
  t.is(seen(world)?.status.activity, 'Busy');
  for (let minute = 2; minute <= 10; minute += 1) {
    world.now = begun + minute * 60_000;
    say(true);
    world.tick(world.now + 1);
    t.is(seen(world)?.status.phase, 'Running', `after ${minute} minutes`);
  }
  say(false);
  t.is(seen(world)?.status.activity, 'Idle');
  const idle = world.now;
  while (seen(world)?.status.phase === 'Running' && world.tick()) run(world);
  t.is(world.now - idle, 120_000);
  t.is(seen(world)?.status.stopReason, 'IdleTimeout');
  t.regex(seen(world)?.status.message ?? '', /^Stopped after \S+ without activity$/);
});

test('Deleted while its own program has its grace, a Sandbox does not cut that short', (t) => {
  const world = plain(['hang'], { idleTimeout: '0s' }, ['sh']);
  world.change(BOX, { state: 'Stopped' });
  while (world.choices().length > world.engine.running().length) world.choices()[0]?.();
  const asked = world.now;
  world.remove(BOX);
  run(world);
  t.is(world.engine.works.size, 1, 'it may still save what it has in hand');
  while (world.engine.works.size > 0 && world.tick()) run(world);
  t.true(world.now - asked >= 30_000, `${world.now - asked} ms`);
  t.is(seen(world), undefined);
});

test('Brief commands, of which only the ends are told, each begin the idle time anew', (t) => {
  const world = plain(['stay'], { idleTimeout: '1m' });
  const begun = world.now;
  for (const seconds of [20, 25, 49]) {
    world.now = begun + seconds * 1_000;
    world.send(BOX, { type: 'ActivitySeen', epoch: 1, at: world.now, busy: false });
    t.is(seen(world)?.status.activity, 'Idle');
  }
  const last = world.now;
  // Late: it changes nothing.
  world.send(BOX, { type: 'ActivitySeen', epoch: 1, at: begun + 25_000, busy: false });
  while (seen(world)?.status.phase === 'Running' && world.tick()) run(world);
  t.is(world.now - last, 60_000);
});

test('What was under way and is not said again has ended with the server that said it', (t) => {
  const world = plain(['stay'], { idleTimeout: '1m' });
  world.send(BOX, { type: 'ActivitySeen', epoch: 1, at: world.now, busy: true });
  const said = world.now;
  while (seen(world)?.status.phase === 'Running' && world.tick()) run(world);
  t.is(world.now - said, 180_000);
});

test('A message of an earlier epoch keeps nothing awake', (t) => {
  const world = plain(['stay', 'stay']);
  world.change(BOX, { state: 'Stopped' });
  run(world);
  world.change(BOX, { state: 'Running' });
  run(world);
  const before = seen(world);
  world.send(BOX, { type: 'ActivitySeen', epoch: 1, at: world.now, busy: true });
  t.deepEqual(seen(world), before);
});

test('One that is lost again and again is given up as NodeLost, and is tried again when it is asked to', (t) => {
  const world = plain(['startLost']);
  rest(world);
  t.is(seen(world)?.status.phase, 'Failed');
  const lost = seen(world)?.kept?.epoch ?? 0;
  t.is(lost, 9);
  world.change(BOX, { state: 'Stopped' });
  run(world);
  t.is(seen(world)?.status.phase, 'Stopped');
  world.change(BOX, { state: 'Running' });
  run(world);
  t.true((seen(world)?.kept?.epoch ?? 0) > lost);
});

test('A start that takes longer than five minutes is told of, once', (t) => {
  const world = begin({ spec: { image: 'svc/agent-tools', lifecycle: { idleTimeout: '0s' } }, fates: [0], steps: [] });
  while (seen(world)?.status.phase !== 'Starting') world.choices()[0]?.();
  const since = world.now;
  while (world.now < since + 3_600_000 && world.tick(since + 3_600_000)) {
    // The engine says nothing: only time goes on.
  }
  t.deepEqual(
    world.events.map(({ event }) => event),
    ['sandbox.stuck'],
  );
  t.is(world.now - since, 300_000);
  run(world);
  t.is(seen(world)?.status.phase, 'Running');
});
