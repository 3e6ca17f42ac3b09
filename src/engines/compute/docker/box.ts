/**
 * One live piece of work: the container, what its first process has said so far, and the state that follows from it. It keeps nothing
 * that the daemon does not: after a restart of the service the same records are read again, and give the same state, processes and logs.
 *
 * Preparing → Running → (the container ends) → Exited | StartFailed | Lost. The end is told once outputs are taken, logs are written, and
 * the state is on the disk (`finished-work.ts`); then the container goes.
 *
 * What the box prints is heard live, as it is attached to; only what was said while nobody listened is read from the daemon's log, whose
 * followers lose and repeat lines whenever it rotates. Each record says its place in its stream, so repeats and gaps are seen.
 *
 * Logs are the same files as the embedded engine's, written anew from the daemon's when a service comes back. The daemon keeps more than
 * `logBytes` of each box (see `container.ts`); what it cut nevertheless is told of by a system line.
 */
import { rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Readable } from 'node:stream';
import type { Container } from 'dockerode';
import type { OutputFile, ProcessState, WorkState } from '../contract/engine.js';
import { shownCommand } from '../shared/shown-command.js';
import { NETWORK_LOG, type EgressSession } from '../shared/egress/egress-session.js';
import { journalEnd } from '../shared/journal-end.js';
import { completeLogs } from '../shared/log/complete.js';
import type { WorkLogSpace } from '../shared/log/org-logs.js';
import { LogWriter } from '../shared/log/writer.js';
import { patience, type Patience } from '../shared/retry.js';
import { saveOutputs } from '../shared/save-outputs.js';
import { Control } from './control.js';
import { found, statusOf } from './daemon.js';
import { Demux } from './demux.js';
import type { Kept } from './labels.js';
import { lastState, type Over, type SaidEnd } from './last-state.js';
import { noteLine, readLine } from './order-lines.js';
import { RecordReader, type BoxRecord } from './records.js';

/** Logs of so many processes of one box; what more print is dropped. Hostile code may make up names. */
const MAX_LOGS = 256;
/** Ended detached processes that are remembered. */
const MAX_PROCESSES = 100;
/** A broken stream to the daemon is opened again after this, doubled up to the second. */
const RETRY_MS = [50, 2_000] as const;
/** Pauses between looks at a container whose stream broke, first and last: half a second in all. */
const ENDING_MS = [25, 400] as const;

export interface BoxDeps {
  readonly epoch: number;
  readonly logDirectory: string;
  readonly logSpace: WorkLogSpace;
  readonly now: () => number;
  onState(state: WorkState): void;
  onGrown(): void;
  /** Takes the outputs of the container, which has ended, but for those that an earlier try has settled. */
  collect(
    found: ReadonlyMap<string, BoxRecord & { readonly kind: 'output' }>,
    settled: readonly OutputFile[],
  ): Promise<OutputFile[]>;
  /** Resolves when the end is on the disk. */
  journalEnd(state: WorkState): Promise<void>;
  /** The daemon need not keep it any more. */
  onEnded(): void;
  report(line: string): void;
}

interface Log {
  readonly writer: LogWriter;
  bytes: number;
}

export class Box {
  readonly id: string;
  readonly container: Container;
  readonly kept: Kept;
  readonly control: Control;
  /** Resolves with the first state that the box itself told, or its end. */
  readonly taken: Promise<void>;
  state: WorkState;
  /** The service asked for the end: being killed is no loss then. */
  stopping = false;
  /** It goes by our will: nothing of it is told any more. */
  removed = false;
  /** What the disk is too full of. */
  fullOf: string | undefined;
  private readonly deps: BoxDeps;
  private readonly processes = new Map<string, ProcessState>();
  private readonly logs = new Map<string, Log>();
  private readonly outputs = new Map<string, BoxRecord & { readonly kind: 'output' }>();
  private readonly closed = new AbortController();
  /** Nobody wants what it leaves. */
  private readonly abandoned = new AbortController();
  private end: SaidEnd | undefined;
  private last = 0;
  private recordTime = 0;
  private egress: EgressSession | undefined;
  private live: Readable | undefined;
  private following: Promise<void> | undefined;
  private tellTaken: () => void = () => undefined;
  private concluding = false;

