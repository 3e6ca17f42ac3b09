import test from 'ava';
import { isReplacement } from '../../../src/kinds/attempt/annotations.js';
import type { JobSpec } from '../../../src/kinds/job/schema.js';
import { jobOutputs, locateOutput } from '../../../src/kinds/job/slots.js';
import type { Fate } from './fake-engine.js';
import { attemptSpecOf, attemptStatusOf, jobSpecOf } from './views.js';
import { jobAddress, jobStatus, World } from './world.js';

const GI = 2 ** 30;
const ROOMY = { milliCpu: 64_000, memory: 256 * GI, disk: 1_000 * GI };

/** A world with one Job that was just created. */
function begin(spec: Partial<JobSpec>, fate: (slot: number, epoch: number) => Fate = () => 'succeed'): World {
  const world = new World({ capacity: ROOMY, fate });
  world.create(jobAddress(), { command: ['true'], ...spec }, {});
  return world;
}

/** Lets everything happen that needs no time. */
function run(world: World): void {
  for (let [next] = world.choices(); next !== undefined; [next] = world.choices()) next();
}

/** Time goes on until the Job has reached a phase, by its timers alone. */
function until(world: World, phase: string): void {
  run(world);
  while (jobStatus(world).phase !== phase && world.tick()) run(world);
}

function epochsOf(world: World, slot: number): readonly number[] {
  return world.attempts
    .map(({ object }) => attemptSpecOf(object))
    .filter((spec) => spec.slot === slot)
    .map(({ epoch }) => epoch)
    .toSorted((a, b) => a - b);
}

test('A Job succeeds when each of its indexes has, and says which', (t) => {
  const world = begin({ completions: 5, parallelism: 2 });
  run(world);
  const status = jobStatus(world);
  t.is(status.phase, 'Succeeded');
  t.is(status.reason, 'Completed');
  t.is(status.completedIndexes, '0-4');
  t.is(status.succeeded, 5);
  t.is(status.active, 0);
  t.deepEqual(
    status.conditions?.map(({ type, status: value }) => [type, value]),
    [['Complete', 'True']],
  );
  t.deepEqual(
    world.events.map(({ event }) => event),
    ['job.succeeded'],
  );
});

test('No more indexes run at once than parallelism says, and a raise takes effect at once', (t) => {
  const world = begin({ completions: 6, parallelism: 2 }, () => 'hang');
  run(world);
  t.is(jobStatus(world).active, 2);
  world.update({ parallelism: 5 });
  run(world);
  t.is(jobStatus(world).active, 5);
  world.update({ parallelism: 1 });
  run(world);
  t.is(jobStatus(world).active, 5, 'what runs is left to run');
});

test('a program that does not exist fails the Job at its first Attempt, and the Job says which', (t) => {
  const world = begin({ backoffLimit: 6, completions: 3, parallelism: 3 }, (slot) =>
    slot === 1 ? 'notFound' : 'stay',
  );
  until(world, 'Failed');
  const status = jobStatus(world);
  t.is(status.reason, 'CommandNotFound');
  t.is(status.message, 'index 1: CommandNotFound: main: executable "nope" not found in PATH');
  t.deepEqual(epochsOf(world, 1), [1]);
});

test('while a failed index is tried again the Job says why it failed, until that index has succeeded', (t) => {
  const world = begin({ backoffLimit: 3, completions: 2, parallelism: 2 }, (slot, epoch) =>
    slot === 1 ? 'stay' : epoch < 3 ? 'fail' : 'succeed',
  );
  run(world);
  t.like(jobStatus(world), {
    phase: 'Running',
    reason: 'CustomerExit',
    message: 'index 0: CustomerExit: exit code 1; failure 1, and backoffLimit is 3',
  });
  world.tick();
  run(world);
  t.regex(jobStatus(world).message ?? '', /failure 2, and backoffLimit is 3/);
  t.is(world.events.filter(({ event }) => event === 'job.attempt_failed').length, 2);
  world.tick();
  run(world);
  t.is(jobStatus(world).succeeded, 1);
  t.is(jobStatus(world).reason, undefined);
});

test('Failures are retried after 1 s, 2 s, 4 s, and beyond backoffLimit the Job fails', (t) => {
  const world = begin({ backoffLimit: 3 }, () => 'fail');
  const begun: number[] = [];
  run(world);
  for (let attempts = 1; attempts <= 3; attempts += 1) {
    const before = world.now;
    t.is(jobStatus(world).failed, attempts);
    while (jobStatus(world).attempts === attempts && world.tick()) run(world);
    begun.push(Math.round((world.now - before) / 1000));
  }
  t.deepEqual(begun, [1, 2, 4]);
  const status = jobStatus(world);
  t.is(status.phase, 'Failed');
  t.is(status.reason, 'BackoffLimitExceeded');
  t.regex(status.message ?? '', /4 failures, and backoffLimit is 3; index 0: CustomerExit: exit code 1/);
  t.is(status.failedIndexes, '0');
  t.deepEqual(epochsOf(world, 0), [1, 2, 3, 4]);
});

