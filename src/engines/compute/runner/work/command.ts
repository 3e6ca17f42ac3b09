/**
 * Owns one command in a box that is held open, from its order to its end: enter → run → kill what it left → all output taken.
 *
 * Whatever it started carries the mark of `isolation.enter` (see `Command.apart`), also what changed its session or its parent, so
 * it ends whole: with its first process, when it is killed (its client went, its time is over), and with the work. Its pipes
 * are never used again, since not even then is it proven that nobody holds them.
 *
 * The kernel gives a mark's number again once nothing carries it. So a number counts as the command's own only while one of its
 * known processes has it, or while no other command in the box has it or may have it without having told yet.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecEnd, ExecOrder } from '../../engine.js';
import type { Box, Isolation } from '../isolation/isolation.js';
import type { Group } from '../limits/groups.js';
import { firstFeed, launch, type Exit, type Launched, type Sink } from '../process/launch.js';
import type { Pipes } from '../process/pipes.js';
import { descendants, signalAll } from '../process/tree.js';
import { notExecuted, wasExecuted } from './outcome.js';

/** The box that is entered. */
export interface Entrance {
  readonly box: Box;
  readonly boxPid: number;
  readonly group: Group;
}

export interface CommandDeps {
  readonly isolation: Isolation;
  readonly pipes: Pipes;
  report(line: string): void;
}

