/**
 * One session of a connection: a shell, a command or a subsystem inside, with or without a terminal. Its input and output
 * flow only as fast as both ends take them.
 *
 * The command ends with its channel. An exit code is told as it is; one that a signal ended has 128 + n, as every shell
 * says it. Agents, X11 and other subsystems are refused by having no listener.
 */
import type { ServerChannel, Session } from 'ssh2';
import type { ExecEnd, Execution, TerminalSize } from '../../src/engines/compute/contract/engine.js';
import { isCommandSignal } from '../../src/engines/compute/shared/signals.js';
import { RefusalError } from '../../src/api/refusal.js';
import { joinChunks } from '../../src/engines/chunk-joiner.js';
import type { SshPrincipal, Inside } from './deps.js';
import type { Outlet } from './outlet.js';
import { byShell, LOGIN, mayBeSet, subsystem } from './programs.js';

export interface SessionDeps {
  readonly principal: SshPrincipal;
  readonly inside: Inside;
  readonly outlet: Outlet;
  /** Aborted when the connection is to end; its reason, when it is a text, is shown to the client. */
  readonly gone: AbortSignal;
  /** Undefined: come in. Else what a person is told. */
  obstacle(): Promise<string | undefined>;
  /** What it reads from; bounded by the connection. */
  onChannel(channel: ServerChannel): void;
  /** The channel is closed on both sides. */
  onClosed(): void;
}

const MOST_VARIABLES = 32;
const LONGEST_VALUE = 1_024;
/** What ssh itself exits with when it fails, not the command. */
const NO_EXIT = 255;

export function serveSession(session: Session, deps: SessionDeps): void {
  const env: Record<string, string> = {};
  let terminal: TerminalSize | undefined;
  let execution: Execution | undefined;
  /** Set while a client waits to be told how it ended. */
  let open: ServerChannel | undefined;
  // The channel's own `close` waits until all input is read, which a program may never do.
  const closed = new AbortController();
  const leave = (): void => {
    const { reason }: { readonly reason: unknown } = deps.gone;
    // At once: the connection does not wait for the end of what runs.
    finish({ status: NO_EXIT, message: typeof reason === 'string' ? reason : undefined });
    closed.abort();
  };
  deps.gone.addEventListener('abort', leave, { once: true });
  session.once('close', () => {
    deps.gone.removeEventListener('abort', leave);
    closed.abort();
    deps.onClosed();
  });

  session.on('pty', (accept, _reject, { cols, rows, term }) => {
    terminal = sizeOf(cols, rows);
    // A name of terminfo, or none that any program would know.
    env['TERM'] = /^[A-Za-z0-9+._-]{1,64}$/.test(term) ? term : 'dumb';
    accept?.();
  });
  session.on('window-change', (accept, _reject, { cols, rows }) => {
    terminal &&= sizeOf(cols, rows);
    if (terminal) execution?.resize(terminal);
    accept?.();
  });
  session.on('env', (accept, reject, { key, val }) => {
    const fits = val.length <= LONGEST_VALUE && !val.includes('\0') && Object.keys(env).length < MOST_VARIABLES;
    if (!fits || !mayBeSet(key)) {
      reject?.();
      return;
    }
    env[key] = val;
    accept?.();
  });
  session.on('signal', (accept, _reject, { name }) => {
    const signal = `SIG${name}`;
    if (isCommandSignal(signal)) execution?.signal(signal);
    accept?.();
  });
  session.on('shell', (accept) => void run(accept(), LOGIN));
  session.on('exec', (accept, reject, { command }) => {
    if (command.includes('\0')) reject?.();
    else void run(accept(), byShell(command));
  });
  session.on('subsystem', (accept, reject, { name }) => {
    const program = subsystem(name);
    if (program === undefined) reject?.();
    else void run(accept(), program);
  });

  /** Never rejects. Undefined channel: a second command was asked of one session. */
  async function run(channel: ServerChannel | undefined, command: readonly string[]): Promise<void> {
    if (channel === undefined) return;
    open = channel;
    joinChunks(channel);
    deps.onChannel(channel);
    for (const stream of [channel, channel.stderr]) stream.on('error', () => undefined);
    finish(
      await carryOut(channel, command).catch((error: unknown) => ({
        status: NO_EXIT,
        message: error instanceof RefusalError ? error.refusal.message : 'the command failed inside the service',
      })),
    );
  }

  /** Only the first end counts. */
  function finish({ status, message }: Exit): void {
    const channel = open;
    open = undefined;
    if (channel === undefined) return;
    if (message !== undefined && channel.writable) channel.stderr.write(`${message}\r\n`);
    channel.exit(status);
    channel.end();
  }

  async function carryOut(channel: ServerChannel, command: readonly string[]): Promise<Exit> {
    const obstacle = await deps.obstacle();
    const { epoch, owner } = deps.principal;
    if (obstacle !== undefined || epoch === undefined) return { status: NO_EXIT, message: obstacle };
    const started = await deps.inside.start(owner, { command, env, terminal, epoch }, closed.signal);
    execution = started;
    // It may have changed while the command was being started.
    if (terminal) started.resize(terminal);
    feed(channel, started, terminal !== undefined);
    for await (const { stream, data } of started.output) {
      const to = stream === 'stdout' ? channel : channel.stderr;
      if (!(await deps.outlet.write(to, data, closed.signal))) break;
    }
    if (closed.signal.aborted) return { status: NO_EXIT };
    return exitOf(await started.ended);
  }
}

/** One piece at a time: the channel's window closes while the program does not read. */
function feed(channel: ServerChannel, execution: Execution, onTerminal: boolean): void {
  channel.on('data', (chunk: Buffer) => {
    channel.pause();
    execution.write(chunk).then(
      () => channel.resume(),
      () => channel.resume(),
    );
  });
  // The end of what is typed is no hang-up: `echo ls | ssh -tt` wants to see the files.
  channel.once('end', () => {
    if (!onTerminal) execution.endInput();
  });
}

interface Exit {
  readonly status: number;
  /** For a person, on the error output. */
  readonly message?: string | undefined;
}

function exitOf(end: ExecEnd): Exit {
  switch (end.end) {
    case 'Exited':
      return { status: end.exitCode };
    case 'NotExecuted':
      return { status: end.reason === 'CommandNotFound' ? 127 : 126, message: end.message };
    case 'WorkGone':
      return { status: NO_EXIT, message: 'the Workspace has stopped' };
  }
}

/** Clients send 0 for what they do not know. */
function sizeOf(columns: number, rows: number): TerminalSize {
  const within = (value: number, fallback: number): number => Math.min(1_000, Math.max(1, value || fallback));
  return { columns: within(columns, 80), rows: within(rows, 24) };
}