test('a retry whose timer is lost is begun by the next start, and the retry after it has a timer again', (t) => {
  const world = begin({ backoffLimit: 6 }, (_slot, epoch) => (epoch < 3 ? 'fail' : 'succeed'));
  run(world);
  world.now += 1_500;
  world.crash('retry');
  run(world);
  t.is(jobStatus(world).attempts, 2);
  const before = world.now;
  until(world, 'Succeeded');
  t.deepEqual(epochsOf(world, 0), [1, 2, 3]);
  t.is(Math.round((world.now - before) / 1000), 2, 'in its time, not with the next timer that the Job happens to have');
});

test('Running out of memory is the failure of the work, not of the capacity', (t) => {
  const world = begin({ backoffLimit: 0 }, () => 'outOfMemory');
  run(world);
  t.is(jobStatus(world).phase, 'Failed');
  t.is(world.attempts[0] && attemptStatusOf(world.attempts[0].object).reason, 'OutOfMemory');
});

test('Lost capacity is replaced at the next epoch and counts as no failure', (t) => {
  const world = begin({ backoffLimit: 0 }, (_slot, epoch) => (epoch === 1 ? 'lost' : 'succeed'));
  run(world);
  const status = jobStatus(world);
  t.is(status.phase, 'Succeeded');
  t.is(status.failed, 0);
  t.deepEqual(epochsOf(world, 0), [1, 2]);
  const [first] = world.attempts.filter(({ object }) => attemptSpecOf(object).epoch === 1);
  const lost = first && attemptStatusOf(first.object);
  t.is(lost?.phase, 'Failed');
  t.is(lost?.reason, 'NodeLost');
  t.is(lost?.progress?.stage, 'Lost');
  t.is(lost?.interruption?.trigger, 'HeartbeatLoss');
  t.true(lost?.supersededBy?.startsWith('job-0-2-'));
  t.deepEqual(
    world.attempts.map(({ object }) => isReplacement(object.metadata.annotations)),
    [false, true],
  );
  t.deepEqual(
    world.events.map(({ event }) => event),
    ['job.node_lost', 'job.restored', 'job.succeeded'],
  );
});

test('A fault of the machine uses up nothing of backoffLimit, and one of the order does', (t) => {
  const world = begin({ backoffLimit: 0 }, (_slot, epoch) => (epoch === 1 ? 'noRoom' : 'succeed'));
  run(world);
  t.is(jobStatus(world).phase, 'Succeeded');
  t.is(jobStatus(world).failed, 0);
  t.deepEqual(epochsOf(world, 0), [1, 2]);
  const customers = begin({ backoffLimit: 0 }, (_slot, epoch) => (epoch === 1 ? 'startFailed' : 'succeed'));
  run(customers);
  t.is(jobStatus(customers).phase, 'Failed');
});

test('Beyond recovery.maxAttempts replacements the Job fails', (t) => {
  const world = begin({ recovery: { maxAttempts: 2 } }, () => 'lost');
  until(world, 'Failed');
  t.is(jobStatus(world).reason, 'MaxAttemptsExceeded');
  t.deepEqual(epochsOf(world, 0), [1, 2, 3]);
});

test('With onInterruption Fail the first loss fails the Job', (t) => {
  const world = begin({ recovery: { onInterruption: 'Fail' } }, () => 'lost');
  run(world);
  t.is(jobStatus(world).phase, 'Failed');
  t.is(jobStatus(world).reason, 'NodeLost');
  t.deepEqual(epochsOf(world, 0), [1]);
});

test('A Job fails with DeadlineExceeded after its timeout, and stops what runs', (t) => {
  const world = begin({ timeout: '1h' }, () => 'hang');
  const begun = world.now;
  until(world, 'Failed');
  t.is(jobStatus(world).reason, 'DeadlineExceeded');
  t.true(world.now - begun >= 3_600_000);
  t.is(world.attempts[0] && attemptStatusOf(world.attempts[0].object).phase, 'Cancelled');
});

test('Suspended time does not count for the timeout', (t) => {
  const world = begin({ timeout: '1h' }, () => 'hang');
  run(world);
  const begun = world.now;
  world.update({ state: 'Suspended' });
  until(world, 'Suspended');
  world.now += 10 * 3_600_000;
  world.update({ state: 'Running' });
  until(world, 'Failed');
  t.is(jobStatus(world).reason, 'DeadlineExceeded');
  t.true(world.now - begun >= 11 * 3_600_000);
});

test('activeDeadlineSeconds is folded into timeout, and a contradiction is refused', (t) => {
  const world = begin({ activeDeadlineSeconds: 90 });
  const spec = (): Partial<JobSpec> => {
    const job = world.job();
    return job === undefined ? {} : jobSpecOf(job.object);
  };
  t.is(spec().timeout, '1m30s');
  t.is(spec().activeDeadlineSeconds, undefined);
  t.true(world.update({ activeDeadlineSeconds: 120 }));
  t.is(spec().timeout, '2m');
  t.false(world.update({ activeDeadlineSeconds: 60, timeout: '5m' }));
  t.is(spec().timeout, '2m');
});

