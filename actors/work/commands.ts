/**
 * What a client does inside running work, each passed on to the engine: commands (with a terminal or without), detached processes,
 * connections to ports. Each attaches by `attach.ts`, at one epoch (I8). A command is activity as long as it runs; of a terminal
 * its input is, of a port what its caller reports; of detached processes `detached.ts` reports it.
 *
 * A command and a process get the environment of the object, its Secrets too, as the main program does; nothing of it is
 * written down (I11).
 */
import type { Address } from '../../src/api/address.js';
import type {
  CommandSignal,
  ExecOrder,
  Execution,
  LogLine,
  LogPace,
  PortStart,
  ProcessStart,
  ProcessState,
  TerminalSize,
} from '../../src/engines/compute/contract/engine.js';
import { refuse } from '../../src/api/refusal.js';
import { attach, type AttachedWork, type AttachDeps } from './attach.js';
import { attachWhenRunning } from './attach-when-running.js';

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

/** One epoch of an object: handles that are given to clients name both. */
export interface EpochRef {
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
  ): Promise<EpochRef & { readonly started: Exclude<ProcessStart, { outcome: 'NotRunning' }> }>;
  processes(
    owner: Address,
    epoch: number | undefined,
    signal: AbortSignal,
  ): Promise<EpochRef & { readonly processes: readonly ProcessState[] }>;
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
    pace?: LogPace,
  ): Promise<AsyncIterable<LogLine>>;
  /** The stream is destroyed with the signal and with the epoch. */
  connect(
    owner: Address,
    port: { readonly port: number; readonly epoch?: number | undefined },
    signal: AbortSignal,
  ): Promise<PortConnection>;
  /** A client is connected, whatever it does (an SSH connection): activity until `leave`, harmless twice. */
  stay(owner: Address, epoch: number | undefined): Promise<EpochRef & { readonly leave: () => void }>;
}

/** What is activity on a connection only its user can tell: `begin` a request that waits for its answer, `touch` for each part of a stream. */
export type PortConnection =
  | (Extract<PortStart, { outcome: 'Connected' }> & Pick<AttachedWork, 'begin' | 'touch'>)
  | Extract<PortStart, { outcome: 'Refused' }>;

/** A handle: it belongs to one incarnation of its object, and to one epoch of that. */
export interface ProcessName extends EpochRef {
  readonly id: string;
}

/** Between two sizes of a terminal (ms). */
const RESIZE_MS = 50;
const ENDED = 'its program has ended, or was lost with its runner';

/** Every call refuses as `attach` does. */
export function openCommands(deps: AttachDeps): Commands {
  /** One short request inside. */
  async function within<T>(
    owner: Address,
    epoch: number | undefined,
    ask: (attached: AttachedWork) => Promise<T>,
  ): Promise<T> {
    const attached = await attach(owner, epoch, deps);
    attached.touch();
    return ask(attached);
  }

  function ofProcess<T>(owner: Address, process: ProcessName, ask: (attached: AttachedWork) => Promise<T>): Promise<T> {
    return within(owner, process.epoch, (attached) => {
      // I8: another object of this name may be at the same epoch.
      if (attached.uid !== process.uid) throw refuse('NotFound', 'there is no such process');
      return ask(attached);
    });
  }

  return {
    async start(owner, command, signal) {
      const attached = await attachWhenRunning(owner, command.epoch, command.waitMs ?? 0, deps, signal);
      const started = await attached.engine.exec(await orderOf(command, attached), signal);
      if (started.outcome === 'NotRunning') throw attached.over(ENDED);
      // An open terminal may have no user before it: only what is typed counts.
      if (command.terminal) return touching(started.execution, attached.touch);
      void started.execution.ended.finally(attached.begin());
      return started.execution;
    },
    async startProcess(owner, process, signal) {
      const attached = await attachWhenRunning(owner, process.epoch, process.waitMs ?? 0, deps, signal);
      const { uid, epoch, engine, touch, over } = attached;
      touch();
      const started = await engine.startProcess({ ...(await orderOf(process, attached)), id: process.id }, signal);
      if (started.outcome === 'NotRunning') throw over(ENDED);
      return { uid, epoch, started };
    },
    processes: (owner, wanted, signal) =>
      within(owner, wanted, async ({ uid, epoch, engine, work, over }) => {
        const processes = await engine.processes(work, signal);
        if (!processes) throw over(ENDED);
        return { uid, epoch, processes };
      }),
    writeProcess: (owner, process, input, signal) =>
      ofProcess(owner, process, ({ engine, work }) => engine.writeProcess(work, process.id, input, signal)),
    signalProcess: (owner, process, name, signal) =>
      ofProcess(owner, process, ({ engine, work }) => engine.signalProcess(work, process.id, name, signal)),
    readProcess: (owner, process, follow, signal, pace) =>
      ofProcess(owner, process, async ({ engine, work }) =>
        engine.logs(work, { container: `process-${process.id}`, follow }, signal, pace),
      ),
    connect: (owner, { port, epoch }, signal) =>
      within(owner, epoch, async ({ engine, work, begin, touch, over }) => {
        const connected = await engine.connect(work, port, signal);
        if (connected.outcome === 'NotRunning') throw over(ENDED);
        return connected.outcome === 'Connected' ? { ...connected, begin, touch } : connected;
      }),
    async stay(owner, wanted) {
      const { uid, epoch, begin } = await attach(owner, wanted, deps);
      return { uid, epoch, leave: begin() };
    },
  };
}

function touching(execution: Execution, touch: () => void): Execution {
  touch();
  return {
    output: execution.output,
    ended: execution.ended,
    write(data) {
      touch();
      return execution.write(data);
    },
    endInput: () => execution.endInput(),
    signal: (name) => execution.signal(name),
    resize: newestSize(execution),
  };
}

/** The first size goes on at once, then the newest each RESIZE_MS: each is a frame to the runner, and clients may send thousands a second. */
function newestSize(execution: Execution): Execution['resize'] {
  let resting = false;
  let newest: TerminalSize | undefined;
  function resize(size: TerminalSize): void {
    newest = size;
    if (resting) return;
    resting = true;
    newest = undefined;
    execution.resize(size);
    setTimeout(() => {
      resting = false;
      if (newest !== undefined) resize(newest);
    }, RESIZE_MS).unref();
  }
  return resize;
}

async function orderOf(asked: Command, attached: AttachedWork): Promise<ExecOrder> {
  return {
    work: attached.work,
    command: asked.command,
    env: { ...(await attached.environment()), ...asked.env },
    workingDir: asked.workingDir ?? attached.plan.workingDir,
    timeoutSeconds: asked.timeoutSeconds,
    terminal: asked.terminal,
  };
}
