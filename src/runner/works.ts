/**
 * All work of this runner: takes orders, remembers what ended until it is removed, fences by lease epoch, tells watchers.
 *
 * W1 An order is in the journal before it is answered, and its process may start meanwhile: if the record is lost with the
 *    machine, so is the process. W2 An id runs once: a second order for it changes nothing. W3 Orders of a lower epoch than
 *    the highest seen are refused (I8). Bounds (I10): `maxLive` and `maxKept`; beyond either a new order is refused as Busy.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type {
  ExecOrder,
  OrderedProcess,
  ProcessOrder,
  ProcessStart,
  TerminalSize,
  WorkState,
} from '../engines/compute/contract/engine.js';
import type { JournalContents } from './journal/format.js';
import { Journal } from './journal/journal.js';
import type { OrgLogs } from '../engines/compute/shared/log/org-logs.js';
import { isPlainName } from '../engines/compute/shared/plain-name.js';
import { Refused, type WireOrder } from './protocol/messages.js';
import type { WorkDeps } from './work/deps.js';
import type { Listener, Session } from './agent/session.js';
import type { RunningCommand } from './work/command.js';
import type { Processes } from './work/processes.js';
import { WarmPool } from './work/warm-pool.js';
import { containersOf, processesOf } from './work/programs.js';
import { LateSave } from './work/late-save.js';
import { Work } from './work/work.js';

export interface WorksSettings {
  readonly maxLive: number;
  readonly maxKept: number;
  /** Boxes kept ready of each shape. */
  readonly spares: number;
  readonly journalFile: string;
  readonly logs: string;
  readonly orgLogs: OrgLogs;
  readonly outputs: string;
}

type Entry =
  | { readonly kind: 'live'; readonly work: Work }
  /** A runner before had it, and its files are still to be saved. */
  | { readonly kind: 'saving'; readonly save: LateSave }
  | {
      readonly kind: 'ended';
      readonly state: WorkState;
      readonly containers: readonly string[];
      readonly cleaned: Promise<void>;
      /** It is known to have written no log. */
      readonly silent: boolean;
    };

export class Works {
  private readonly entries = new Map<string, Entry>();
  private live = 0;
  private highest: number;
  /** Highest epoch that is on the disk. */
  private fenced: number;
  private readonly settings: WorksSettings;
  private readonly deps: WorkDeps;
  private readonly warmPool: WarmPool;
  private readonly onState: (state: WorkState) => void;
  private readonly known: JournalContents;
  private journal: Journal | undefined;

  /** `known`: what an earlier runner's journal says, with work that was running already turned into Lost. */
  constructor(
    settings: WorksSettings,
    deps: Omit<WorkDeps, 'journalEnd' | 'journalSaving' | 'logDirectory' | 'logSpace'>,
    known: JournalContents,
    onState: (state: WorkState) => void,
  ) {
    this.settings = settings;
    this.onState = onState;
    this.known = known;
    this.highest = known.epoch;
    this.fenced = known.epoch;
    const all: WorkDeps = {
      ...deps,
      logDirectory: (id) => join(settings.logs, id),
      logSpace: ({ id, labels }) => settings.orgLogs.begin(id, labels['org']),
      journalEnd: (state) => this.append({ r: 'end', state }),
      journalSaving: (id, saving) => this.append({ r: 'saving', id, ...saving }),
    };
    this.warmPool = new WarmPool(all, settings.spares);
    this.deps = { ...all, warmPool: this.warmPool };
    for (const [id, { state, containers, saving }] of known.works) {
      if (saving !== undefined) continue;
      this.entries.set(id, { kind: 'ended', state, containers, cleaned: Promise.resolve(), silent: false });
    }
  }

  async open(): Promise<void> {
    this.journal = await Journal.open(this.settings.journalFile, this.known);
    for (const [id, { saving, ...work }] of this.known.works) {
      if (saving === undefined) continue;
      this.live++;
      const save = new LateSave({ ...work, saving }, this.deps, (state) => this.changedLate(save, state));
      this.entries.set(id, { kind: 'saving', save });
    }
  }

  /** When there is neither work nor anybody who orders any. */
  close(): Promise<void> {
    return this.warmPool.close();
  }