/** A process in uninterruptible sleep can delay its death this long; beyond it the end is told without it. */
const GONE_MS = 20_000;
/** The longest that a timer can be set to. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export type CommandSignal = 'SIGINT' | 'SIGTERM' | 'SIGKILL' | 'SIGHUP';

export class RunningCommand {
  /** Never rejects. Resolves when nothing of the command runs and its output is taken, or dropped after `kill`. */
  readonly ended: Promise<ExecEnd>;
  private readonly order: ExecOrder;
  private readonly entrance: Entrance;
  private readonly deps: CommandDeps;
  private readonly sink: Sink;
  /** All that run in the same box, this one among them. */
  private readonly neighbours: ReadonlySet<RunningCommand>;
  private readonly abort = new AbortController();
  private readonly paused: (() => void)[] = [];
  /** What came before there was a process to take it; bounded by what the wire lets through. */
  private readonly early: ((running: Launched) => void)[] = [];
  private launched: Launched | undefined;
  private exited = false;
  private over = false;
  private mark: number | undefined;
  private killing: Promise<void> | undefined;
  private timedOut = false;
  private workGone = false;
  /** Nobody waits for output any more. */
  private dropping = false;

  constructor(
    order: ExecOrder,
    entrance: Entrance,
    deps: CommandDeps,
    sink: Sink,
    neighbours: ReadonlySet<RunningCommand>,
  ) {
    this.order = order;
    this.entrance = entrance;
    this.deps = deps;
    this.sink = sink;
    this.neighbours = neighbours;
    this.ended = this.run().catch((error: unknown): ExecEnd => {
      if (this.workGone) return { end: 'WorkGone' };
      return { end: 'NotExecuted', reason: 'SandboxFailed', message: (error as Error).message };
    });
  }

  /** `taken` is called once the bytes are in the program's pipe, or nobody can read them any more. */
  write(data: Buffer, taken: () => void): void {
    this.whenLaunched(({ input }) => {
      if (input === undefined || !input.writable) taken();
      else input.write(data, () => taken());
    });
  }

  endInput(): void {
    this.whenLaunched(({ input }) => input?.end());
  }

  /** To all that the command started, but not to what the isolation runs around it. */
  signal(name: CommandSignal): void {
    this.whenLaunched((running) => {
      if (this.exited) return;
      const around = descendants(running.pid);
      const { sure, pids } = this.marked(running, around);
      // Those whose parents have ended are found by the mark alone.
      const orphans = sure ? pids.filter((pid) => !around.includes(pid)) : [];
      signalAll([...this.deps.isolation.entered(running.pid), ...orphans], name);
    });
  }

  /** Ends all of it at once; what it still says is dropped. */
  kill(): void {
    if (this.over) return;
    this.drop();
    this.abort.abort();
    if (this.launched !== undefined) this.killing ??= this.killAll(this.launched);
  }

  /** The same because the work ends. */
  endWithWork(): void {
    this.workGone = true;
    this.kill();
  }

  private async run(): Promise<ExecEnd> {
    const { order, entrance, deps } = this;
    const { entrances } = entrance.group;
    const plan = deps.isolation.enter(
      entrance.box,
      entrance.boxPid,
      { command: order.command, env: order.env, workingDir: order.workingDir, apart: true },
      firstFeed(entrances.length),
    );
    const sink: Sink = {
      feed: (stream, chunk) => this.dropping || this.sink.feed(stream, chunk),
      whenReady: (resume) => {
        this.paused.push(resume);
        this.sink.whenReady(() => this.resume());
      },
    };
    const running = await launch(plan, entrances, deps.pipes, sink, this.abort.signal);
    this.launched = running;
    for (const act of this.early.splice(0)) act(running);
    const timer = this.timeLimit(running);
    const exit = await running.exited;
    this.exited = true;
    clearTimeout(timer);
    await (this.killing ?? this.killAll(running));
    running.input?.destroy();
    await running.drained;
    running.forget();
    this.over = true;
    return this.endOf(exit);
  }

  private timeLimit(running: Launched): NodeJS.Timeout | undefined {
    const { timeoutSeconds } = this.order;
    if (timeoutSeconds === undefined) return undefined;
    const expire = (): void => {
      this.timedOut = true;
      // What it said until now still goes to whoever reads.
      this.killing ??= this.killAll(running);
    };
    return setTimeout(expire, Math.min(timeoutSeconds * 1000, MAX_TIMER_MS));
  }

  private endOf(exit: Exit): ExecEnd {
    const killed = !wasExecuted(exit) || exit.exitCode === 128 + 9;
    if (killed && (this.workGone || this.boxIsDying())) return { end: 'WorkGone' };
    if (this.timedOut) return { end: 'Exited', exitCode: wasExecuted(exit) ? exit.exitCode : 128 + 9, timedOut: true };
    if (wasExecuted(exit)) return { end: 'Exited', exitCode: exit.exitCode, timedOut: false };
    const { reason, message } = notExecuted({ name: 'exec', command: this.order.command }, exit);
    return { end: 'NotExecuted', reason, message };
  }

  /** A first process that has given up its memory: everything else in its pid namespace is being killed. */
  private boxIsDying(): boolean {
    try {
      return readFileSync(`/proc/${this.entrance.boxPid}/cmdline`).length === 0;
    } catch {
      return true;
    }
  }

  private whenLaunched(act: (running: Launched) => void): void {
    if (this.launched === undefined) this.early.push(act);
    else act(this.launched);
  }

  private drop(): void {
    this.dropping = true;
    this.resume();
  }

  private resume(): void {
    for (const resume of this.paused.splice(0)) resume();
  }

  /**
   * Again and again until nothing is left: what is killed may just have started something. The process that entered is spared:
   * it ends with what it started, and is the only way to find it before it has its mark.
   */
  private async killAll(running: Launched): Promise<void> {
    const began = Date.now();
    for (let wait = 1; ; wait = Math.min(wait * 2, 50)) {
      const tree = this.exited ? [] : descendants(running.pid);
      const { sure, pids } = this.marked(running, tree);
      const left = [...new Set([...tree, ...pids])];
      if (left.length === 0 && this.exited) return;
      signalAll(sure ? left : tree, 'SIGKILL');
      if (Date.now() - began > GONE_MS) {
        running.kill();
        this.deps.report(`${this.order.work}: processes of a command do not end: ${left.join(', ')}`);
        return;
      }
      await delay(wait);
    }
  }

  /** Processes of the work that carry the command's mark, and whether that is sure to be its own. One that ended has none any more. */
  private marked(running: Launched, tree: readonly number[]): { readonly sure: boolean; readonly pids: number[] } {
    const { group, boxPid } = this.entrance;
    const own = markOf(boxPid);
    // It may be killed before it told.
    this.mark ??= running.mark() ?? tree.map(markOf).find((mark) => mark !== undefined && mark !== own);
    const { mark } = this;
    if (mark === undefined) return { sure: true, pids: [] };
    const inBox = group.entrances.length > 0 ? group.processes() : [...tree, ...descendants(boxPid)];
    const pids = inBox.filter((pid) => markOf(pid) === mark);
    if (pids.length === 0 || tree.some((pid) => pids.includes(pid))) return { sure: true, pids };
    const others = [...this.neighbours].filter((other) => other !== this && !other.exited).map((other) => other.told());
    // It is another's now, so nothing of this one is left.
    if (others.includes(mark)) return { sure: true, pids: [] };
    return { sure: !others.includes(undefined), pids };
  }

  private told(): number | undefined {
    this.mark ??= this.launched?.mark();
    return this.mark;
  }
}

/** Number of the process's host name namespace; undefined when it has ended. */
function markOf(pid: number): number | undefined {
  try {
    const found = /\[(\d+)\]/.exec(readlinkSync(`/proc/${pid}/ns/uts`))?.[1];
    return found === undefined ? undefined : Number(found);
  } catch {
    return undefined;
  }
}
