/**
 * Owns what is done inside running work, as thin passages to the engine: commands (with a terminal or without), detached processes,
 * connections to ports. Each enters by `entrance.ts`, at one epoch (I8), and goes on counts as activity as long as it is open.
 *
 * A command and a process get the environment of the object, its Secrets too, as the main program does; nothing of it is
 * written down (I11).
 */
import type { Duplex } from 'node:stream';
import type { Address } from '../../src/api/address.js';
import type {
  CommandSignal,
  ExecOrder,
  Execution,
  LogLine,
  PortStart,
  ProcessStart,
  ProcessState,
  TerminalSize,
} from '../../src/engines/compute/engine.js';
import { enter, type Entered, type EntranceDeps } from './entrance.js';
import { enterOnceStarted } from './patience.js';

/** A command for running work, with the environment that its owner gives to all of them. */
export interface Command {
  readonly command: readonly string[];
  /** Beside the object's own, and before it. */
  readonly env: Readonly<Record<string, string>>;
  /** The object's own when absent. */
  readonly workingDir?: string | undefined;
  readonly timeoutSeconds?: number | undefined;
  /** On a terminal of its own. */
  readonly terminal?: TerminalSize | undefined;
  /** Only at this epoch. */
  readonly epoch?: number | undefined;
  /** Wait for the start of what is starting, so long (ms). */
  readonly waitMs?: number | undefined;
}

/** Where something goes on: handles that are given to clients name both. */
export interface Whereabouts {
  /** Of the Sandbox or Workspace. */
  readonly uid: string;
  readonly epoch: number;
}

/** `epoch` is the one that the caller means; undefined: the present one. */
export interface Commands {
  /** It ends with the signal, and with the epoch. */
  start(owner: Address, command: Command, signal: AbortSignal): Promise<Execution>;
  /** `id` as in ProcessOrder: unique within the epoch, `[a-z0-9]{1,32}`. */
  startProcess(
    owner: Address,
    process: Command & { readonly id: string },
    signal: AbortSignal,
  ): Promise<Whereabouts & { readonly started: Exclude<ProcessStart, { outcome: 'NotRunning' }> }>;
  processes(
    owner: Address,
    epoch: number | undefined,
    signal: AbortSignal,
  ): Promise<Whereabouts & { readonly processes: readonly ProcessState[] }>;
  writeProcess(
    owner: Address,
    process: ProcessName,
    input: { readonly data: Uint8Array; readonly end: boolean },
    signal: AbortSignal,
  ): Promise<'Taken' | 'Full' | 'Gone'>;
  signalProcess(
    owner: Address,
    process: ProcessName,
    name: CommandSignal,
    signal: AbortSignal,
  ): Promise<'Sent' | 'Gone'>;
  /** Output of a process, also of one that has ended. */
  readProcess(
    owner: Address,
    process: ProcessName,
    follow: boolean,
    signal: AbortSignal,
  ): Promise<AsyncIterable<LogLine>>;
  /** The stream is destroyed with the signal and with the epoch. */
  connect(
    owner: Address,
    port: { readonly port: number; readonly epoch?: number | undefined },
    signal: AbortSignal,
  ): Promise<Exclude<PortStart, { outcome: 'NotRunning' }>>;
}

export interface ProcessName {
  readonly id: string;
  /** Only at this epoch. */
  readonly epoch?: number | undefined;
}

const ENDED = 'its program has ended';

/** Every call refuses as `enter` does. */
export function openCommands(deps: EntranceDeps): Commands {
  /** One short request inside. */
  async function within<T>(
    owner: Address,
    epoch: number | undefined,
    ask: (entered: Entered) => Promise<T>,
  ): Promise<T> {
    const entered = await enter(owner, epoch, deps);
    const over = entered.begin();
    try {
      return await ask(entered);
    } finally {
      over();
    }
  }

  return {
    async start(owner, command, signal) {
      const entered = await enterOnceStarted(owner, command.epoch, command.waitMs ?? 0, deps, signal);
      const started = await entered.engine.exec(await orderOf(command, entered), signal);
      if (started.outcome === 'NotRunning') throw entered.over(ENDED);
      void started.execution.ended.finally(entered.begin());
      return started.execution;
    },
    startProcess: (owner, process, signal) =>
      within(owner, process.epoch, async (entered) => {
        const { uid, epoch, engine } = entered;
        const order = { ...(await orderOf(process, entered)), id: process.id };
        const started = await engine.startProcess(order, signal);
        if (started.outcome === 'NotRunning') throw entered.over(ENDED);
        return { uid, epoch, started };
      }),
    processes: (owner, wanted, signal) =>
      within(owner, wanted, async ({ uid, epoch, engine, work, over }) => {
        const processes = await engine.processes(work, signal);
        if (!processes) throw over(ENDED);
        return { uid, epoch, processes };
      }),
    writeProcess: (owner, { id, epoch }, input, signal) =>
      within(owner, epoch, ({ engine, work }) => engine.writeProcess(work, id, input, signal)),
    signalProcess: (owner, { id, epoch }, name, signal) =>
      within(owner, epoch, ({ engine, work }) => engine.signalProcess(work, id, name, signal)),
    readProcess: (owner, { id, epoch }, follow, signal) =>
      within(owner, epoch, async ({ engine, work }) =>
        engine.logs(work, { container: `process-${id}`, follow }, signal),
      ),
    async connect(owner, { port, epoch }, signal) {
      const entered = await enter(owner, epoch, deps);
      const over = entered.begin();
      let stream: Duplex | undefined;
      try {
        const connected = await entered.engine.connect(entered.work, port, signal);
        if (connected.outcome === 'NotRunning') throw entered.over(ENDED);
        if (connected.outcome === 'Connected') stream = connected.stream;
        return connected;
      } finally {
        if (stream) stream.once('close', over);
        else over();
      }
    },
  };
}

async function orderOf(asked: Command, entered: Entered): Promise<ExecOrder> {
  return {
    work: entered.work,
    command: asked.command,
    env: { ...(await entered.environment()), ...asked.env },
    workingDir: asked.workingDir ?? entered.plan.workingDir,
    timeoutSeconds: asked.timeoutSeconds,
    terminal: asked.terminal,
  };
}