  get epoch(): number {
    return this.highest;
  }

  get liveCount(): number {
    return this.live;
  }

  /** W3. Raises the highest epoch; resolves when a raise is on the disk. */
  async fence(epoch: number): Promise<void> {
    if (epoch < this.highest) {
      throw new Refused('StaleEpoch', `lease epoch ${epoch} is over; this runner obeys ${this.highest}`);
    }
    this.highest = epoch;
    if (epoch <= this.fenced) return;
    await this.append({ r: 'epoch', epoch }).catch(unwritten);
    this.fenced = Math.max(this.fenced, epoch);
  }

  async start(spec: WireOrder): Promise<void> {
    checkOrder(spec);
    // W2.
    if (this.entries.has(spec.id)) return;
    if (this.live >= this.settings.maxLive) throw new Refused('Busy', `${this.live} pieces of work are running`);
    if (this.entries.size >= this.settings.maxKept)
      throw new Refused('Busy', 'too many finished pieces of work wait for removal');
    this.live++;
    // W1.
    const accepted = this.append({ r: 'accept', id: spec.id, at: this.deps.now(), containers: containersOf(spec) });
    const work = new Work(spec, this.deps, (state) => this.changed(work, state));
    this.entries.set(spec.id, { kind: 'live', work });
    this.fund([{ work: spec.id, seconds: spec.fundedSeconds ?? null }]);
    await accepted.catch((error: Error) => {
      work.giveUp(`the journal cannot be written: ${error.message}`);
      unwritten(error);
    });
    this.onState(work.state);
  }

  stop(id: string, graceSeconds: number): void {
    const entry = this.entries.get(id);
    if (entry?.kind === 'live') entry.work.stop(graceSeconds * 1000);
  }

  fund(times: readonly { readonly work: string; readonly seconds: number | null }[]): void {
    for (const { work, seconds } of times) {
      const entry = this.entries.get(work);
      if (entry?.kind === 'live') entry.work.fundedTime.set(seconds === null ? undefined : seconds * 1000);
    }
  }

  async remove(id: string, logs: boolean): Promise<void> {
    if (!isPlainName(id)) return;
    const entry = this.entries.get(id);
    if (entry?.kind === 'live') {
      entry.work.stop(0);
      entry.work.abandon();
      await entry.work.done;
    } else if (entry?.kind === 'saving') {
      entry.save.abandon();
      await entry.save.done;
    } else await entry?.cleaned;
    if (this.entries.delete(id)) this.journal?.note({ r: 'remove', id });
    // Most work has neither, and finding that out costs as much as the rest of a removal.
    if (entry?.kind !== 'ended' || entry.state.outputs !== undefined) await removeTree(join(this.settings.outputs, id));
    if (!logs) return;
    this.settings.orgLogs.removed(id);
    if (!(entry?.kind === 'ended' && entry.silent)) await removeTree(join(this.settings.logs, id));
  }

  /** Undefined when there is no such work or it does not run. */
  exec(order: ExecOrder, listener: Listener): RunningCommand | undefined {
    checkExec(order);
    const entry = this.entries.get(order.work);
    return entry?.kind === 'live' ? entry.work.exec(order, listener) : undefined;
  }

  /** Undefined when there is no such work or it does not run. */
  connect(id: string, port: number, listener: Listener): Session | undefined {
    if (!(Number.isInteger(port) && port > 0 && port < 65_536)) throw new Refused('Invalid', 'bad port');
    const entry = this.entries.get(id);
    return entry?.kind === 'live' ? entry.work.connect(port, listener) : undefined;
  }

  startProcess(order: ProcessOrder): Promise<ProcessStart> {
    checkExec(order);
    if (!/^[a-z0-9]{1,32}$/.test(order.id)) throw new Refused('Invalid', 'the order has a bad id');
    return this.processes(order.work)?.start(order) ?? Promise.resolve({ outcome: 'NotRunning' });
  }

  /** Undefined when there is no such work or it does not run. */
  processes(id: string): Processes | undefined {
    const entry = this.entries.get(id);
    return entry?.kind === 'live' ? entry.work.runningProcesses() : undefined;
  }

