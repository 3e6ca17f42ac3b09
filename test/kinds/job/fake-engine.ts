/**
 * An engine that runs nothing: work that was started waits until it is told to go on, and then comes to the end that
 * it was born for. Keeps the rules of the real ones: a start is idempotent by id, what was said is said again after a
 * crash, and reports of one piece of work come in order.
 */
import type { Address } from '../../../src/api/address.js';
import type { CollectedOutput } from '../../../src/kinds/object-message.js';
import type { WorkReport } from '../../../src/kinds/report.js';

/** `hang`: does not even heed a stop. `stay`: runs until it is stopped. `save`: the same, and then it takes a second try to save it. */
export type Fate =
  | 'succeed'
  | 'fail'
  | 'outOfMemory'
  | 'startFailed'
  | 'notFound'
  | 'startLost'
  | 'noRoom'
  | 'lost'
  | 'hang'
  | 'stay'
  | 'save';

export interface Work {
  readonly id: string;
  readonly attempt: Address;
  readonly uid: string;
  readonly epoch: number;
  readonly fate: Fate;
  readonly outputs?: readonly CollectedOutput[] | undefined;
  ended: boolean;
  saving?: boolean;
  readonly said: WorkReport[];
}

export interface PendingReport {
  readonly work: Work;
  readonly report: WorkReport;
}

export class FakeEngine {
  readonly works = new Map<string, Work>();
  /** Work that was started although it had been started before. */
  readonly startedAgain = new Set<string>();
  readonly #started = new Set<string>();
  #waiting: PendingReport[] = [];

  start(work: Omit<Work, 'ended' | 'said'>, now: number): void {
    if (this.works.has(work.id)) return;
    if (this.#started.has(work.id)) this.startedAgain.add(work.id);
    this.#started.add(work.id);
    const begun: Work = { ...work, ended: false, said: [] };
    this.works.set(work.id, begun);
    const base = { epoch: work.epoch, time: now };
    if (work.fate === 'startFailed') {
      this.#end(begun, { report: 'StartFailed', ...base, reason: 'InputFailed', message: '' });
    } else if (work.fate === 'notFound') {
      const message = 'main: executable "nope" not found in PATH';
      this.#end(begun, { report: 'StartFailed', ...base, reason: 'CommandNotFound', message });
    } else if (work.fate === 'startLost') {
      this.#end(begun, { report: 'StartFailed', ...base, reason: 'RunnerLost', message: '' });
    } else if (work.fate === 'noRoom') {
      this.#end(begun, { report: 'StartFailed', ...base, reason: 'MachineDiskFull', message: '' });
    } else {
      this.#say(begun, { report: 'Started', ...base });
    }
  }

  stop(id: string, now: number): void {
    const work = this.works.get(id);
    if (work === undefined || work.ended || work.fate === 'hang') return;
    if (work.fate === 'save') {
      if (work.saving !== true) this.#say(work, { report: 'Saving', epoch: work.epoch, time: now, error: 'no room' });
      work.saving = true;
      return;
    }
    this.#stopped(work, now);
  }

  #stopped(work: Work, now: number): void {
    const { epoch, outputs = [] } = work;
    this.#end(work, { report: 'Exited', epoch, time: now, signal: 15, outOfMemory: false, outputs });
  }

  remove(id: string): void {
    this.works.delete(id);
  }

  /** Programs that can come to their end now. */
  running(): readonly Work[] {
    return [...this.works.values()].filter(
      ({ ended, fate, saving }) => !ended && fate !== 'hang' && fate !== 'stay' && (fate !== 'save' || saving === true),
    );
  }

  goOn(work: Work, now: number): void {
    const base = { epoch: work.epoch, time: now };
    if (work.fate === 'lost') {
      this.#end(work, { report: 'Lost', ...base, reason: 'RunnerLost', message: 'the runner died' });
      return;
    }
    if (work.fate === 'save') {
      this.#stopped(work, now);
      return;
    }
    const good = work.fate === 'succeed';
    const outputs = work.outputs ?? (good ? [{ name: 'outputs', sha256: 'ab'.repeat(32), size: 1 }] : []);
    const outOfMemory = work.fate === 'outOfMemory';
    this.#end(work, { report: 'Exited', ...base, exitCode: good ? 0 : 1, outOfMemory, outputs });
  }

  waiting(): readonly PendingReport[] {
    return this.#waiting;
  }

  /** The oldest report of the same work. */
  take({ work }: PendingReport): PendingReport | undefined {
    const at = this.#waiting.findIndex((said) => said.work === work);
    return at < 0 ? undefined : this.#waiting.splice(at, 1)[0];
  }

  /** Whoever listens now has heard nothing yet. */
  sayAgain(): void {
    this.#waiting = [...this.works.values()].flatMap((work) => work.said.map((report) => ({ work, report })));
  }

  #end(work: Work, report: WorkReport): void {
    work.ended = true;
    this.#say(work, report);
  }

  #say(work: Work, report: WorkReport): void {
    work.said.push(report);
    this.#waiting.push({ work, report });
  }
}
