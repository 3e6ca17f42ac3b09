/** What holds of Workspaces and the Volume that they share in any order of messages, with repeats, losses and crashes. */
import { equal, ok } from 'node:assert/strict';
import test from 'ava';
import { array, assert, constantFrom, nat, property, record, type Arbitrary } from 'fast-check';
import { HOME_OUTPUT } from '../../../src/kinds/workspace/plan.js';
import type { Fate } from '../job/fake-engine.js';
import { addressKey, type Address } from '../../../src/api/address.js';
import { World } from '../job/world.js';
import { checkAlways, checkAtRest, desk, DESKS, digestOf, HOME, memoryOf, volume } from './invariants.js';
import { tries } from '../../support/extent.js';

/** Fixed, so that a change is judged by what it changes; `PROPERTY_SEED=$RANDOM` looks elsewhere. */
const SEED = Number(process.env['PROPERTY_SEED'] ?? 1);

const MI = 2 ** 20;
const CAPACITY = { milliCpu: 4_000, memory: 4_096 * MI, disk: 100_000 * MI };

const FATES: readonly Fate[] = [
  'stay',
  'stay',
  'stay',
  'stay',
  'stay',
  'fail',
  'startFailed',
  'startLost',
  'lost',
  'save',
  'hang',
];

const [A, B] = DESKS;

interface Scenario {
  readonly idleTimeout: string;
  readonly fates: readonly number[];
  readonly steps: readonly number[];
}

const scenarios: Arbitrary<Scenario> = record({
  idleTimeout: constantFrom('0s', '10m'),
  fates: array(nat(FATES.length - 1), { minLength: 1, maxLength: 12 }),
  steps: array(nat(2_000), { maxLength: 250, size: 'max' }),
});

function create(world: World, which: number, idleTimeout = '0s', more: object = {}): void {
  const address = DESKS[which];
  if (address !== undefined) world.create(address, { volume: 'home', idleTimeout, ...more }, {});
}

function begin({ idleTimeout, fates }: Pick<Scenario, 'idleTimeout' | 'fates'>): World {
  const world = new World({
    capacity: CAPACITY,
    fate: (_slot, epoch) => FATES[fates[epoch % fates.length] ?? 0] ?? 'stay',
    outputs: (epoch, { name }) =>
      epoch % 5 === 4
        ? [{ name: HOME_OUTPUT, sha256: '', size: 0, directory: true, error: 'the quota is used up' }]
        : [{ name: HOME_OUTPUT, sha256: digestOf(name, epoch), size: 1, directory: true }],
  });
  world.create(HOME, { revisionHistoryLimit: 3 }, {});
  create(world, 0, idleTimeout);
  create(world, 1, idleTimeout);
  return world;
}

function turn(world: World, number: number, { idleTimeout }: Scenario): void {
  const kind = number % 20;
  const pick = Math.floor(number / 20);
  if (kind === 19) world.crash();
  else if (kind >= 17) world.repeat(pick);
  else if (kind === 16) world.tick();
  else if (kind >= 14) client(world, pick, idleTimeout);
  else if (kind === 13) world.lose(pick);
  else {
    const choices = world.choices();
    choices[pick % Math.max(1, choices.length)]?.();
  }
}

function client(world: World, pick: number, idleTimeout: string): void {
  const which = pick % 2;
  const what = Math.floor(pick / 2) % 10;
  const address = DESKS[which];
  if (address === undefined) return;
  const seen = desk(world, address);
  if (what === 9) {
    if (volume(world) === undefined) world.create(HOME, {}, {});
    else world.remove(HOME);
  } else if (seen === undefined) create(world, which, idleTimeout);
  else if (what === 8) world.remove(address);
  else if (what === 7) {
    const ephemeral = seen.spec.volume !== undefined;
    world.change(address, ephemeral ? { volume: undefined, ephemeral } : { volume: 'home', ephemeral: undefined });
  } else world.change(address, { state: seen.spec.state === 'Running' ? 'Stopped' : 'Running' });
}

function told(scenario: Scenario): World {
  const world = begin(scenario);
  const memory = memoryOf(world);
  checkAlways(world, memory);
  for (const number of scenario.steps) {
    turn(world, number, scenario);
    checkAlways(world, memory);
  }
  return world;
}

test('At most one epoch of one Workspace may write the Volume, and what is over commits nothing', (t) => {
  t.notThrows(() =>
    assert(
      property(scenarios, (scenario) => {
        const world = told(scenario);
        world.settle(120);
        checkAtRest(world);
      }),
      { numRuns: tries(60), seed: SEED, includeErrorInReport: true },
    ),
  );
});