  constructor(id: string, container: Container, kept: Kept, deps: BoxDeps) {
    this.id = id;
    this.container = container;
    this.kept = kept;
    this.deps = deps;
    this.control = new Control(container);
    this.state = { id, phase: 'Preparing', sequence: 0, preparedAt: kept.preparedAt };
    this.taken = new Promise((resolve) => {
      this.tellTaken = resolve;
    });
  }

  /** Said with each state from now on. */
  noteUnrestored(unrestored: string): void {
    this.state = { ...this.state, unrestored };
  }

  get running(): boolean {
    return this.state.phase === 'Running' && this.end === undefined && !this.removed;
  }

  /** No line of this log comes any more. */
  logEnded(container: string): boolean {
    if (this.state.endedAt !== undefined || this.removed) return true;
    const process = this.processes.get(container.replace(/^process-/, ''));
    return container.startsWith('process-') && (process === undefined || process.ended !== undefined);
  }

  /** True when its first process has got its order. */
  get ordered(): boolean {
    return this.last > 0;
  }

  /** Opens the only way out, for a container that runs. Throws what stands against it. */
  async openOutward(pid: number, egress: EgressSession): Promise<void> {
    this.egress = egress;
    await egress.open(pid);
  }

  /** One line of the log of connections. */
  note(line: string): void {
    const data = Buffer.from(`${line}\n`);
    const direct = (): void => {
      const before = this.logs.get(NETWORK_LOG)?.bytes ?? 0;
      const record = {
        kind: 'log',
        name: NETWORK_LOG,
        stream: 'stdout',
        at: this.deps.now(),
        before,
        linesBefore: 0,
        data,
      } as const;
      void this.write(record, true).then(() => this.deps.onGrown());
    };
    // With the box gone, nobody says it for the daemon to keep: but then the log is about to be whole.
    if (this.end !== undefined || this.removed || this.concluding) direct();
    else this.control.send(noteLine(this.deps.epoch, line)).catch(direct);
  }

  /** Begins to listen; to be done before the container starts, or nothing of its beginning is heard live. Throws the daemon's errors. */
  async listen(): Promise<void> {
    const live = (await this.container.attach({ stream: true, stdout: true })) as unknown as Readable;
    live.on('error', () => undefined);
    // Nobody would ever end it.
    if (this.closed.signal.aborted) live.destroy();
    this.live = live;
  }

  /** Reads what the daemon kept from before, its logs anew, and listens. Throws the daemon's errors. */
  async catchUp(): Promise<void> {
    await rm(this.deps.logDirectory, { recursive: true, force: true });
    // In this order nothing falls between; what comes twice is known by its place.
    await this.listen();
    await this.readKept();
  }

  /** What is missing here is missing for good. */
  private async readKept(): Promise<void> {
    const stream = await this.container.logs({ follow: false, stdout: true });
    const demux = new Demux();
    const read = this.readAll(demux, true);
    demux.end(stream);
    await read;
  }

  follow(): void {
    this.following ??= this.run().catch((error: unknown) => {
      if (!this.closed.signal.aborted) this.deps.report(`${this.id}: ${(error as Error).message}`);
    });
  }

  allProcesses(): readonly ProcessState[] {
    return [...this.processes.values()];
  }

  process(id: string): ProcessState | undefined {
    return this.processes.get(id);
  }

  /** Leaves the container alone. */
  async close(): Promise<void> {
    this.closed.abort();
    await this.egress?.close();
    this.control.close();
    await this.following;
    this.live?.destroy();
    // The next service writes them anew from the daemon's.
    await this.giveUpLogs();
  }

  /** The container is gone by our will: what it still said is written, nothing is reported. */
  async forget(): Promise<void> {
    this.removed = true;
    this.abandoned.abort();
    this.control.end();
    const timer = setTimeout(() => this.closed.abort(), 10_000);
    await this.following;
    clearTimeout(timer);
    this.live?.destroy();
    await this.egress?.close();
    await this.giveUpLogs();
    this.deps.onGrown();
  }

