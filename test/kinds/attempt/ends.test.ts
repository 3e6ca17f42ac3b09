/** What an Attempt's status says of its end: the exit, how long it had its place, and what a loss has cost. */
import test from 'ava';
import { attemptKind } from '../../../src/kinds/attempt/index.js';
import type { AttemptStatus } from '../../../src/kinds/attempt/schema.js';
import type { WorkReport } from '../../../src/kinds/report.js';
import { at, decided, objectOf, type Stored } from '../decide.js';

const OWNER = { apiVersion: 'svc.dev/v1', kind: 'Job', name: 'owner', uid: 'owner-uid', controller: true };
const ACQUIRED = Date.parse('2026-11-01T10:00:00.000Z');
const STARTED = Date.parse('2026-11-01T10:00:01.500Z');
const ENDED = Date.parse('2026-11-01T11:30:00.000Z');

const ran: Partial<AttemptStatus> = {
  phase: 'Running',
  timings: {
    acquiredTime: new Date(ACQUIRED).toISOString(),
    commandStartedTime: new Date(STARTED).toISOString(),
  },
};

function attempt(status: Partial<AttemptStatus>, kept: object): Stored {
  const object = objectOf(attemptKind, { epoch: 1, slot: 0 }, { namespace: 'a', ownerReferences: [OWNER] });
  return at({ ...object, status: { ...(object.status as AttemptStatus), ...status } }, kept);
}

function after(stored: Stored, report: WorkReport): { status: AttemptStatus; effects: readonly { type: string }[] } {
  const { object, effects } = decided(attemptKind, stored, { type: 'Reported', report });
  return { status: object.status as AttemptStatus, effects };
}

const exited = (how: object): WorkReport => ({ report: 'Exited', epoch: 1, time: ENDED, ...how }) as WorkReport;

test('an exit code is shown where there is one, a signal where one ended the program, and never the other', (t) => {
  const byCode = after(attempt(ran, { work: 'Live' }), exited({ exitCode: 3 })).status;
  t.is(byCode.exitCode, 3);
  t.false('signal' in byCode);
  const bySignal = after(attempt(ran, { work: 'Live' }), exited({ signal: 9 })).status;
  t.is(bySignal.signal, 9);
  t.false('exitCode' in bySignal);
});

test('the hours of an Attempt count from its place to its end, to a millionth', (t) => {
  t.is(after(attempt(ran, { work: 'Live' }), exited({ exitCode: 0 })).status.actual?.hours, 1.5);
  const shortly = { ...ran, timings: { acquiredTime: new Date(ENDED - 4).toISOString() } };
  t.is(after(attempt(shortly, { work: 'Live' }), exited({ exitCode: 0 })).status.actual?.hours, 0.000001);
  const never = { ...ran, timings: {} };
  t.is(after(attempt(never, { work: 'Live' }), exited({ exitCode: 0 })).status.actual, undefined);
});

test('a loss says how many seconds of work are lost, and none when the program had not begun', (t) => {
  const lost: WorkReport = { report: 'Lost', epoch: 1, time: ENDED, message: 'gone' } as WorkReport;
  const { interruption } = after(attempt(ran, { work: 'Live' }), lost).status;
  t.is(interruption?.lostSeconds, (ENDED - STARTED) / 1000);
  const waiting = { ...ran, phase: 'Provisioning' as const, timings: { acquiredTime: ran.timings?.acquiredTime } };
  t.is(after(attempt(waiting, { work: 'Live' }), lost).status.interruption?.lostSeconds, 0);
});

test('the timer of a stop is cancelled by the end, and only where one was armed', (t) => {
  const cancels = (kept: object): boolean =>
    after(attempt(ran, kept), exited({ exitCode: 0 })).effects.some(({ type }) => type === 'CancelTimer');
  t.true(cancels({ work: 'Live', stopping: 'Stopped' }));
  t.false(cancels({ work: 'Live' }));
});
