/**
 * Takes what an engine reports to the Attempt that it is about. An engine reports whole states; this turns each into the reports that
 * the Attempt has not had yet, takes collected outputs into blobs first, and delivers in order.
 *
 * I8: work that belongs to no Attempt which this process knows is removed.
 */
import { LRUCache } from 'lru-cache';
import type { Address } from '../../src/api/address.js';
import { RefusalError } from '../../src/api/refusal.js';
import type { ComputeEngine, OutputFile, WorkState } from '../../src/engines/compute/contract/engine.js';
import { machineFault } from '../../src/engines/compute/shared/machine-fault.js';
import { PATIENCE_MS } from '../../src/engines/compute/shared/retry.js';
import type { CollectedOutput } from '../../src/kinds/object-message.js';
import type { WorkReport } from '../../src/kinds/report.js';
import { delay } from '../wait.js';
import { parseWorkId, workId, type Attempts, type Recalled } from './attempts.js';
import { atMost } from '../../src/lru-bound.js';

/** `Done`: decided, or there is no such Attempt any more. `Parked`: the Attempt takes nothing until an operator restarts it. */
export type ReportDelivery = 'Done' | 'Retry' | 'Parked';

export interface ReportDeps {
  readonly engine: ComputeEngine;
  readonly attempts: Pick<Attempts, 'find'>;
  deliver(address: Address, uid: string, report: WorkReport): Promise<ReportDelivery>;
  /** Takes a collected file into the org's blobs. The Attempt keeps it from the commit on that names it. */
  keep(address: Address, output: OutputFile): Promise<CollectedOutput>;
  /** Each state as it comes, also one whose report is known already. */
  onState(state: WorkState): void;
  onRemoved(id: string): void;
  readonly stopping: AbortSignal;
  now(): number;
  onProblem(message: string): void;
}

export interface Reports {
  /** Begins to listen; everything that the engine has is reported again, so nothing is missed over a restart. */
  start(): Promise<void>;
  /** Resolves when nothing that was reported so far waits or is in hand, or after `ms`. */
  settled(ms: number): Promise<void>;
  /** After a start: work that should be on the engine and is not there is lost. */
  missLost(recalled: readonly Recalled[], pending: (uid: string) => boolean): Promise<void>;
  /** Proven removal is the answer of a call, not a state: reported by the effect that asked for it. */
  removed(address: Address, uid: string, epoch: number): Promise<ReportDelivery>;
}

/** Between looks whether all reports are handled. */
const LOOK_MS = 50;
const RETRY_MS = 500;
const MAX_RETRY_MS = 30_000;
/** Keeping outputs for longer than this is reported. Well below the time after which what was stopped is removed by force. */
const SLOW_MS = 10_000;
/** Works whose newest handled report is remembered; one that was forgotten is reported again, which changes nothing (I10). */
const MAX_HANDLED = 50_000;