test('Deleted, Workspaces and their Volume leave nothing', (t) => {
  t.notThrows(() =>
    assert(
      property(scenarios, nat(1), (scenario, first) => {
        const world = told(scenario);
        const order = first === 0 ? [HOME, ...DESKS] : [...DESKS, HOME];
        for (const address of order) world.remove(address);
        world.settle(120);
        for (const address of DESKS) equal(desk(world, address), undefined, 'it is still there');
        equal(volume(world), undefined, 'the Volume is still there');
        equal(world.attempts.length, 0, 'Attempts outlived their Workspace');
        checkAtRest(world);
      }),
      { numRuns: tries(40), seed: SEED, includeErrorInReport: true },
    ),
  );
});

test('Asked to stop, what ran has its home in the Volume once it says Stopped; the other then runs', (t) => {
  t.notThrows(() =>
    assert(
      property(scenarios, (scenario) => {
        const world = told(scenario);
        world.settle(120);
        const runs = DESKS.findIndex((address) => desk(world, address)?.status.phase === 'Running');
        const [address, other] = [DESKS[runs], DESKS[1 - runs]];
        const before = desk(world, address);
        if (address === undefined || before?.status.home === undefined || other === undefined) return;
        const waits = desk(world, other)?.status.reason === 'VolumeBusy';
        const { epoch = 0, live } = before.kept ?? {};
        equal(live?.phase, 'Running');
        const hangs = FATES[scenario.fates[epoch % scenario.fates.length] ?? 0] === 'hang';
        world.change(address, { state: 'Stopped' });
        let seen = desk(world, address);
        const memory = memoryOf(world);
        for (let left = 20_000; seen?.status.phase !== 'Stopped' && left > 0; left -= 1) {
          const [next] = world.choices();
          if (next === undefined) world.tick();
          else next();
          checkAlways(world, memory);
          seen = desk(world, address);
        }
        equal(seen?.status.phase, 'Stopped');
        if (epoch % 5 !== 4 && !hangs && volume(world) !== undefined) {
          ok(volume(world)?.kept?.revisions.some(({ digest }) => digest === `sha256:${digestOf(address.name, epoch)}`));
          equal(seen?.status.home?.digest, `sha256:${digestOf(address.name, epoch)}`);
        }
        world.settle(120);
        checkAtRest(world);
        const { phase } = desk(world, other)?.status ?? {};
        if (waits) ok(phase === 'Running' || phase === 'Failed' || phase === 'Stopped', `it is ${phase}`);
      }),
      { numRuns: tries(40), seed: SEED, includeErrorInReport: true },
    ),
  );
});

/** Lets everything happen that needs no time. */
function run(world: World): void {
  for (let [next] = world.choices(); next !== undefined; [next] = world.choices()) next();
}

/** One Workspace, and the fates of its epochs, over and over. */
function plain(fates: readonly Fate[], spec: object = {}): World {
  const numbers = fates.map((fate) => FATES.indexOf(fate));
  const last = numbers.pop() ?? 0;
  const world = begin({ idleTimeout: '0s', fates: [last, ...numbers] });
  for (const address of DESKS) world.remove(address);
  run(world);
  create(world, 0, '0s', spec);
  run(world);
  return world;
}

/** Lets the first or last thing happen that can, over and over. */
function until(world: World, holds: () => boolean, which: 0 | -1): void {
  for (let left = 1_000; !holds() && left > 0; left -= 1) world.choices().at(which)?.();
}

function saved(world: World): string {
  const found = desk(world, A)?.status.conditions?.find(({ type }) => type === 'StateSaved');
  return `${found?.status ?? ''} ${found?.reason ?? ''}`;
}

function unreachable(world: World): string | undefined {
  return desk(world, A)?.status.conditions?.find(({ type }) => type === 'NodeUnreachable')?.status;
}

test('A lost one says so, comes back from the home that was saved last, and keeps the lease meanwhile', (t) => {
  const world = plain(['stay', 'lost', 'stay', 'stay']);
  const first = desk(world, A)?.kept?.epoch ?? 0;
  t.is(first, 1);
  world.change(DESKS[0] ?? HOME, { state: 'Stopped' });
  run(world);
  t.is(saved(world), 'True Saved');
  t.is(volume(world)?.status.revision, '1');
  create(world, 1);
  world.change(DESKS[1] ?? HOME, { state: 'Stopped' });
  run(world);
  world.change(DESKS[0] ?? HOME, { state: 'Running' });
  until(world, () => desk(world, A)?.kept?.live?.phase === 'Running', 0);
  world.change(DESKS[1] ?? HOME, { state: 'Running' });
  until(world, () => desk(world, A)?.kept?.recovering !== undefined, -1);
  t.is(unreachable(world), 'True');
  t.is(desk(world, A)?.status.phase, 'Pending');
  run(world);
  const back = desk(world, A);
  t.is(back?.status.phase, 'Running');
  t.is(back?.status.attempt?.epoch, 3);
  t.is(back?.status.home?.revision, '1');
  t.is(unreachable(world), 'False');
  t.is(saved(world), 'False NodeLost');
  t.is(desk(world, B)?.status.reason, 'VolumeBusy', 'who waits does not come between');
});

