/** When a Sandbox is idle, stuck, too old or due to start again, to the millisecond. Pure. */
import test from 'ava';
import type { Message } from '../../../src/kinds/machine.js';
import { sandboxKind } from '../../../src/kinds/sandbox/index.js';
import type { SandboxSpec, SandboxStatus } from '../../../src/kinds/sandbox/schema.js';
import type { SandboxPrivate } from '../../../src/kinds/sandbox/state.js';
import { DEFAULT_MAX_ATTEMPTS } from '../../../src/kinds/shapes/recovery.js';
import { ask, contextAt, decided, NOW, owner, type Stored } from '../decide.js';
import { sayAll } from '../told.js';
import { BORN, changed, EPOCH, hear, LIFETIME_MS, LIVE, LOSS, sandbox, told } from './states.js';

const MINUTE = 60_000;
const fired = (timer: string): Message => ({ type: 'TimerFired', timer, generation: 1 });
const seen = (moment: number, busy: boolean): Message => hear({ type: 'ActivitySeen', epoch: EPOCH, at: moment, busy });
const keptOf = (stored: Stored): SandboxPrivate => stored.private as SandboxPrivate;
const IDLE = { lifecycle: { idleTimeout: '10m', maxLifetime: '24h' } };

/** What is stored after a message at this time. */
function after(stored: Stored, message: Message, now: number): Stored {
  return decided(sandboxKind, stored, message, contextAt(now));
}

test('that a client is still at work is worth a commit every half minute, that it begins or ends at once', (t) => {
  const known = (busyAt: number | undefined): Stored => sandbox('running', {}, {}, { activeAt: NOW, busyAt });
  const isNews = (stored: Stored, moment: number, busy: boolean, now = moment): boolean =>
    ask(sandboxKind, stored, seen(moment, busy), contextAt(now)).outcome === 'Next';
  t.false(isNews(known(NOW), NOW + 29_999, true));
  t.true(isNews(known(NOW), NOW + 30_000, true));
  t.true(isNews(known(undefined), NOW, true), 'it begins');
  t.true(isNews(known(NOW), NOW, false), 'it ends');
  t.false(isNews(known(undefined), NOW, false), 'it has ended');
  t.true(isNews(known(undefined), NOW + 1, false), 'something brief since');
  t.false(isNews(known(undefined), NOW - 1000, false), 'an older word');
  t.false(isNews(known(undefined), NOW + 1000, false, NOW), 'what is still to come counts from now');
});

test('activity is noted as of the later time, and keeps the Sandbox awake from then on', (t) => {
  const active = after(sandbox('running', IDLE), seen(NOW + 5000, true), NOW + 5000);
  t.like(keptOf(active), { activeAt: NOW + 5000, busyAt: NOW + 5000 });
  t.is((active.object.status as SandboxStatus).lastActivityTime, '2026-01-02T03:04:10Z');
  const late = after(active, seen(NOW + 1000, false), NOW + 6000);
  t.like(keptOf(late), { activeAt: NOW + 5000, busyAt: undefined }, 'an older word of its end');
  const clock = after(sandbox('running', IDLE), seen(NOW + 60_000, true), NOW);
  t.like(keptOf(clock), { activeAt: NOW, busyAt: NOW }, 'another clock is ahead');
});

test('a Sandbox is idle for its timeout after it began to run or was last active, and three minutes after it was busy at the least', (t) => {
  const idleAt = (kept: Partial<SandboxPrivate>, spec: object = IDLE): number | undefined => {
    const { effects } = decided(sandboxKind, sandbox('running', spec, {}, kept), fired('resync'));
    for (const effect of effects) if (effect.type === 'ArmTimer' && effect.timer === 'idle') return effect.at - NOW;
    return undefined;
  };
  const runningSince = NOW - MINUTE;
  t.is(idleAt({}), 9 * MINUTE);
  t.is(idleAt({ activeAt: runningSince - 1 }), 9 * MINUTE);
  t.is(idleAt({ activeAt: NOW }), 10 * MINUTE);
  t.is(idleAt({ activeAt: NOW, busyAt: NOW }), 10 * MINUTE);
  const brief = { lifecycle: { idleTimeout: '2m', maxLifetime: '24h' } };
  t.is(idleAt({ activeAt: NOW, busyAt: NOW }, brief), 3 * MINUTE);
  t.is(idleAt({ activeAt: NOW, busyAt: undefined }, brief), 2 * MINUTE);
  t.is(idleAt({ activeAt: NOW }, {}), undefined, 'never');
});

