/**
 * Whose fault it is that work did not begin, or was ended by its engine: one table for all engines. What raises a fault names it by a reason
 * of this table, so the place that knows what happened decides it. A fault of the machine says nothing about the work: it is replaced
 * (`recovery`), and uses up nothing of `backoffLimit`. Pure.
 */

export type Whose = 'Machine' | 'Customer';

const WHOSE = {
  /** The order itself. */
  ImageNotFound: 'Customer',
  ImagePullFailed: 'Customer',
  CommandNotFound: 'Customer',
  CommandNotExecutable: 'Customer',
  WorkingDirNotFound: 'Customer',
  InputFailed: 'Customer',
  InitFailed: 'Customer',
  /** The work's own limits. */
  DiskFull: 'Customer',
  OutOfMemory: 'Customer',
  TimedOut: 'Customer',
  Stopped: 'Customer',
  /** The machine's disk, or that of the service. */
  MachineDiskFull: 'Machine',
  InputUnwritable: 'Machine',
  /** A box could not be made, or ended before the program ran. */
  SandboxFailed: 'Machine',
  /** No engine, no place, no journal. */
  Unavailable: 'Machine',
  RunnerLost: 'Machine',
  /** The service did not say that it is paid any longer: it was away, or its database. */
  FundingUnknown: 'Machine',
  NodeLost: 'Machine',
  /** Of effects: what was tried again and again, and what the service itself did wrong. */
  RetriesExhausted: 'Machine',
  InternalError: 'Machine',
} as const satisfies Readonly<Record<string, Whose>>;

export type FaultReason = keyof typeof WHOSE;

/** A reason that is not in the table names what the customer asked for, such as a Secret that does not exist. */
export function whoseFault(reason: string): Whose {
  return Object.hasOwn(WHOSE, reason) ? WHOSE[reason as FaultReason] : 'Customer';
}

/** For a reason that another program has said. */
export function knownFault(reason: string): FaultReason {
  return Object.hasOwn(WHOSE, reason) ? (reason as FaultReason) : 'SandboxFailed';
}

/** What an error of the system means where files of work are written: a full disk is the machine's, since work has limits of its own. */
export function faultOfFiles(error: unknown, otherwise: FaultReason): FaultReason {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  const full =
    code === 'ENOSPC' || code === 'EDQUOT' || /No space left on device|Disk quota exceeded/i.test(String(message));
  return full ? 'MachineDiskFull' : otherwise;
}