  private async run(): Promise<void> {
    for (let wait: number = RETRY_MS[0]; ; wait = Math.min(wait * 2, RETRY_MS[1])) {
      let gap = false;
      try {
        if (this.live === undefined) {
          await this.listen();
          await this.readKept();
        }
        const live = this.live as Readable;
        const stop = (): void => void live.destroy();
        this.closed.signal.addEventListener('abort', stop, { once: true });
        const demux = new Demux();
        live.pipe(demux);
        // It may be over already, and says that once.
        if (live.closed) demux.end();
        else live.once('close', () => demux.end());
        try {
          await this.readAll(demux, false);
        } finally {
          this.closed.signal.removeEventListener('abort', stop);
          live.destroy();
          this.live = undefined;
        }
        wait = RETRY_MS[0];
      } catch (error) {
        this.live = undefined;
        // 409 and 404: it has ended, or is gone.
        const status = statusOf(error);
        gap = error instanceof Gap;
        if (status === undefined && !gap && !this.closed.signal.aborted)
          this.deps.report(`${this.id}: ${(error as Error).message}`);
      }
      const over = await (gap ? this.over() : this.awaitOver());
      if (this.closed.signal.aborted || this.removed) return;
      if (over !== undefined) {
        // The daemon may have been away at its end.
        if (this.end === undefined) await this.readKept().catch(() => undefined);
        return this.conclude(over);
      }
      await delay(wait, undefined, { signal: this.closed.signal }).catch(() => undefined);
    }
  }

  /**
   * A daemon may say for a moment that what has ended runs; asked to listen to it then, Podman makes it ready to run again, and its end
   * is forgotten. So one that has told its end is waited for, and one whose stream broke for a while.
   */
  private async awaitOver(): Promise<Over | undefined> {
    for (let pause: number = ENDING_MS[0]; ; pause *= 2) {
      const over = await this.over();
      if (over !== undefined || this.closed.signal.aborted || this.removed) return over;
      if (this.end === undefined && pause > ENDING_MS[1]) return undefined;
      await delay(Math.min(pause, RETRY_MS[1]), undefined, { signal: this.closed.signal }).catch(() => undefined);
    }
  }

  /** How the container ended; undefined while it runs or nobody can tell. */
  private async over(): Promise<Over | undefined> {
    try {
      const info = await found(this.container.inspect());
      if (info === undefined) return { code: undefined, outOfMemory: false };
      if (info.State.Running || (info.State.Status === 'created' && this.end === undefined)) return undefined;
      return { code: info.State.ExitCode, outOfMemory: info.State.OOMKilled };
    } catch {
      return undefined;
    }
  }

  private async readAll(stream: Readable, kept: boolean): Promise<void> {
    const reader = new RecordReader();
    for await (const chunk of stream) {
      for (const record of reader.read(chunk as Buffer)) await this.receive(record, kept);
      this.deps.onGrown();
      if (this.closed.signal.aborted) return;
    }
  }

  private async receive(record: BoxRecord, kept: boolean): Promise<void> {
    switch (record.kind) {
      case 'log':
        return this.write(record, kept);
      case 'answer':
        this.control.answered(record.request, record);
        return;
      case 'mark':
        if (!kept) void this.control.send(readLine(this.deps.epoch, record.sent)).catch(() => undefined);
        return;
      case 'output':
        if (this.outputs.size <= this.kept.outputs.length) this.outputs.set(record.name, record);
        return;
      case 'process':
        return this.heardOf(record);
      case 'taken':
        this.next(record.sequence, {});
        this.tellTaken();
        return;
      case 'running':
        if (this.state.startedAt === undefined) this.next(record.sequence, { phase: 'Running', startedAt: record.at });
        this.tellTaken();
        return;
      case 'failed':
      case 'exited':
        this.last = Math.max(this.last, record.sequence);
        this.end ??= record;
        this.control.end();
        this.tellTaken();
        return;
    }
  }

  private next(sequence: number, change: Partial<WorkState>): void {
    if (sequence <= this.last || this.end !== undefined) return;
    this.last = sequence;
    this.state = { ...this.state, ...change, sequence };
    if (!this.removed) this.deps.onState(this.state);
  }