test('a Sandbox stops or goes in the millisecond in which it has been idle for long enough, and only while it is wanted', (t) => {
  const due = NOW + 9 * MINUTE;
  const running = sandbox('running', IDLE);
  const early = after(running, fired('idle'), due - 1);
  t.is((early.object.status as SandboxStatus).phase, 'Running');
  const stopped = after(running, fired('idle'), due);
  t.like(stopped.object.status, { phase: 'Stopping', stopReason: 'IdleTimeout' });
  t.is((stopped.object.spec as SandboxSpec).state, 'Stopped');
  const brief = sandbox('running', { lifecycle: { ...IDLE.lifecycle, onIdle: 'Delete' } });
  t.is((after(brief, fired('idle'), due - 1).object.status as SandboxStatus).phase, 'Running');
  t.regex(told(brief, fired('idle'), due), /^Terminating .*DeleteSelf/);
  const stopping = sandbox('stopping', { ...IDLE, state: 'Stopped' });
  t.is((after(stopping, fired('idle'), due).object.status as SandboxStatus).stopReason, undefined);
});

test('a Sandbox goes when its lifetime is over, in whichever state, and not before', (t) => {
  const over = Date.parse(BORN) + LIFETIME_MS;
  for (const state of ['running', 'stopped', 'failed', 'paused'] as const) {
    t.notRegex(told(sandbox(state), fired('expire'), over - 1), /DeleteSelf/, state);
    t.regex(told(sandbox(state), fired('expire'), over), /DeleteSelf/, state);
  }
});

test('a start or a stop that takes five minutes is reported once, and each anew', (t) => {
  const reports = (stored: Stored, now: number): number =>
    sayAll(ask(sandboxKind, stored, fired('stuck'), contextAt(now))).split('sandbox.stuck').length - 1;
  for (const state of ['placed', 'stopping', 'unsaved', 'ended'] as const) {
    const begun = sandbox(state);
    t.is(reports(begun, NOW + 5 * MINUTE - 1), 0, state);
    t.is(reports(begun, NOW + 5 * MINUTE), 1, state);
    const reported = after(begun, fired('stuck'), NOW + 5 * MINUTE);
    t.is(reports(reported, NOW + 60 * MINUTE), 0, state);
    t.false('stuck' in keptOf(reported).timers, 'there is nothing to wait for');
  }
  const runs = after(sandbox('placed'), hear(changed('Running')), NOW + MINUTE);
  t.is(keptOf(runs).transition, undefined);
  t.false('stuck' in keptOf(runs).timers);
  const object = { ...runs.object, spec: { ...Object(runs.object.spec), state: 'Stopped' } };
  const stops = after({ ...runs, object }, { type: 'Updated', before: runs.object }, NOW + 2 * MINUTE);
  t.is(keptOf(stops).timers['stuck'], NOW + 7 * MINUTE);
  t.is(reports(sandbox('running'), NOW + 60 * MINUTE), 0, 'what runs may run');
});

test('what was lost is brought back at once, then later and later, and fails when it was lost too often in a row', (t) => {
  const lost = (times: number, runningSince = NOW - MINUTE): SandboxPrivate =>
    keptOf(
      after(
        sandbox('running', {}, {}, { lost: times, live: { ...LIVE, runningSince } }),
        hear(changed('Failed', LOSS)),
        NOW,
      ),
    );
  for (const [before, seconds] of [
    [0, 0],
    [1, 1],
    [2, 2],
  ] as const) {
    t.like(lost(before), { lost: before + 1, notBefore: NOW + seconds * 1000, recovering: { reason: 'NodeLost' } });
  }
  const failed = [...Array(20).keys()].filter((times) => lost(times).failure !== undefined);
  t.is(failed[0], DEFAULT_MAX_ATTEMPTS, 'the one after the last that is allowed');
  t.like(lost(DEFAULT_MAX_ATTEMPTS), { recovering: undefined, failure: { reason: 'NodeLost' } });
  t.is(lost(2, NOW - 10 * MINUTE + 1).lost, 3);
  t.is(lost(2, NOW - 10 * MINUTE).lost, 1, 'it ran for ten minutes: a new row begins');
});