  list(): WorkState[] {
    return [...this.entries.values()].map((queued) => {
      switch (queued.kind) {
        case 'live':
          return queued.work.state;
        case 'saving':
          return queued.save.state;
        case 'ended':
          return queued.state;
      }
    });
  }

  /** True when this log may still grow. */
  mayGrow(id: string, container: string): boolean {
    const entry = this.entries.get(id);
    return entry?.kind === 'live' && entry.work.mayGrow(container);
  }

  /** Live work and its bound on disk, for the one who measures. */
  liveWork(): Work[] {
    return [...this.entries.values()].flatMap((queued) => (queued.kind === 'live' ? [queued.work] : []));
  }

  private changed(work: Work, state: WorkState): void {
    if (state.endedAt !== undefined) {
      this.live--;
      this.settings.orgLogs.ended(state.id);
      this.entries.set(state.id, {
        kind: 'ended',
        state,
        containers: work.containers,
        cleaned: work.done,
        silent: work.silent,
      });
    } else if (state.phase === 'Running' && state.startedAt !== undefined) {
      this.journal?.note({ r: 'started', id: state.id, at: state.startedAt, sequence: state.sequence });
    }
    this.onState(state);
  }

  private changedLate(save: LateSave, state: WorkState): void {
    if (state.endedAt !== undefined) {
      this.live--;
      const { containers, done } = save;
      this.entries.set(state.id, { kind: 'ended', state, containers, cleaned: done, silent: false });
    }
    this.onState(state);
  }

  private append(record: Parameters<Journal['append']>[0]): Promise<void> {
    return this.journal?.append(record) ?? Promise.reject(new Error('the journal is not open'));
  }
}

/** What is wrong with the machine may pass, and says nothing about the order. */
function unwritten(error: Error): never {
  throw new Refused('Unavailable', `the journal cannot be written: ${error.message}`);
}

function removeTree(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true });
}

/** What would otherwise become a path, an option or an endless wait. The service has checked before; a runner trusts nobody. */
function checkOrder(spec: WireOrder): void {
  const names = containersOf(spec);
  const wrong =
    (!isPlainName(spec.id) && 'id') ||
    (names.some((name) => !isPlainName(name)) && 'a container name') ||
    (new Set(names).size !== names.length && 'a container name that is used twice') ||
    (Object.keys(spec.secretFiles).some((name) => !isSecretName(name)) && 'a secret file name') ||
    (spec.outputs.some(({ name }) => !isPlainName(name)) && 'an output name') ||
    (processesOf(spec).some(badProcess) && 'a command') ||
    (!spec.workingDir.startsWith('/') && 'workingDir') ||
    (Object.values(spec.limits).some((limit) => !Number.isSafeInteger(limit) || limit <= 0) && 'a limit') ||
    ([spec.workingDir, ...spec.inputs.flatMap(({ path, source }) => [path, source])].some(hasNul) && 'a path');
  if (wrong !== false) throw new Refused('Invalid', `the order has a bad ${wrong.replace(/^a /, '')}`);
}

function checkExec(order: ExecOrder): void {
  const { terminal, timeoutSeconds } = order;
  const wrong =
    (badProcess(order) && 'command') ||
    ((!order.workingDir.startsWith('/') || hasNul(order.workingDir)) && 'workingDir') ||
    (terminal !== undefined && !isSize(terminal) && 'terminal') ||
    (timeoutSeconds !== undefined && !(timeoutSeconds > 0) && 'time limit');
  if (wrong !== false) throw new Refused('Invalid', `the order has a bad ${wrong}`);
}

function isSize({ columns, rows }: TerminalSize): boolean {
  return [columns, rows].every((cells) => Number.isInteger(cells) && cells > 0 && cells < 65_536);
}

function badProcess(process: Pick<OrderedProcess, 'command' | 'env'>): boolean {
  const { command, env } = process;
  return (
    command.length === 0 ||
    command[0] === '' ||
    command.some(hasNul) ||
    Object.entries(env).some(([name, value]) => name === '' || name.includes('=') || hasNul(name) || hasNul(value))
  );
}

function isSecretName(name: string): boolean {
  return /^[-._A-Za-z0-9]{1,253}$/.test(name) && name !== '.' && name !== '..';
}

function hasNul(text: string): boolean {
  return text.includes('\0');
}
