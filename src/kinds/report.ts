/**
 * What an engine reports about work, as the Attempt machine sees it. Every report carries its epoch,
 * and a report of an old epoch changes nothing (I8).
 */
import type { CollectedOutput } from './object-message.js';

interface ReportBase {
  readonly epoch: number;
  /** Milliseconds since the epoch. */
  readonly time: number;
}

export type WorkReport =
  /** The isolate exists; the init command or the program is about to run. */
  | (ReportBase & { readonly report: 'Prepared' })
  /** The program runs. */
  | (ReportBase & {
      readonly report: 'Started';
      /** When the isolate was there, in ms since the epoch, where the engine knows it. */
      readonly preparedAt?: number | undefined;
      /** What of its saved files could not be restored, and why. */
      readonly unrestored?: string | undefined;
    })
  /**
   * Nothing runs any more, and its outputs are being saved. That takes its time; with `error`, a vital one could not be saved yet
   * and stays where it is until it can.
   */
  | (ReportBase & { readonly report: 'Saving'; readonly error?: string | undefined })
  /** The program has ended and its outputs are collected. Exactly one of `exitCode` and `signal` is set. */
  | (ReportBase & {
      readonly report: 'Exited';
      readonly exitCode?: number | undefined;
      /** Signal number. */
      readonly signal?: number | undefined;
      /** The memory limit ended it. */
      readonly outOfMemory: boolean;
      readonly outputs: readonly CollectedOutput[];
      /** Why the engine ended it, when it did so by itself: `DiskFull`, … */
      readonly reason?: string | undefined;
      readonly message?: string | undefined;
    })
  /** The work could not be started or went wrong before the program ran (image missing, input missing, full disk, …). */
  | (ReportBase & {
      readonly report: 'StartFailed';
      /** Of `attempt/faults.ts`, which says whose fault it is. */
      readonly reason: string;
      readonly message: string;
    })
  /** The engine has lost it: runner or machine died. `outputs`: what could still be collected. */
  | (ReportBase & {
      readonly report: 'Lost';
      readonly reason: string;
      readonly message: string;
      readonly outputs?: readonly CollectedOutput[] | undefined;
    })
  /** It is proven that nothing of the work is left running. */
  | (ReportBase & { readonly report: 'Removed' });