export function openReports(deps: ReportDeps): Reports {
  /** The newest state per work that waits for its turn; an older one that was not handled yet is dropped (I10). */
  const waiting = new Map<string, WorkState>();
  const busy = new Set<string>();
  const handled = new LRUCache<string, number>(atMost(MAX_HANDLED));
  /** Since when outputs of a work cannot be kept; of works whose states are busy. */
  const unkeptSince = new Map<string, number>();

  function onState(state: WorkState): void {
    deps.onState(state);
    if ((handled.get(state.id) ?? -1) >= state.sequence) return;
    waiting.set(state.id, state);
    if (!busy.has(state.id)) void drain(state.id);
  }

  async function drain(id: string): Promise<void> {
    busy.add(id);
    let pause = RETRY_MS;
    for (let state = waiting.get(id); state && !deps.stopping.aborted; state = waiting.get(id)) {
      waiting.delete(id);
      try {
        await handle(state);
        handled.set(id, state.sequence);
        unkeptSince.delete(id);
        pause = RETRY_MS;
      } catch (error) {
        deps.onProblem(error instanceof Error ? error.message : String(error));
        if (!waiting.has(id)) waiting.set(id, state);
        await delay(pause, deps.stopping);
        pause = Math.min(pause * 2, MAX_RETRY_MS);
      }
    }
    busy.delete(id);
  }

  async function handle(state: WorkState): Promise<void> {
    const { uid, epoch } = parseWorkId(state.id);
    const attempt = deps.attempts.find(uid);
    if (attempt.found === 'Ended') return;
    if (attempt.found === 'None') {
      await deps.engine.remove(state.id, true, deps.stopping);
      return;
    }
    const { address } = attempt;
    // All at once into the mailbox, in order: the Attempt decides them in one fold.
    const reports = await reportsOf(state, epoch, address, uid);
    const deliveries = await Promise.all(reports.map((report) => deps.deliver(address, uid, report)));
    if (deliveries.some((delivery) => delivery !== 'Done')) throw new Error(`${state.id}: not taken yet`);
  }

  /** Reports that it goes on when it takes long: nothing may be removed meanwhile. */
  async function keepAll(state: WorkState, epoch: number, address: Address, uid: string): Promise<CollectedOutput[]> {
    const report = (error?: string): Promise<unknown> =>
      deps.deliver(address, uid, { report: 'Saving', epoch, time: deps.now(), error });
    const slow = setTimeout(() => void report(), SLOW_MS);
    try {
      const outputs: CollectedOutput[] = [];
      for (const output of state.outputs ?? []) {
        const kept = await keep(address, output, state.id, report);
        outputs.push(kept);
        if (output.vital !== true || output.error !== undefined || kept.error === undefined) continue;
        // The engine has it: it stays there until it can be kept here, such as when there is room in the quota again.
        await report(kept.error);
        throw new Error(`${state.id}: ${output.name} cannot be kept yet: ${kept.error}`);
      }
      return outputs;
    } finally {
      clearTimeout(slow);
    }
  }

  /**
   * An output that can never be kept (over the quota, no regular file) must not keep the end of the work from being reported, nor for ever
   * one for which there is no room, unless it is vital.
   */
  async function keep(
    address: Address,
    output: OutputFile,
    id: string,
    report: (error: string) => Promise<unknown>,
  ): Promise<CollectedOutput> {
    try {
      return await deps.keep(address, output);
    } catch (error) {
      let why = lastingFault(error, output.file);
      if (why === undefined) {
        const now = deps.now();
        const since = unkeptSince.get(id) ?? now;
        unkeptSince.set(id, since);
        why = passingFault(error);
        await report(why);
        if (output.vital === true || now - since < PATIENCE_MS) throw error;
      }
      return { name: output.name, size: output.size, directory: output.directory, sha256: '', error: why };
    }
  }

  async function deliverLater(address: Address, uid: string, report: WorkReport): Promise<void> {
    for (let pause = RETRY_MS; ; pause = Math.min(pause * 2, MAX_RETRY_MS)) {
      await delay(pause, deps.stopping);
      if (deps.stopping.aborted || (await deps.deliver(address, uid, report)) === 'Done') return;
    }
  }

  async function reportsOf(state: WorkState, epoch: number, address: Address, uid: string): Promise<WorkReport[]> {
    const now = deps.now();
    const { preparedAt, unrestored } = state;
    const started: WorkReport[] =
      state.startedAt === undefined
        ? []
        : [{ report: 'Started', epoch, time: state.startedAt, preparedAt, unrestored }];
    const ended = { epoch, time: state.endedAt ?? now };
    switch (state.phase) {
      case 'Preparing':
        return preparedAt === undefined ? [] : [{ report: 'Prepared', epoch, time: preparedAt }];
      case 'Running': {
        if (!state.saving) return started;
        return [...started, { report: 'Saving', epoch, time: now, error: state.saving.error }];
      }
      case 'Exited': {
        const outputs = await keepAll(state, epoch, address, uid);
        const { exitCode, signal, outOfMemory = false, reason, message } = state;
        return [...started, { report: 'Exited', ...ended, exitCode, signal, outOfMemory, outputs, reason, message }];
      }
      case 'StartFailed': {
        const reason = state.reason ?? 'StartFailed';
        return [{ report: 'StartFailed', ...ended, reason, message: state.message ?? '' }];
      }
      case 'Lost': {
        const outputs = await keepAll(state, epoch, address, uid);
        return [
          { report: 'Lost', ...ended, reason: state.reason ?? 'NodeLost', message: state.message ?? '', outputs },
        ];
      }
    }
  }

  return {
    async start() {
      await deps.engine.watch(onState, deps.onProblem, deps.stopping);
      for (const state of await deps.engine.list(deps.stopping)) onState(state);
    },
    async settled(ms) {
      const end = deps.now() + ms;
      while (busy.size > 0 && deps.now() < end && !deps.stopping.aborted) await delay(LOOK_MS, deps.stopping);
    },
    async missLost(recalled, pending) {
      // Whose start or end is still to be carried out is not missing; what was started before this look is in the list.
      const expected = recalled.filter(({ uid }) => !pending(uid));
      const there = new Set((await deps.engine.list(deps.stopping)).map(({ id }) => id));
      for (const { uid, address, epoch } of expected) {
        if (there.has(workId(uid, epoch)) || pending(uid)) continue;
        const message = 'the machine no longer knows of this work';
        const lost: WorkReport = { report: 'Lost', epoch, time: deps.now(), reason: 'NodeLost', message };
        // One that takes nothing now, such as a parked one, gets it later: nothing else would report it.
        if ((await deps.deliver(address, uid, lost)) !== 'Done') void deliverLater(address, uid, lost);
      }
    },
    removed(address, uid, epoch) {
      handled.delete(workId(uid, epoch));
      deps.onRemoved(workId(uid, epoch));
      return deps.deliver(address, uid, { report: 'Removed', epoch, time: deps.now() });
    },
  };
}

/** Undefined: it may pass. `file`: what was to be kept. */
function lastingFault(error: unknown, file: string): string | undefined {
  if (error instanceof RefusalError) return error.refusal.code === 'Unavailable' ? undefined : error.refusal.message;
  if (!(error instanceof Error && 'code' in error && 'path' in error && error.path === file)) return undefined;
  return error.code === 'ENOENT' || error.code === 'ELOOP' ? 'the collected file cannot be read' : undefined;
}

/** In words for clients, who are not to read of paths or of the database. */
function passingFault(error: unknown): string {
  if (error instanceof RefusalError) return error.refusal.message;
  return machineFault(error) ?? 'the service cannot keep it now';
}
