/** Sweeps and Pipelines in the small world of Jobs and Attempts: whatever the order, with repeats, losses and crashes. */
import { equal, ok } from 'node:assert/strict';
import test from 'ava';
import { array, assert, boolean, constantFrom, integer, nat, property, record, type Arbitrary } from 'fast-check';
import type { Address } from '../../../src/api/address.js';
import { addressKey } from '../../../src/api/address.js';
import { isFinished, type JobPhase } from '../../../src/kinds/job/status.js';
import { needsOf } from '../../../src/kinds/pipeline/graph.js';
import type { PipelineSpec, PipelineStatus } from '../../../src/kinds/pipeline/schema.js';
import type { SweepSpec, SweepStatus } from '../../../src/kinds/sweep/schema.js';
import type { Entity } from '../job/entity.js';
import type { Fate } from '../job/fake-engine.js';
import { checkAlone, checkHistory } from '../job/invariants.js';
import { turn } from '../job/turn.js';
import { PROJECT, World } from '../job/world.js';
import { tries } from '../../support/extent.js';

const MI = 2 ** 20;
const CAPACITY = { milliCpu: 4_000, memory: 4_096 * MI, disk: 100_000 * MI };
const SWEEP: Address = { org: 'bootstrap', kind: 'Sweep', project: PROJECT, name: 'sweep' };
const PIPELINE: Address = { org: 'bootstrap', kind: 'Pipeline', project: PROJECT, name: 'pipeline' };
const JOB = { command: ['true'], backoffLimit: 1, resources: { cpu: '500m' } };

const FATES: readonly Fate[] = ['succeed', 'succeed', 'succeed', 'fail', 'startLost', 'lost', 'outOfMemory'];

interface Scenario<Spec> {
  readonly spec: Spec;
  readonly fates: readonly number[];
  /** What happens next, as numbers. */
  readonly steps: readonly number[];
}

const life = {
  fates: array(nat(FATES.length - 1), { minLength: 1, maxLength: 12 }),
  steps: array(nat(1_000), { maxLength: 200, size: 'max' as const }),
};

const sweeps: Arbitrary<Scenario<object>> = record({
  params: integer({ min: 1, max: 4 }),
  repetitions: integer({ min: 1, max: 3 }),
  maxParallel: integer({ min: 1, max: 5 }),
  ...life,
}).map(({ params, repetitions, maxParallel, fates, steps }) => ({
  spec: {
    matrix: { params: { A: Array.from({ length: params }, (_, index) => `${index}`) } },
    ...{ repetitions, maxParallel },
    template: { kind: 'Job', spec: JOB },
  },
  ...{ fates, steps },
}));

const pipelines: Arbitrary<Scenario<object>> = record({
  /** Of each stage, which of those before it it needs. */
  needs: array(array(boolean(), { minLength: 7, maxLength: 7 }), { minLength: 1, maxLength: 7 }),
  failurePolicy: constantFrom('FailFast', 'Continue'),
  maxParallel: constantFrom(undefined, 1, 2),
  ...life,
}).map(({ needs, failurePolicy, maxParallel, fates, steps }) => ({
  spec: {
    ...{ defaults: JOB, failurePolicy, maxParallel },
    stages: needs.map((own, index) => ({
      name: `s${index}`,
      dependsOn: own.flatMap((needed, other) => (needed && other < index ? [`s${other}`] : [])),
    })),
  },
  ...{ fates, steps },
}));

function begin(address: Address, { spec, fates }: Scenario<object>): World {
  const world = new World({
    capacity: CAPACITY,
    fate: (slot, epoch) => FATES[fates[(slot * 5 + epoch + world.engine.works.size) % fates.length] ?? 0] ?? 'succeed',
  });
  world.create(address, spec, {});
  return world;
}

function client(world: World, address: Address, pick: number): void {
  const state = stateOf(world, address);
  const jobs = childrenOf(world);
  switch (pick % 8) {
    case 0:
    case 1:
    case 2:
      if (state !== 'Cancelled') world.change(address, { state: state === 'Suspended' ? 'Running' : 'Suspended' });
      return;
    case 3:
      world.change(address, { maxParallel: 1 + (pick % 4) });
      return;
    case 4:
      if (pick % 5 === 4) world.change(address, { state: 'Cancelled' });
      return;
    case 5: {
      const job = jobs[pick % Math.max(1, jobs.length)];
      if (job !== undefined && pick % 3 === 0) world.remove(job.address);
      return;
    }
    case 6: {
      const job = jobs[pick % Math.max(1, jobs.length)];
      if (job !== undefined) world.change(job.address, { state: 'Cancelled' });
      return;
    }
    default:
      if (pick % 7 === 0) world.remove(address);
  }
}

function childrenOf(world: World): Entity[] {
  return [...world.entities.values()].filter(({ address }) => address.kind === 'Job');
}

function stateOf(world: World, address: Address): unknown {
  const spec = world.entities.get(addressKey(address))?.object.spec;
  return (spec as { state?: unknown } | undefined)?.state;
}