  private async heardOf(record: BoxRecord & { readonly kind: 'process' }): Promise<void> {
    const { id, startedAt, endedAt, exitCode, timedOut, command } = record;
    const before = this.processes.get(id);
    if (before?.ended !== undefined) return;
    // A client that hears of the end finds the whole log.
    if (endedAt !== undefined) await this.logs.get(`process-${id}`)?.writer.end();
    const ended = endedAt === undefined ? undefined : { at: endedAt, exitCode, timedOut };
    this.processes.set(id, { id, command: before?.command ?? shownCommand(command), startedAt, ended });
    for (const old of this.processes.values()) {
      if (this.processes.size <= MAX_PROCESSES * 2) break;
      if (old.ended !== undefined) this.processes.delete(old.id);
    }
    const running = [...this.processes.values()].filter((process) => process.ended === undefined).length;
    this.next(record.sequence, { processes: running });
  }

  private async write(record: BoxRecord & { readonly kind: 'log' }, kept: boolean): Promise<void> {
    const { name, stream, at, before, data } = record;
    let log = this.logs.get(name);
    if (log === undefined) {
      if (this.logs.size >= MAX_LOGS) return;
      const now = (): number => this.recordTime;
      const { logDirectory, logSpace } = this.deps;
      const onGrown = (): void => this.deps.onGrown();
      const writer = new LogWriter(logDirectory, name, this.kept.logBytes, now, onGrown, logSpace);
      log = { writer, bytes: 0 };
      this.logs.set(name, log);
    }
    if (before < log.bytes) return;
    if (before > log.bytes && !kept) throw new Gap();
    // Times do not go back, whatever the box says.
    this.recordTime = Math.max(this.recordTime, Math.min(at, this.deps.now()));
    if (before > log.bytes) {
      log.writer.system(
        `[the log is longer than is kept: ${before - log.bytes} bytes before line ${record.linesBefore + 1} were cut]`,
      );
    }
    log.bytes = before + data.length;
    if (log.writer.feed(stream, data)) return;
    const { writer } = log;
    await new Promise<void>((ready) => writer.whenReady(ready));
  }

  private async conclude(over: Over): Promise<void> {
    const { end } = this;
    this.concluding = true;
    this.control.end();
    await this.egress?.close();
    const endedAt = end?.at ?? this.deps.now();
    const limit = patience(this.deps.now, AbortSignal.any([this.closed.signal, this.abandoned.signal]));
    let state = lastState(this.state, end, over, { endedAt, stopping: this.stopping, fullOf: this.fullOf });
    if (state.phase === 'Exited' && this.kept.outputs.length > 0) state = { ...state, outputs: await this.save(limit) };
    if (this.closed.signal.aborted) return;
    await this.completeLogs(limit);
    if (this.closed.signal.aborted) return;
    const numbered = (): WorkState => ({ ...state, sequence: this.last + 1 });
    if (!this.removed) await journalEnd(numbered, this.deps, limit, (saving) => this.waits(saving));
    if (this.closed.signal.aborted) return;
    state = numbered();
    this.state = state;
    this.tellTaken();
    this.deps.onGrown();
    if (!this.removed) this.deps.onState(state);
    this.deps.onEnded();
  }

  private save(limit: Patience): Promise<readonly OutputFile[]> {
    return saveOutputs({
      outputs: this.kept.outputs,
      collect: (settled) => this.deps.collect(this.outputs, settled),
      report: (saving) => this.waits(saving),
      patience: limit,
    });
  }

  /** Until then the container stays, and the work has not ended. */
  private waits(saving: NonNullable<WorkState['saving']>): void {
    if (this.removed) return;
    this.last++;
    this.state = { ...this.state, sequence: this.last, saving };
    this.deps.onState(this.state);
  }

  private async completeLogs(limit: Patience): Promise<void> {
    await Promise.all([...this.logs.values()].map(({ writer }) => writer.end()));
    await completeLogs(
      [...this.logs].map(([name, { writer }]) => [name, writer] as const),
      limit,
      (error) => this.waits({ error }),
      (line) => this.deps.report(`${this.id}: ${line}`),
    );
  }

  private async giveUpLogs(): Promise<void> {
    await Promise.all([...this.logs.values()].map(({ writer }) => writer.giveUp()));
  }
}

/** Something of a log was left out by the daemon. */
class Gap extends Error {}