test('Suspended work is stopped and begins again at the next epoch, and successes stay', (t) => {
  const world = begin({ completions: 2, parallelism: 2 }, (slot, epoch) =>
    slot === 1 && epoch === 1 ? 'hang' : 'succeed',
  );
  run(world);
  t.is(jobStatus(world).completedIndexes, '0');
  world.update({ state: 'Suspended' });
  until(world, 'Suspended');
  t.is(jobStatus(world).conditions?.find(({ type }) => type === 'Suspended')?.status, 'True');
  world.update({ state: 'Running' });
  run(world);
  t.is(jobStatus(world).phase, 'Succeeded');
  t.is(jobStatus(world).conditions?.find(({ type }) => type === 'Suspended')?.status, 'False');
  t.deepEqual(epochsOf(world, 0), [1]);
  t.deepEqual(epochsOf(world, 1), [1, 2]);
});

test('A cancelled Job cannot be brought back', (t) => {
  const world = begin({}, () => 'hang');
  run(world);
  world.update({ state: 'Cancelled' });
  until(world, 'Cancelled');
  t.is(jobStatus(world).reason, 'Cancelled');
  t.false(world.update({ state: 'Running' }));
  t.deepEqual(
    world.events.map(({ event }) => event),
    ['job.cancelled'],
  );
});

test('A Job that waits past queueTimeout fails with CapacityUnavailable, and one with 0s waits on', (t) => {
  for (const [queueTimeout, phase] of [
    ['10m', 'Failed'],
    ['0s', 'Pending'],
  ] as const) {
    const world = new World({ capacity: { milliCpu: 2_000, memory: GI, disk: 100 * GI }, fate: () => 'hang' });
    const resources = { cpu: '2' };
    world.create(jobAddress('first'), { command: ['true'], resources, timeout: '2h' }, {});
    run(world);
    world.create(jobAddress(), { command: ['true'], resources, placement: { queueTimeout } }, {});
    run(world);
    const deadline = world.now + 3_600_000;
    while (world.now < deadline && jobStatus(world).phase !== 'Failed' && world.tick()) run(world);
    t.is(jobStatus(world).phase, phase);
    if (phase === 'Failed') t.is(jobStatus(world).reason, 'CapacityUnavailable');
    else t.is(jobStatus(world).reason, 'WaitingForCapacity');
  }
});

test('Work that no machine can ever hold fails at once and says why', (t) => {
  const world = begin({ resources: { cpu: '65' } });
  run(world);
  t.is(jobStatus(world).phase, 'Failed');
  t.is(jobStatus(world).reason, 'CapacityUnavailable');
  t.regex(jobStatus(world).message ?? '', /needs cpu 65, .* the largest Node, "local", has cpu 64/);
});

test('A finished Job goes after ttlSecondsAfterFinished, with its Attempts', (t) => {
  const world = begin({ ttlSecondsAfterFinished: 100 });
  run(world);
  const finished = world.now;
  t.is(jobStatus(world).phase, 'Succeeded');
  while (world.job() !== undefined && world.tick()) run(world);
  t.is(world.job(), undefined);
  t.is(world.now - finished, 100_000);
  t.is(world.attempts.length, 0);
});

test('The newest ten Attempts of an index are kept', (t) => {
  const world = begin({ backoffLimit: 13 }, (_slot, epoch) => (epoch < 14 ? 'fail' : 'succeed'));
  until(world, 'Succeeded');
  t.deepEqual(
    epochsOf(world, 0),
    Array.from({ length: 10 }, (_, index) => 5 + index),
  );
});

test('Outputs are listed by index, the first hundred also in the status', (t) => {
  const world = begin({ completions: 120, parallelism: 64 });
  run(world);
  t.is(jobStatus(world).outputs?.length, 100);
  const rows = [...(world.job()?.rows.values() ?? [])];
  t.is(jobOutputs(rows).length, 120);
  t.deepEqual(
    jobOutputs(rows).map(({ index }) => index),
    Array.from({ length: 120 }, (_, index) => index),
  );
  t.is(locateOutput(rows, 'outputs', undefined).outcome, 'IndexRequired');
  t.is(locateOutput(rows, 'nothing', 3).outcome, 'NotFound');
  const found = locateOutput(rows, 'outputs', 3);
  t.is(found.outcome === 'Found' ? found.output.index : undefined, 3);
});

test('A Job that is made again under its old name never meets the old Attempts', (t) => {
  const world = begin({}, () => 'hang');
  run(world);
  world.remove(jobAddress());
  world.create(jobAddress(), { command: ['true'] }, {});
  run(world);
  t.is(jobStatus(world).active, 1);
  t.is(new Set(world.attempts.map(({ address }) => address.name)).size, world.attempts.length);
});
