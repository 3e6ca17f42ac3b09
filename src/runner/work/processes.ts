/**
 * The detached processes of one piece of work: they belong to the runner, so they go on when the service ends and are there for
 * the next. Their output goes into logs of their own; their input is taken as far as they read it.
 *
 * Bounds (I10): MAX_RUNNING at once, one more is refused as Busy; of those that have ended the newest are kept, KEPT with those that run,
 * and with the others go their logs. Input that a process has not read is at most INPUT bytes; beyond it nothing is taken (`Full`).
 */
import type { CommandSignal, ProcessOrder, ProcessStart, ProcessState } from '../../engines/compute/contract/engine.js';
import type { Agent } from '../agent/agent.js';
import type { WorkLogSpace } from '../../engines/compute/shared/log/org-logs.js';
import { LogWriter } from '../../engines/compute/shared/log/writer.js';
import { shownCommand } from '../../engines/compute/shared/shown-command.js';
import { Refused } from '../protocol/messages.js';
import { RunningCommand } from './command.js';

const MAX_RUNNING = 64;
const KEPT = 100;
/** Bytes. A single write may have as many. */
const INPUT = 1024 * 1024;

export interface ProcessesDeps {
  readonly agent: Agent;
  readonly logs: string;
  readonly logBytes: number;
  readonly logSpace: WorkLogSpace;
  now(): number;
  onLogGrown(container: string): void;
  onLogEnded(container: string): void;
  /** A process began or ended. */
  onChange(): void;
}

interface Entry {
  state: ProcessState;
  readonly command: RunningCommand;
  readonly log: LogWriter;
  readonly start: Promise<ProcessStart>;
  /** Resolves when its log is complete. */
  readonly over: Promise<void>;
  inputEnded: boolean;
}

const containerOf = (id: string): string => `process-${id}`;

export class Processes {
  private readonly deps: ProcessesDeps;
  /** In the order of their starts. */
  private readonly entries = new Map<string, Entry>();

  constructor(deps: ProcessesDeps) {
    this.deps = deps;
  }

  /** How many run now. */
  get running(): number {
    return [...this.entries.values()].filter(({ state }) => state.ended === undefined).length;
  }

  /** A second start under the same id answers as the first. */
  start(order: ProcessOrder): Promise<ProcessStart> {
    const known = this.entries.get(order.id);
    if (known !== undefined) return this.answer(known);
    const { running } = this;
    if (running >= MAX_RUNNING) throw new Refused('Busy', `${running} processes run in this work`);
    const queued = this.begin(order);
    this.entries.set(order.id, queued);
    this.forgetOldest();
    return queued.start;
  }

  list(): ProcessState[] {
    return [...this.entries.values()].map(({ state }) => state);
  }

  write(id: string, data: Buffer, end: boolean): 'Taken' | 'Full' | 'Gone' {
    const queued = this.entries.get(id);
    if (queued === undefined || queued.state.ended !== undefined || queued.inputEnded) return 'Gone';
    if (data.length > INPUT) throw new Refused('Invalid', `more than ${INPUT} bytes of input at once`);
    const { session } = queued.command;
    if (session.inputUnderWay + data.length > INPUT) return 'Full';
    session.write(data);
    if (end) {
      queued.inputEnded = true;
      session.endInput();
    }
    return 'Taken';
  }

  signal(id: string, name: CommandSignal): 'Sent' | 'Gone' {
    const queued = this.entries.get(id);
    if (queued === undefined || queued.state.ended !== undefined) return 'Gone';
    queued.command.signal(name);
    return 'Sent';
  }

  mayGrow(container: string): boolean {
    return [...this.entries.values()].some(
      ({ state }) => containerOf(state.id) === container && state.ended === undefined,
    );
  }

  /** Their logs, by container. */
  logs(): ReadonlyMap<string, LogWriter> {
    return new Map([...this.entries.values()].map(({ state, log }) => [containerOf(state.id), log]));
  }

  /** Resolves when all logs have ended; called when the box has ended, and with it its processes. */
  async close(): Promise<void> {
    await Promise.all([...this.entries.values()].map(({ over }) => over));
  }

  private begin(order: ProcessOrder): Entry {
    const { deps } = this;
    const container = containerOf(order.id);
    const onGrown = (): void => deps.onLogGrown(container);
    const log = new LogWriter(deps.logs, container, deps.logBytes, deps.now, onGrown, deps.logSpace);
    const command = new RunningCommand(order, deps.agent, log);
    const queued: Entry = {
      state: { id: order.id, command: shownCommand(order.command), startedAt: deps.now() },
      command,
      log,
      start: this.started(order.id, command),
      over: this.ends(order.id, command, log),
      inputEnded: false,
    };
    return queued;
  }

  private async started(id: string, command: RunningCommand): Promise<ProcessStart> {
    if (!(await command.session.started)) {
      const end = await command.ended;
      if (end.end === 'NotExecuted') return { outcome: 'NotExecuted', reason: end.reason, message: end.message };
      if (end.end === 'WorkGone') return { outcome: 'NotRunning' };
    }
    const queued = this.entries.get(id);
    if (queued === undefined) return { outcome: 'NotRunning' };
    if (queued.state.ended === undefined) this.deps.onChange();
    return { outcome: 'Started', process: queued.state };
  }

  private async answer(known: Entry): Promise<ProcessStart> {
    const first = await known.start;
    return first.outcome === 'Started' ? { outcome: 'Started', process: known.state } : first;
  }

  private async ends(id: string, command: RunningCommand, log: LogWriter): Promise<void> {
    const end = await command.ended;
    await log.end();
    const queued = this.entries.get(id);
    if (queued?.command !== command) return;
    if (end.end === 'NotExecuted') this.entries.delete(id);
    else {
      const { exitCode, timedOut } = end.end === 'Exited' ? end : { exitCode: 128 + 9, timedOut: false };
      queued.state = { ...queued.state, ended: { at: this.deps.now(), exitCode, timedOut } };
    }
    this.deps.onLogEnded(containerOf(id));
    this.deps.onChange();
  }

  private forgetOldest(): void {
    for (const [id, { state, log }] of this.entries) {
      if (this.entries.size <= KEPT) return;
      if (state.ended === undefined) continue;
      this.entries.delete(id);
      void log.remove();
    }
  }
}
