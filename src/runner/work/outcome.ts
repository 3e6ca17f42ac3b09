/** How work ended: what its programs and the isolation said becomes data, and the data becomes the last state. Pure. */
import { faultOfFiles, type FaultReason } from '../../kinds/attempt/faults.js';
import {
  executableNameTooLong,
  executableNotFound,
  shownName,
  TOO_LONG,
} from '../../engines/compute/shared/not-found.js';
import type { OrderedProcess, OutputFile, WorkState } from '../../engines/compute/contract/engine.js';
import type { Exit } from '../process/launch.js';

/** How the work ended. */
export type Outcome =
  | { readonly kind: 'exited'; readonly exitCode: number }
  | {
      readonly kind: 'failed';
      readonly reason: FaultReason;
      readonly message: string;
      readonly exitCode?: number | undefined;
    };

/** Why the runner itself ended the work; the first reason counts. */
export interface Ending {
  readonly reason: 'Stopped' | 'TimedOut' | 'DiskFull' | 'OutOfMemory' | 'Unavailable' | 'FundingUnknown';
  readonly message: string;
}

/** Whatever made the runner end the work is the reason, unless it was asked for by `stop` and main ran. */
export function lastState(
  before: WorkState,
  outcome: Outcome,
  ending: Ending | undefined,
  end: {
    readonly endedAt: number;
    readonly outOfMemory: boolean;
    readonly outputs: readonly OutputFile[] | undefined;
  },
): WorkState {
  const { endedAt, outputs } = end;
  const outOfMemory = end.outOfMemory || ending?.reason === 'OutOfMemory' || undefined;
  const why = ending?.reason === 'Stopped' || ending?.reason === 'OutOfMemory' ? undefined : ending;
  const next = {
    ...before,
    processes: undefined,
    saving: undefined,
    endedAt,
    sequence: before.sequence + 1,
    exitCode: outcome.exitCode,
    outOfMemory,
  };
  switch (outcome.kind) {
    case 'exited':
      return {
        ...next,
        phase: 'Exited',
        startedAt: before.startedAt ?? endedAt,
        signal: signalOf(outcome.exitCode),
        reason: why?.reason,
        // Of memory that the limit does not bound, since the kernel counts it for nobody.
        message: ending?.reason === 'OutOfMemory' ? ending.message : why?.message,
        outputs,
      };
    case 'failed':
      return { ...next, phase: 'StartFailed', startedAt: undefined, ...faultOf(outcome, end.outOfMemory) };
  }
}

/** A box that ended for want of the memory that its order gives it. */
function faultOf(
  { reason, message }: Outcome & { kind: 'failed' },
  outOfMemory: boolean,
): Pick<WorkState, 'reason' | 'message'> {
  const short = outOfMemory && reason === 'SandboxFailed';
  return short
    ? { reason: 'OutOfMemory', message: 'the memory limit was reached before the program ran' }
    : { reason, message };
}

/** The end of work whose runner died. */
export function lostState(before: WorkState, endedAt: number): WorkState {
  const message = 'the runner died while the work was under way';
  return { ...before, phase: 'Lost', reason: 'RunnerLost', message, endedAt };
}

export function unexpected(error: unknown): Outcome {
  // Of all that is spawned for work, only the command of its order can be that long.
  if ((error as NodeJS.ErrnoException).code === 'E2BIG')
    return failed('CommandNotExecutable', `the command: ${TOO_LONG}`);
  return failed(faultOfFiles(error, 'SandboxFailed'), (error as Error).message);
}

export function failed(reason: FaultReason, message: string, exitCode?: number): Outcome & { kind: 'failed' } {
  return { kind: 'failed', reason, message, exitCode };
}

/** Where a process is bounded by rlimits, the program that sets them is executed in its place, and fails in its place. */
export function wasExecuted(exit: Exit): boolean {
  return (
    exit.executed &&
    !(exit.exitCode >= 126 && exit.exitCode <= 127 && exit.error.startsWith('prlimit: failed to execute'))
  );
}

/** What the isolation said when it could not execute a command. */
export function notExecuted(
  process: Pick<OrderedProcess, 'command'>,
  exit: Exit,
): Outcome & { readonly kind: 'failed' } {
  const text = exit.error.trim().split('\n')[0] ?? '';
  const [name = ''] = process.command;
  const shown = shownName(name);
  if (/chdir/.test(text)) return failed('WorkingDirNotFound', text);
  if (/exec.*No such file|not found/.test(text)) return failed('CommandNotFound', executableNotFound(name));
  if (/exec.*File name too long/.test(text)) return failed('CommandNotFound', executableNameTooLong(name));
  if (/exec.*Argument list too long/.test(text)) return failed('CommandNotExecutable', `${shown}: ${TOO_LONG}`);
  if (/exec/.test(text)) return failed('CommandNotExecutable', `${shown} cannot be executed: ${shownName(text)}`);
  return failed('SandboxFailed', text === '' ? `the sandbox ended with ${exit.exitCode}` : text);
}

/** By the convention of shells and container daemons: 128 + n means ended by signal n. */
function signalOf(exitCode: number): number | undefined {
  return exitCode > 128 && exitCode <= 128 + 64 ? exitCode - 128 : undefined;
}