test('Equal files are no new revision, and no more are kept than are wanted', (t) => {
  const world = plain(['stay']);
  const epochs = 9;
  for (let epoch = 1; epoch <= epochs; epoch += 1) {
    t.is(desk(world, A)?.status.attempt?.epoch, epoch);
    world.change(DESKS[0] ?? HOME, { state: 'Stopped' });
    run(world);
    world.change(DESKS[0] ?? HOME, { state: 'Running' });
    run(world);
  }
  const { kept, status } = volume(world) ?? {};
  t.is(kept?.revisions.length, 3);
  // Those of epochs 4 and 9 could not be collected.
  t.is(status?.revision, String(epochs - 2));
  t.is(desk(world, A)?.status.home?.revision, status?.revision);
});

test('Idle for idleTimeout it stops with its home saved, and something under way keeps it awake', (t) => {
  const world = plain(['stay'], { idleTimeout: '10m' });
  const say = (busy: boolean): void =>
    world.send(DESKS[0] ?? HOME, { type: 'ActivitySeen', epoch: 1, at: world.now, busy });
  const begun = world.now;
  for (let minute = 1; minute <= 30; minute += 1) {
    world.now = begun + minute * 60_000;
    say(true);
    world.tick(world.now + 1);
    t.is(desk(world, A)?.status.phase, 'Running', `after ${minute} minutes`);
  }
  say(false);
  const idle = world.now;
  while (desk(world, A)?.status.phase === 'Running' && world.tick()) run(world);
  t.is(world.now - idle, 600_000);
  t.is(desk(world, A)?.status.stopReason, 'IdleTimeout');
  t.is(desk(world, A)?.spec.state, 'Stopped');
  t.is(saved(world), 'True Saved');
});

const MINUTE = 60_000;
const at = (ms: number): string => new Date(ms).toISOString();

test('One that is made for a time starts 15 minutes before it and stops when it says, each once', (t) => {
  const world = plain(['stay']);
  world.remove(DESKS[0] ?? HOME);
  run(world);
  const readyBy = world.now + 60 * MINUTE;
  create(world, 0, '0s', { schedule: { readyBy: at(readyBy), stopAt: at(readyBy + 60 * MINUTE) } });
  run(world);
  t.is(desk(world, A)?.status.phase, 'Pending');
  t.is(desk(world, A)?.status.reason, 'WaitingForSchedule');
  t.is(world.attempts.length, 0);
  world.crash();
  run(world);
  while (desk(world, A)?.status.phase !== 'Running' && world.tick()) run(world);
  t.is(world.now, readyBy - 15 * MINUTE);
  while (desk(world, A)?.status.phase !== 'Stopped' && world.tick()) run(world);
  t.is(world.now - (world.now % 1_000), readyBy + 60 * MINUTE - (readyBy % 1_000));
  t.is(desk(world, A)?.status.stopReason, 'Schedule');
  // Started by hand after that, it runs on.
  world.change(DESKS[0] ?? HOME, { state: 'Running' });
  run(world);
  world.crash();
  world.settle(20);
  t.is(desk(world, A)?.status.phase, 'Running');
});

test('Started for a time, it is not idle before that time, and is as soon as any other before its start and after it', (t) => {
  const world = plain(['stay'], { state: 'Stopped', idleTimeout: '10m' });
  const readyBy = world.now + 60 * MINUTE;
  world.change(DESKS[0] ?? HOME, { state: 'Running', schedule: { readyBy: at(readyBy) } });
  run(world);
  const begun = world.now;
  while (desk(world, A)?.status.phase === 'Running' && world.tick()) run(world);
  t.is(world.now - begun, 10 * MINUTE, 'run by hand long before the time');
  t.is(desk(world, A)?.status.stopReason, 'IdleTimeout');
  while (desk(world, A)?.status.phase !== 'Running' && world.tick()) run(world);
  t.is(world.now, readyBy - 15 * MINUTE);
  while (desk(world, A)?.status.phase === 'Running' && world.tick()) run(world);
  t.is(world.now, readyBy + 10 * MINUTE);
  t.is(desk(world, A)?.status.stopReason, 'IdleTimeout');
});