test('what a client writes into the spec stops a Sandbox in its name, or lets it try again; a label does neither', (t) => {
  const written = (stored: Stored, spec: object): Stored => {
    const object = { ...stored.object, spec: { ...Object(stored.object.spec), ...spec } };
    return after({ ...stored, object }, { type: 'Updated', before: stored.object, by: owner }, NOW);
  };
  const stopped = written(sandbox('running'), { state: 'Stopped' });
  t.like(stopped.object.status, { phase: 'Stopping', stopReason: 'Requested' });
  t.regex(keptOf(stopped).stopMessage ?? '', /ada@example\.org/);
  const idle = { ...(sandbox('stopped').object.status as SandboxStatus), stopReason: 'IdleTimeout' };
  const resting = { ...sandbox('stopped'), object: { ...sandbox('stopped').object, status: idle } };
  t.is(
    (written(resting, { env: [] }).object.status as SandboxStatus).stopReason,
    'IdleTimeout',
    'it was stopped before',
  );
  t.like(keptOf(written(sandbox('failed'), { env: [{ name: 'A', value: 'b' }] })), {
    failure: undefined,
    live: { epoch: 3 },
  });
  t.like(keptOf(written(sandbox('failed'), {})), { failure: { reason: 'StartupFailed' }, live: undefined });
  t.like(keptOf(written(sandbox('paused'), { env: [{ name: 'A', value: 'b' }] })), { lost: 0, live: { epoch: 3 } });
  t.like(keptOf(written(sandbox('paused'), {})), { lost: 3, live: undefined });
});

test('a failure is named by what the Attempt says, or by its exit code, and one before the program ran as a failed start', (t) => {
  const named = (state: 'running' | 'placed', more: object): unknown =>
    keptOf(after(sandbox(state), hear(changed('Failed', more)), NOW)).failure;
  const exit = { reason: 'CustomerExit', exitCode: 3 };
  t.deepEqual(named('running', exit), { reason: 'CustomerExit', message: 'exit code 3' });
  t.deepEqual(named('running', { ...exit, message: 'it broke' }), { reason: 'CustomerExit', message: 'it broke' });
  t.deepEqual(named('running', { reason: 'OutOfMemory' }), { reason: 'OutOfMemory', message: 'OutOfMemory' });
  t.deepEqual(named('placed', { reason: 'ImageNotFound' }), { reason: 'StartupFailed', message: 'ImageNotFound' });
  t.deepEqual(named('placed', { reason: 'ImageNotFound', message: 'no x:1' }), {
    ...{ reason: 'StartupFailed', message: 'ImageNotFound: no x:1' },
  });
  t.deepEqual(named('placed', exit), { reason: 'StartupFailed', message: 'CustomerExit: exit code 3' });
  t.deepEqual(named('running', { reason: 'CommandNotFound' }), {
    ...{ reason: 'StartupFailed', message: 'CommandNotFound' },
  });
  const full = { reason: 'CapacityUnavailable', message: 'it fits no machine' };
  t.deepEqual(named('placed', full), full);
});

test('a pause after a loss is over when its time has come, and a stop ends it', (t) => {
  const paused = sandbox('paused');
  t.is(told(paused, fired('start'), NOW + 1999), 'ArmTimer start 2');
  t.regex(told(paused, fired('start'), NOW + 2000), /^Recovering Made 3 .*CreateChild, AttemptSuperseded/);
  const object = { ...paused.object, spec: { ...Object(paused.object.spec), state: 'Stopped' } };
  const stopped = after({ ...paused, object }, { type: 'Updated', before: paused.object }, NOW);
  t.like(keptOf(stopped), { lost: 0, recovering: undefined, notBefore: undefined });
  t.is((stopped.object.status as SandboxStatus).phase, 'Stopped');
});

test('a deleted Sandbox drops its Attempt once, with a grace only where a command of its own can use it', (t) => {
  const GOING = { deletionTimestamp: BORN, finalizers: ['svc.dev/attempt'] };
  const gone = (spec: object, metadata: object): string =>
    told(sandbox('running', spec, { ...GOING, ...metadata }), { type: 'DeletionRequested' });
  const words = (grace: number): string =>
    `Terminating Running 2 stopping: ArmTimer resync 120, DropAttempt ${grace}, CancelTimer expire`;
  t.is(gone({}, {}), words(0));
  t.is(gone({}, { deletionGracePeriodSeconds: 5 }), words(0));
  t.is(gone({ command: ['sleep'] }, {}), words(30));
  t.is(gone({ command: ['sleep'] }, { deletionGracePeriodSeconds: 5 }), words(5));
  t.notRegex(told(sandbox('going'), { type: 'DeletionRequested' }), /DropAttempt/);
  t.is(told(sandbox('stopped', {}, GOING), { type: 'DeletionRequested' }), 'Terminating: CancelTimer expire');
});
