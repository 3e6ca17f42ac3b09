/** Whose fault it is that work did not begin or was ended: what is the machine's never counts against the customer. */
import test from 'ava';
import { judgeExit, faulty } from '../../../src/kinds/attempt/ending.js';
import { faultOfFiles, whoseFault } from '../../../src/kinds/attempt/faults.js';
import { failed, lastState, unexpected } from '../../../src/runner/work/outcome.js';

const MACHINE =
  'MachineDiskFull InputUnwritable SandboxFailed Unavailable RunnerLost NodeLost RetriesExhausted InternalError';
const CUSTOMER =
  'ImageNotFound CommandNotFound CommandNotExecutable WorkingDirNotFound InputFailed InitFailed DiskFull OutOfMemory TimedOut Stopped';

test('each fault has one who answers for it, and a fault that nobody knows is of what was asked for', (t) => {
  for (const reason of MACHINE.split(' ')) {
    t.is(whoseFault(reason), 'Machine', reason);
    t.true(faulty(reason, '').lost, reason);
    const exit = {
      report: 'Exited',
      epoch: 1,
      time: 1,
      exitCode: 137,
      outOfMemory: false,
      outputs: [],
      reason,
    } as const;
    t.true(judgeExit(exit, undefined).lost, reason);
    t.false(judgeExit(exit, 'Stopped').lost, reason);
  }
  for (const reason of [...CUSTOMER.split(' '), 'SecretNotFound', 'constructor', 'toString']) {
    t.is(whoseFault(reason), 'Customer', reason);
    t.false(faulty(reason, '').lost, reason);
  }
});

test('a full disk below the work is the machine’s, a box that its memory limit ended the customer’s', (t) => {
  for (const code of ['ENOSPC', 'EDQUOT']) {
    const error = Object.assign(new Error('no room'), { code });
    t.is(faultOfFiles(error, 'InputFailed'), 'MachineDiskFull');
    t.like(unexpected(error), { reason: 'MachineDiskFull' });
  }
  t.is(faultOfFiles(new Error('tar: ./a: Cannot write: No space left on device'), 'InputFailed'), 'MachineDiskFull');
  t.is(faultOfFiles(new Error('tar: This does not look like a tar archive'), 'InputFailed'), 'InputFailed');
  const before = { id: 'a.1', phase: 'Preparing', sequence: 1 } as const;
  const ended = { endedAt: 1, outputs: undefined };
  const box = failed('SandboxFailed', 'the box ended');
  t.is(lastState(before, box, undefined, { ...ended, outOfMemory: true }).reason, 'OutOfMemory');
  t.is(lastState(before, box, undefined, { ...ended, outOfMemory: false }).reason, 'SandboxFailed');
});

test('work that is ended for memory of the kernel says which, and one that its limit ended that', (t) => {
  const exit = { report: 'Exited', epoch: 1, exitCode: 137, outOfMemory: true, outputs: [], time: 1 } as const;
  const before = { id: 'a.1', phase: 'Running', sequence: 1, startedAt: 0 } as const;
  const end = { endedAt: 1, outputs: undefined, outOfMemory: false };
  const ending = { reason: 'OutOfMemory', message: 'locks' } as const;
  const state = lastState(before, { kind: 'exited', exitCode: 137 }, ending, end);
  t.like(state, { outOfMemory: true, reason: undefined, message: 'locks' });
  t.like(judgeExit({ ...exit, message: state.message }, undefined), { reason: 'OutOfMemory', message: 'locks' });
  const limit = { reason: 'OutOfMemory', message: 'the memory limit was reached' };
  t.like(judgeExit(exit, undefined), limit);
  // Said of something else.
  t.like(judgeExit({ ...exit, reason: 'TimedOut', message: 'too long' }, undefined), limit);
});
