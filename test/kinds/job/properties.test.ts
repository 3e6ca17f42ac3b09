import { equal, notEqual, ok } from 'node:assert/strict';
import test from 'ava';
import { array, assert, constantFrom, integer, nat, property, record, type Arbitrary } from 'fast-check';
import type { JobSpec } from '../../../src/kinds/job/schema.js';
import { checkAlways, checkAtRest } from './invariants.js';
import type { Fate } from './fake-engine.js';
import { jobSpecOf } from './views.js';
import { turn } from './turn.js';
import { jobAddress, jobStatus, World } from './world.js';
import { tries } from '../../support/extent.js';

const MI = 2 ** 20;
const CAPACITY = { milliCpu: 4_000, memory: 4_096 * MI, disk: 100_000 * MI };

const FATES: readonly Fate[] = [
  'succeed',
  'succeed',
  'succeed',
  'succeed',
  'fail',
  'outOfMemory',
  'startFailed',
  'startLost',
  'lost',
  'hang',
];

interface Scenario {
  readonly spec: Partial<JobSpec> & { readonly completions: number; readonly parallelism: number };
  readonly fates: readonly number[];
  /** What happens next, as numbers. */
  readonly steps: readonly number[];
}

const scenarios: Arbitrary<Scenario> = record({
  completions: integer({ min: 1, max: 8 }),
  wide: integer({ min: 1, max: 8 }),
  backoffLimit: integer({ min: 0, max: 6 }),
  maxAttempts: integer({ min: 1, max: 4 }),
  onInterruption: constantFrom<'Resume' | 'Fail'>('Resume', 'Resume', 'Fail'),
  cpu: constantFrom('100m', '1', '3'),
  timeout: constantFrom(undefined, '1h'),
  fates: array(nat(FATES.length - 1), { minLength: 1, maxLength: 24 }),
  steps: array(nat(1_000), { maxLength: 240, size: 'max' }),
}).map(({ completions, wide, backoffLimit, maxAttempts, onInterruption, cpu, timeout, fates, steps }) => ({
  spec: {
    command: ['true'],
    completions,
    parallelism: Math.min(wide, completions),
    backoffLimit,
    recovery: { maxAttempts, onInterruption },
    resources: { cpu },
    ...(timeout !== undefined && { timeout }),
  },
  fates,
  steps,
}));

function begin({ spec, fates }: Scenario): World {
  const world = new World({
    capacity: CAPACITY,
    // Work that ignores its end would run for ever: only the first epochs of a scenario may.
    fate: (slot, epoch) => {
      const fate = FATES[fates[(slot * 5 + epoch) % fates.length] ?? 0] ?? 'succeed';
      return fate === 'hang' && spec.timeout === undefined ? 'succeed' : fate;
    },
  });
  world.create(jobAddress(), spec, {});
  return world;
}

function stateOf(world: World): JobSpec['state'] | undefined {
  const job = world.job();
  return job && jobSpecOf(job.object).state;
}

function client(world: World, { spec }: Scenario, pick: number): void {
  const state = stateOf(world);
  switch (pick % 6) {
    case 0:
    case 1:
      if (state !== 'Cancelled') world.update({ state: state === 'Suspended' ? 'Running' : 'Suspended' });
      return;
    case 2:
      world.update({ parallelism: 1 + (pick % spec.completions) });
      return;
    case 3:
      if (pick % 4 === 3) world.update({ state: 'Cancelled' });
      return;
    case 4:
      world.update({ backoffLimit: pick % 7 });
      return;
    default:
      if (pick % 5 === 0) world.remove(jobAddress());
  }
}

test('In any order, with repeats and crashes, a Job ends and leaves nothing behind', (t) => {
  t.notThrows(() =>
    assert(
      property(scenarios, (scenario) => {
        const world = begin(scenario);
        for (const number of scenario.steps) {
          turn(world, number, (pick) => client(world, scenario, pick));
          checkAlways(world, CAPACITY);
        }
        world.settle();
        checkAlways(world, CAPACITY);
        checkAtRest(world);
      }),
      { numRuns: tries(250) },
    ),
  );
});

test('A suspended Job rests without Attempts, and runs to its end when it is resumed', (t) => {
  t.notThrows(() =>
    assert(
      property(scenarios, (scenario) => {
        const world = begin(scenario);
        for (const number of scenario.steps) turn(world, number, (pick) => client(world, scenario, pick));
        if (world.job() === undefined || !world.update({ state: 'Suspended' })) return;
        world.settle();
        checkAtRest(world);
        if (jobStatus(world).phase === 'Suspended') {
          world.update({ state: 'Running' });
          world.settle();
          notEqual(jobStatus(world).phase, 'Suspended');
        }
        checkAtRest(world);
      }),
      { numRuns: tries(100) },
    ),
  );
});

test('A cancelled Job ends without Attempts under way, whatever they were doing', (t) => {
  t.notThrows(() =>
    assert(
      property(scenarios, (scenario) => {
        const world = begin(scenario);
        for (const number of scenario.steps) turn(world, number, (pick) => client(world, scenario, pick));
        if (world.job() === undefined) return;
        world.update({ state: 'Cancelled' });
        world.settle();
        checkAtRest(world);
        ok(['Cancelled', 'Succeeded', 'Failed'].includes(jobStatus(world).phase ?? ''));
      }),
      { numRuns: tries(100) },
    ),
  );
});

test('A deleted Job takes its Attempts with it, and they end their work first', (t) => {
  t.notThrows(() =>
    assert(
      property(scenarios, (scenario) => {
        const world = begin(scenario);
        for (const number of scenario.steps) turn(world, number, (pick) => client(world, scenario, pick));
        world.remove(jobAddress());
        world.settle();
        equal(world.job(), undefined);
        checkAtRest(world);
      }),
      { numRuns: tries(100) },
    ),
  );
});
