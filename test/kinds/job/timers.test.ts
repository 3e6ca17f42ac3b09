/** When a Job tries again, gives up, rests and goes, and what it says again. Pure. */
import test from 'ava';
import { attemptName } from '../../../src/kinds/attempts/names.js';
import { NOW } from '../decide.js';
import { Job, stopsOf } from './one-job.js';

test('opened again a Job asks its Attempts how they stand, and tells those to stop that are to', (t) => {
  const told = (more: (job: Job) => void): readonly string[] => {
    const job = new Job();
    job.hear(0, 1, 'Running');
    more(job);
    t.is(job.decide({ type: 'Activated' }), 'Volatile');
    return stopsOf(job.sent);
  };
  t.deepEqual(
    told(() => undefined),
    ['AttemptAsked', 'AttemptAsked'],
  );
  t.deepEqual(
    told((job) => job.change({ state: 'Suspended' })),
    ['Suspended', 'Suspended'],
  );
  t.deepEqual(
    told((job) => job.change({ state: 'Cancelled' })),
    ['Stopped', 'Stopped'],
  );
});

test('an Attempt that could not be made is lost capacity, so that a lasting refusal ends the Job and is named', (t) => {
  const job = new Job({ completions: 1, parallelism: 1, recovery: { maxAttempts: 1 } });
  const name = (epoch: number): string => attemptName(job.object.metadata, 0, epoch);
  const fails = (epoch: number): string => {
    const effect = { type: 'CreateChild', kind: 'Attempt', name: name(epoch), spec: { slot: 0, epoch } } as const;
    return job.decide({ type: 'EffectFailed', effect, reason: 'QuotaExceeded', message: 'no room' }, NOW + epoch);
  };
  t.is(fails(2), 'Ignored', 'there is no such epoch yet');
  t.is(fails(1), 'Next');
  t.like(job.table.slot(0), { epoch: 2, phase: 'Active', detail: { lost: 1 } });
  t.is(fails(1), 'Ignored', 'it has gone on');
  fails(2);
  t.like(job.status, { phase: 'Failed', reason: 'MaxAttemptsExceeded' });
});

test('a finished Job goes when its time has come, also when that time is set or moved afterwards', (t) => {
  const job = new Job({ ttlSecondsAfterFinished: undefined });
  for (const index of [0, 1]) job.hear(index, 1, 'Succeeded');
  t.is(job.status.phase, 'Succeeded');
  job.change({ ttlSecondsAfterFinished: 60 }, NOW + 10_000);
  t.deepEqual(job.timers, ['ttl 60'], 'from its end on');
  job.change({ ttlSecondsAfterFinished: 90 }, NOW + 10_000);
  t.deepEqual(job.timers, ['ttl 90']);
  job.fires('ttl', NOW + 89_999);
  t.deepEqual(job.timers, ['ttl 90'], 'it fired too early');
  job.fires('ttl', NOW + 90_000);
  t.deepEqual(
    job.effects.map(({ type }) => type),
    ['DeleteSelf'],
  );
});

test('retries that are due begin before indexes that never ran, and no more of them than parallelism lets', (t) => {
  const job = new Job({ completions: 4, parallelism: 3 });
  const failure = { reason: 'CustomerExit', exitCode: 1 };
  job.hear(0, 1, 'Failed', failure);
  t.deepEqual(job.made, ['3.1'], 'there is room, and no retry is due');
  for (const index of [1, 2]) job.hear(index, 1, 'Failed', failure);
  job.change({ parallelism: 2 }, NOW + 999);
  t.deepEqual(job.made, []);
  job.fires('retry', NOW + 1000);
  t.deepEqual(job.made, ['0.2'], 'the others are due as well');
  for (const [index, epoch] of [
    [0, 2],
    [3, 1],
  ] as const)
    job.hear(index, epoch, 'Succeeded');
  job.fires('retry', NOW + 1000);
  t.deepEqual(job.made, ['1.2', '2.2']);
});