/** At every moment: a window that is kept, one Job for each child, and no second run of what has succeeded. */
function checkAlways(world: World, address: Address): void {
  checkAlone(world);
  checkHistory(world);
  const parent = world.entities.get(addressKey(address));
  if (parent === undefined) return;
  const rows = [...parent.rows.values()];
  const { phase } = parent.object.status as { phase?: JobPhase };
  if (isFinished(phase)) {
    ok(!rows.some((row) => ['Active', 'Waiting'].includes(row.phase)), 'a finished one has children under way');
  }
}

/** Nothing can happen any more: it is over or suspended, and so are its Jobs. */
function checkAtRest(world: World, address: Address): void {
  const parent = world.entities.get(addressKey(address));
  equal(world.engine.works.size, 0, 'work was left on the engine');
  equal(world.places.load.places, 0, 'a place leaked');
  if (parent === undefined) {
    equal(childrenOf(world).length, 0, 'Jobs outlived their owner');
    return;
  }
  const { phase } = parent.object.status as { phase?: JobPhase };
  const { state } = parent.object.spec as { state: string };
  ok(isFinished(phase) || (state === 'Suspended' && phase === 'Suspended'), `it came to rest in ${phase}`);
  for (const job of childrenOf(world)) {
    const of = (job.object.status as { phase?: JobPhase }).phase;
    ok(isFinished(of) || (phase === 'Suspended' && of === 'Suspended'), `a Job came to rest in ${of}`);
  }
}

function check(
  address: Address,
  scenarios: Arbitrary<Scenario<object>>,
  more: (world: World) => void,
  runs: number,
): void {
  assert(
    property(scenarios, (scenario) => {
      const world = begin(address, scenario);
      for (const number of scenario.steps) {
        turn(world, number, (pick) => client(world, address, pick));
        checkAlways(world, address);
        more(world);
      }
      world.settle();
      checkAlways(world, address);
      more(world);
      checkAtRest(world, address);
    }),
    { numRuns: tries(runs) },
  );
}

/** The cells that are shown are what the rows say; each has one Job, and succeeds once. */
function checkSweep(world: World): void {
  const sweep = world.entities.get(addressKey(SWEEP));
  if (sweep === undefined) return;
  const status = sweep.object.status as SweepStatus;
  const spec = sweep.object.spec as SweepSpec;
  const rows = [...sweep.rows.values()];
  const having = (phase: string): number => rows.filter((row) => row.phase === phase).length;
  const resting = rows.filter(({ phase, detail }) => phase === 'Active' && detail?.['live'] === 'Suspended').length;
  equal(status.active ?? 0, having('Active') - resting);
  equal(status.succeeded ?? 0, having('Succeeded'));
  equal(status.failed ?? 0, having('Failed'));
  equal(status.cells?.length, status.total);
  if (status.phase === 'Succeeded') equal(status.succeeded, status.total);
  ok(having('Active') + having('Waiting') <= Math.max(5, spec.maxParallel), 'more cells are open than may be');
}

/** No stage has begun before all that it needs had succeeded. */
function checkPipeline(world: World): void {
  const pipeline = world.entities.get(addressKey(PIPELINE));
  if (pipeline === undefined) return;
  const { stages } = pipeline.object.spec as PipelineSpec;
  const { phase, stages: shown = [] } = pipeline.object.status as PipelineStatus;
  const places = new Map(stages.map(({ name }, index) => [name, index]));
  for (const [index, stage] of stages.entries()) {
    const row = pipeline.rows.get(index);
    if (row === undefined || row.phase === 'Skipped') continue;
    for (const need of needsOf(stage)) {
      equal(pipeline.rows.get(places.get(need.stage) ?? -1)?.phase, 'Succeeded', `${stage.name} began too early`);
    }
  }
  if (phase === 'Succeeded') ok(shown.every((stage) => stage.phase === 'Succeeded'));
  if (phase === 'Failed') ok(!shown.some((stage) => stage.phase === 'Pending'), 'a stage is neither done nor given up');
}

test('In any order, with repeats and crashes, a Sweep ends, each cell once, and leaves nothing behind', (t) => {
  t.notThrows(() => check(SWEEP, sweeps, checkSweep, 150));
});

test('In any order, with repeats and crashes, a Pipeline ends, and no stage begins before what it needs has succeeded', (t) => {
  t.notThrows(() => check(PIPELINE, pipelines, checkPipeline, 150));
});

for (const [address, scenarios] of [
  [SWEEP, sweeps],
  [PIPELINE, pipelines],
] as const) {
  test(`A suspended ${address.kind} rests with its Jobs, goes on when it is resumed, and ends them all when it is cancelled`, (t) => {
    t.notThrows(() =>
      assert(
        property(scenarios, boolean(), (scenario, cancelled) => {
          const world = begin(address, scenario);
          for (const number of scenario.steps) turn(world, number, (pick) => client(world, address, pick));
          if (!world.change(address, { state: 'Suspended' })) return;
          world.settle();
          checkAtRest(world, address);
          world.change(address, { state: cancelled ? 'Cancelled' : 'Running' });
          // What a client has asked of one Job by itself stands.
          world.settle();
          checkAtRest(world, address);
        }),
        { numRuns: tries(75) },
      ),
    );
  });
}
