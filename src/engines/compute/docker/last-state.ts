/** The last state of a box, from what its first process has said and how its container ended. Pure. */
import { FUNDING_UNKNOWN_MESSAGE, type WorkState } from '../contract/engine.js';
import type { BoxRecord } from './records.js';

/** How a container ended. */
export interface Over {
  readonly code: number | undefined;
  readonly outOfMemory: boolean;
}

/** What the first process has said of the end. */
export type SaidEnd = BoxRecord & { readonly kind: 'failed' | 'exited' };

const LATE = 'the main program ran longer than it may';
const FULL = 'took more than its limit of disk';

/** But for the outputs of what has `Exited`. `stopping`: it was asked to end; `fullOf`: how its files were too many. */
export function lastState(
  before: WorkState,
  end: SaidEnd | undefined,
  over: Over,
  {
    endedAt,
    stopping,
    fullOf,
  }: { readonly endedAt: number; readonly stopping: boolean; readonly fullOf?: string | undefined },
): WorkState {
  const base = { ...before, endedAt, processes: undefined, saving: undefined };
  if (end?.kind === 'failed') {
    const { reason, exitCode, message } = end;
    return { ...base, phase: 'StartFailed', startedAt: undefined, reason, exitCode, message };
  }
  if (end === undefined && !stopping && !over.outOfMemory) {
    const message = over.code === undefined ? 'the container was removed' : `the container ended with ${over.code}`;
    return { ...base, phase: 'Lost', reason: 'RunnerLost', message };
  }
  const exitCode = end?.exitCode ?? 137;
  const reason = end?.reason;
  const short = over.outOfMemory || end?.outOfMemory === true;
  const outOfMemory = (exitCode === 137 && short && reason === undefined && !stopping) || undefined;
  const signal = exitCode > 128 && exitCode <= 192 ? exitCode - 128 : undefined;
  const message = reason && messageOf(reason, fullOf);
  const startedAt = before.startedAt ?? endedAt;
  return { ...base, phase: 'Exited', startedAt, exitCode, signal, outOfMemory, reason, message };
}

function messageOf(reason: NonNullable<(SaidEnd & { readonly kind: 'exited' })['reason']>, fullOf?: string): string {
  switch (reason) {
    case 'TimedOut':
      return LATE;
    case 'DiskFull':
      return `its files ${fullOf ?? FULL}`;
    case 'FundingUnknown':
      return FUNDING_UNKNOWN_MESSAGE;
  }
}