test('a deadline counts from the start of the first Attempt, a wait for a place from its beginning, and neither without a limit', (t) => {
  const free = new Job({ placement: { queueTimeout: '0s' } });
  t.deepEqual(free.timers, []);
  free.hear(0, 1, 'Running');
  t.deepEqual(free.timers, []);
  const job = new Job({ timeout: '1m', placement: { queueTimeout: '2m' } });
  t.deepEqual(job.timers, ['queue 120']);
  job.hear(0, 1, 'Running', { time: NOW + 3000 });
  t.deepEqual(job.timers, ['deadline 63']);
  job.change({ activeDeadlineSeconds: 30, timeout: '1m' });
  t.deepEqual(job.timers, ['deadline 33'], 'an alias counts in the same write');
  t.is((job.object.spec as { timeout?: string }).timeout, '30s');
  t.false('activeDeadlineSeconds' in Object(job.object.spec));
  job.fires('deadline', NOW + 32_999);
  t.deepEqual(job.timers, ['deadline 33'], 'it fired too early');
  job.fires('deadline', NOW + 33_000);
  t.deepEqual(job.stops, ['DeadlineExceeded', 'DeadlineExceeded']);
  const waiting = new Job({ placement: { queueTimeout: '2m' } });
  waiting.fires('queue', NOW + 119_999);
  t.is(waiting.status.reason, undefined);
  waiting.fires('queue', NOW + 120_000);
  t.is(waiting.status.reason, 'CapacityUnavailable');
});

test('the time that a Job was suspended is added to its deadline', (t) => {
  const job = new Job({ timeout: '1m', completions: 1, parallelism: 1 });
  job.hear(0, 1, 'Running');
  job.change({ state: 'Suspended' }, NOW + 20_000);
  t.deepEqual(
    job.timers.filter((timer) => timer.includes('deadline')),
    ['no deadline'],
  );
  t.is(job.status.phase, 'Running', 'until its Attempt has stopped');
  job.hear(0, 1, 'Cancelled', { reason: 'Suspended' });
  job.decide({ type: 'Activated' }, NOW + 500_000);
  t.is(job.status.phase, 'Suspended');
  job.change({ state: 'Running' }, NOW + 520_000);
  t.deepEqual(
    job.timers.filter((timer) => timer.includes('deadline')),
    ['deadline 560'],
  );
});

test('a backoffLimit that is lowered below the failures so far ends the Job', (t) => {
  const job = new Job({ backoffLimit: 6 });
  for (const index of [0, 1]) job.hear(index, 1, 'Failed', { reason: 'CustomerExit', exitCode: 1 });
  job.change({ backoffLimit: 2 });
  t.is(job.status.phase, 'Pending', 'as many as there may be');
  job.change({ backoffLimit: 1 });
  t.like(job.status, { phase: 'Failed', reason: 'BackoffLimitExceeded', failedIndexes: '0,1' });
});

test('an index that failed and was to be tried again has failed with its Job, and is only not done when the Job is cancelled', (t) => {
  const failedIndexes = (end: (job: Job) => void): unknown => {
    const job = new Job();
    job.hear(0, 1, 'Failed', { reason: 'CustomerExit', exitCode: 1 });
    end(job);
    return [job.status.phase, job.status.failedIndexes];
  };
  t.deepEqual(
    failedIndexes((job) => job.hear(1, 1, 'Failed', { reason: 'CommandNotFound' })),
    ['Failed', '0,1'],
  );
  const cancelled = failedIndexes((job) => {
    job.change({ state: 'Cancelled' });
    job.hear(1, 1, 'Cancelled', { reason: 'Stopped' });
  });
  t.deepEqual(cancelled, ['Cancelled', undefined]);
});

test('a Job that is deleted with its Attempts waits for no time and begins nothing; one that a client holds ends them itself', (t) => {
  const deleted = (finalizers: readonly string[]): Job => {
    const job = new Job({ timeout: '1m', completions: 3 });
    job.hear(0, 1, 'Running');
    const { metadata } = job.object;
    const going = { ...metadata, finalizers, deletionTimestamp: '2026-01-02T03:04:05Z' };
    job.object = { ...job.object, metadata: going };
    job.decide({ type: 'DeletionRequested' });
    return job;
  };
  for (const finalizer of ['foregroundDeletion', 'orphan']) {
    const job = deleted([finalizer]);
    t.true(job.timers.includes('no deadline'), finalizer);
    t.deepEqual(job.stops, [], 'they go by garbage collection');
    job.hear(0, 1, 'Succeeded');
    t.deepEqual(job.made, []);
  }
  const held = deleted(['example.org/hold']);
  t.deepEqual(held.stops, ['Stopped', 'Stopped']);
  for (const index of [0, 1]) held.hear(index, 1, 'Cancelled', { reason: 'Stopped' });
  t.like(held.status, { phase: 'Cancelled', reason: 'Deleted' });
});