test('A time that is set later starts what is stopped; what was stopped by hand after it stays so; a new time is a new one', (t) => {
  const world = plain(['stay'], { state: 'Stopped' });
  t.is(desk(world, A)?.status.phase, 'Stopped');
  const readyBy = world.now + 30 * MINUTE;
  world.change(DESKS[0] ?? HOME, { schedule: { readyBy: at(readyBy) } });
  while (desk(world, A)?.status.phase !== 'Running' && world.tick()) run(world);
  t.is(world.now, readyBy - 15 * MINUTE);
  world.change(DESKS[0] ?? HOME, { state: 'Stopped' });
  world.settle(20);
  t.is(desk(world, A)?.status.phase, 'Stopped');
  const again = world.now + 120 * MINUTE;
  world.change(DESKS[0] ?? HOME, { schedule: { readyBy: at(again) } });
  while (desk(world, A)?.status.phase !== 'Running' && world.tick()) run(world);
  t.is(world.now, again - 15 * MINUTE);
});

test('Both times passed while nobody looked: it is stopped', (t) => {
  const world = plain(['stay'], { state: 'Stopped' });
  const readyBy = world.now + 30 * MINUTE;
  world.change(DESKS[0] ?? HOME, { schedule: { readyBy: at(readyBy), stopAt: at(readyBy + MINUTE) } });
  world.now = readyBy + 10 * MINUTE;
  world.crash();
  world.settle(20);
  t.is(desk(world, A)?.status.phase, 'Stopped');
  t.is(desk(world, A)?.status.stopReason, 'Schedule');
});

test('A Volume goes by itself when nobody has used it for ttlAfterUnused', (t) => {
  const world = plain(['stay']);
  const fresh: Address = { ...HOME, name: 'fresh' };
  world.create(fresh, { ttlAfterUnused: '0s' }, {});
  world.change(HOME, { ttlAfterUnused: '1h' });
  world.settle(10);
  t.true(world.entities.has(addressKey(fresh)), 'one that was never used stays');
  t.not(volume(world), undefined, 'somebody uses it');
  world.change(DESKS[0] ?? HOME, { state: 'Stopped' });
  run(world);
  const unused = world.now;
  while (volume(world) !== undefined && world.tick()) run(world);
  t.is(world.now - unused, 60 * MINUTE);
});

test('A writer that went without a word keeps nobody waiting', (t) => {
  const world = plain(['stay']);
  const { uid = '' } = desk(world, A) ?? {};
  // As after a restore of the database: the writer is gone, the Volume knows nothing of it.
  for (const [key, entity] of world.entities) if (entity.uid === uid) world.entities.delete(key);
  create(world, 1);
  world.settle(5);
  t.is(desk(world, B)?.status.phase, 'Running');
});

test('A wait for a place that is longer than placement.queueTimeout fails, gives the home back, and can be tried again', (t) => {
  const world = plain(['stay']);
  world.remove(DESKS[0] ?? HOME);
  run(world);
  const resources = { cpu: '3' };
  create(world, 1, '0s', { volume: undefined, ephemeral: true, resources });
  run(world);
  create(world, 0, '0s', { resources, placement: { queueTimeout: '5m' } });
  run(world);
  t.is(desk(world, A)?.status.phase, 'Pending');
  t.is(volume(world)?.status.holder?.name, 'a');
  const begun = world.now;
  while (desk(world, A)?.status.phase === 'Pending' && world.tick()) run(world);
  t.is(world.now - begun, 5 * MINUTE);
  t.is(desk(world, A)?.status.phase, 'Failed');
  t.is(desk(world, A)?.status.reason, 'CapacityUnavailable');
  t.is(volume(world)?.status.holder, undefined);
  world.change(DESKS[0] ?? HOME, { resources: { cpu: '1' } });
  run(world);
  t.is(desk(world, A)?.status.phase, 'Running');
});

test('A home that cannot be saved yet is neither lost nor safe; a deletion gives it a last minute, then lets the Volume go', (t) => {
  const world = plain(['save']);
  /** All but the second try of the save. */
  const unsaved = (): void => {
    while (world.choices().length > world.engine.running().length) world.choices()[0]?.();
  };
  world.change(DESKS[0] ?? HOME, { state: 'Stopped' });
  unsaved();
  t.is(desk(world, A)?.status.phase, 'Stopping');
  t.is(saved(world), 'False CollectionFailed');
  t.is(volume(world)?.status.holder?.name, 'a', 'nobody may write meanwhile');
  world.remove(DESKS[0] ?? HOME);
  const asked = world.now;
  while (desk(world, A) !== undefined && world.tick(asked + 10 * MINUTE)) unsaved();
  run(world);
  t.is(desk(world, A), undefined);
  t.true(world.now - asked <= 2 * MINUTE, `${world.now - asked}`);
  t.is(volume(world)?.status.holder, undefined);
  t.is(volume(world)?.status.revision, undefined);
});
