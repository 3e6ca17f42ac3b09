/**
 * What must hold of a world at every moment (`checkAlways`) and when it has come to rest (`checkAtRest`). Throws, so that a
 * property test can shrink the scenario to the shortest one that breaks it.
 */
import { deepEqual, equal, notEqual, ok } from 'node:assert/strict';
import { IndexSet } from '../../../src/api/ranges.js';
import { isFinished } from '../../../src/kinds/job/status.js';
import type { ResourceAmounts } from '../../../src/kinds/amounts.js';
import { readPlace } from '../../../src/kinds/attempt/annotations.js';
import { attemptSpecOf, attemptStatusOf, jobSpecOf, workOf } from './views.js';
import type { Entity } from './entity.js';
import { jobStatus, type World } from './world.js';

export function checkAlways(world: World, capacity: ResourceAmounts): void {
  const job = world.job();
  if (job !== undefined) checkCounts(world, job);
  checkHistory(world);
  checkAlone(world);
  // The Node itself may count a place twice for a moment, when a late message says what is no longer so; never too few.
  const { load } = world.places;
  ok(load.places >= 0 && load.milliCpu >= 0 && load.memory >= 0, 'a place was given back twice');
  const held = holders(world).map(({ object }) => readPlace(object.metadata.annotations).milliCpu);
  ok(world.engine.works.size <= held.length, 'work runs without a place');
  ok(held.reduce((sum, cpu) => sum + cpu, 0) <= capacity.milliCpu, 'more places are held than there are');
}

/** I8: of one slot at most one Attempt is under way, and at most one program runs. */
export function checkAlone(world: World): void {
  const slots = new Set<string>();
  for (const { object } of world.attempts) {
    const { phase } = attemptStatusOf(object);
    if (phase === 'Succeeded' || phase === 'Failed' || phase === 'Cancelled') continue;
    const slot = `${object.metadata.ownerReferences?.[0]?.uid}/${attemptSpecOf(object).slot}`;
    ok(!slots.has(slot), 'a slot has two Attempts under way');
    slots.add(slot);
  }
  deepEqual([...world.engine.startedAgain], [], 'work ran a second time');
}

/** Attempts that hold a place by their own account. */
function holders(world: World): readonly Entity[] {
  return world.attempts.filter(({ private: kept }) => ['Live', 'Going'].includes(workOf(kept)));
}

function checkCounts(world: World, job: Entity): void {
  const status = jobStatus(world);
  const spec = jobSpecOf(job.object);
  const rows = [...job.rows.values()];
  const having = (phase: string): typeof rows => rows.filter((row) => row.phase === phase);
  equal(status.active ?? 0, having('Active').length);
  equal(status.succeeded ?? 0, having('Succeeded').length);
  equal(IndexSet.parse(status.completedIndexes ?? '')?.size, having('Succeeded').length);
  equal(IndexSet.parse(status.failedIndexes ?? '')?.size, having('Failed').length);
  equal(
    status.failed ?? 0,
    rows.reduce((sum, row) => sum + row.failures, 0),
  );
  equal(
    status.attempts ?? 0,
    rows.reduce((sum, row) => sum + row.epoch, 0),
  );
  ok(rows.length <= spec.completions);
  ok((status.failed ?? 0) <= spec.backoffLimit + spec.parallelism + 256, 'failures ran away');
  for (const row of rows) {
    const lost = Number(row.detail?.['lost'] ?? 0);
    ok(lost <= (spec.recovery?.maxAttempts ?? 8) + 1, 'more replacements than recovery.maxAttempts');
  }
  if (isFinished(status.phase)) equal(status.active, 0, 'a finished Job has Attempts under way');
}

/** I8: epochs grow, and success is final. */
export function checkHistory(world: World): void {
  const last = new Map<string, { epoch: number; phase: string }>();
  for (const { job, row } of world.history) {
    const key = `${job}/${row.index}`;
    const before = last.get(key);
    if (before !== undefined) {
      ok(row.epoch >= before.epoch, 'an epoch went back');
      notEqual(before.phase, 'Succeeded', 'a slot left success');
      if (row.phase === 'Active' && before.phase !== 'Active')
        equal(row.epoch, before.epoch + 1, 'a start without a new epoch');
    }
    last.set(key, row);
  }
}

/** Nothing can happen any more: nobody was forgotten, and nothing was left behind. */
export function checkAtRest(world: World): void {
  const status = jobStatus(world);
  const job = world.job();
  if (job !== undefined) {
    const { state } = jobSpecOf(job.object);
    ok(
      isFinished(status.phase) || (state === 'Suspended' && status.phase === 'Suspended'),
      `the Job came to rest in ${status.phase}`,
    );
    equal(status.active, 0);
    if (status.phase === 'Succeeded') equal(status.succeeded, jobSpecOf(job.object).completions);
    for (const attempt of world.attempts) {
      const { phase } = attemptStatusOf(attempt.object);
      ok(['Succeeded', 'Failed', 'Cancelled'].includes(phase ?? ''), `an Attempt came to rest in ${phase}`);
    }
    checkSuccesses(world, job);
  } else {
    equal(world.attempts.length, 0, 'Attempts outlived their Job');
  }
  const placements = world.places;
  equal(placements.load.places, 0, 'a place leaked');
  equal(placements.load.milliCpu, 0);
  equal(placements.waitingCount, 0, 'somebody waits for ever');
  equal(world.engine.works.size, 0, 'work was left on the engine');
}

/** An index that the Job counts as done has exactly one Attempt that its success came from. */
function checkSuccesses(world: World, job: Entity): void {
  for (const row of job.rows.values()) {
    if (row.phase !== 'Succeeded') continue;
    const taken = world.attempts.filter(({ object }) => {
      const spec = attemptSpecOf(object);
      return spec.slot === row.index && spec.epoch === row.epoch;
    });
    equal(taken.length, 1);
    equal(taken[0] && attemptStatusOf(taken[0].object).phase, 'Succeeded');
  }
}
