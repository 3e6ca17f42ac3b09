/** The two agents of boxes, each alone and without a box around it, as a client that knows nothing but `PROTOCOL.md` speaks with them. */
import { spawn } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import type { ExecutionContext } from 'ava';
import type { CommandSignal, TerminalSize } from '../../src/engines/compute/contract/engine.js';
import { boxProgram } from '../../src/engines/compute/docker/box-program.js';
import { BOX_FRAME } from '../../src/engines/compute/docker/frames.js';
import { execWords } from '../../src/engines/compute/docker/order-lines.js';
import { SIGNAL_NUMBERS } from '../../src/engines/compute/docker/orders.js';
import { encodeFrame, FRAME, FrameReader, type Frame } from '../../src/engines/compute/shared/frames.js';
import { encodeOrder } from '../../src/runner/agent/order.js';
import { writeAgent } from '../../src/runner/agent/program.js';
import { until } from '../e2e/until.js';

const ENV = { PATH: '/usr/bin:/bin' };

export interface CommandOrder {
  readonly command: readonly string[];
  readonly workingDir?: string;
  readonly terminal?: TerminalSize;
}

/** How it ended, in the words of both: `X` and the exit code, or why it was not executed. */
export type Ended = { readonly exitCode: number } | { readonly reason: string };

export interface Connection {
  readonly output: Readable;
  readonly input: Writable;
  close(): void;
}

/** What one agent's protocol has in a form of its own. */
export interface Dialect {
  readonly name: string;
  /** Opens a connection whose first bytes are the order. */
  open(t: ExecutionContext, order: CommandOrder | { readonly port: number }): Promise<Connection>;
  readonly started: number;
  readonly endOfOutput: number;
  signal(name: CommandSignal): Buffer;
  size(size: TerminalSize): Buffer;
  ended(data: Buffer): Ended;
  /** Of a port that nobody listens on. */
  readonly refused: number;
  /** After both directions of a port have ended. */
  readonly portEnd: 'end' | 'close';
}

const REASONS: Readonly<Record<string, string>> = { D: 'WorkingDirNotFound', C: 'Refused', F: 'SandboxFailed' };
const ENOENT = 2;

/** Starts `agent.pl` for the length of a test; resolves to the path of its socket. */
export async function startAgent(t: Pick<ExecutionContext, 'teardown'>): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'troupe-agent-'));
  const path = join(directory, 'socket');
  const { program, args } = writeAgent(join(directory, 'agent'), 'perl', process.arch, 'troupe-agent-test');
  const server = createServer();
  await new Promise<void>((done) => server.listen(`${path}.new`, done));
  const { _handle: handle } = server as unknown as { readonly _handle: { readonly fd: number } };
  const child = spawn('perl', [program, ...args], { stdio: [handle.fd, 'ignore', 'inherit'] });
  // Only the agent takes connections; closing takes away the name under which the socket was made.
  renameSync(`${path}.new`, path);
  server.close();
  t.teardown(() => {
    child.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  });
  return path;
}

const embedded: Dialect = {
  name: 'agent.pl',
  async open(t, order) {
    const socket = createConnection(await startAgent(t));
    socket.on('error', () => undefined);
    t.teardown(() => socket.destroy());
    socket.write(
      encodeOrder(
        'port' in order ? { kind: 'port', ...order } : { kind: 'command', env: ENV, workingDir: '/', ...order },
      ) ?? '',
    );
    return { output: socket, input: socket, close: () => socket.destroy() };
  },
  started: FRAME.started,
  endOfOutput: FRAME.endOfOutput,
  signal: (name) => Buffer.from(name),
  size({ columns, rows }) {
    const size = Buffer.alloc(4);
    size.writeUInt16BE(columns, 0);
    size.writeUInt16BE(rows, 2);
    return size;
  },
  ended(data) {
    const [what, number] = [data.toString('latin1', 0, 1), data.readUInt8(1)] as const;
    if (what === 'X') return { exitCode: number };
    return { reason: REASONS[what] ?? (number === ENOENT ? 'CommandNotFound' : 'CommandNotExecutable') };
  },
  refused: FRAME.end,
  portEnd: 'end',
};

const container: Dialect = {
  name: 'box-exec.pl',
  open(t, order) {
    const directory = mkdtempSync(join(tmpdir(), 'troupe-agent-'));
    const path = join(directory, 'box.pl');
    writeFileSync(path, boxProgram(process.arch) ?? '');
    const child = spawn('perl', [path, 'exec'], { stdio: ['pipe', 'pipe', 'inherit'] });
    child.stdin.on('error', () => undefined);
    t.teardown(() => {
      child.kill('SIGKILL');
      rmSync(directory, { recursive: true, force: true });
    });
    const words =
      'port' in order ? `port ${order.port}` : execWords({ work: 'w', env: ENV, workingDir: '/', ...order });
    child.stdin.write(encodeFrame(BOX_FRAME.order, Buffer.from(words)));
    const close = (): void => {
      child.stdin.destroy();
      child.stdout.destroy();
    };
    return Promise.resolve({ output: child.stdout, input: child.stdin, close });
  },
  started: BOX_FRAME.connected,
  endOfOutput: BOX_FRAME.end,
  signal: (name) => Buffer.from(String(SIGNAL_NUMBERS[name])),
  size: ({ columns, rows }) => Buffer.from(`${columns}x${rows}`),
  ended: (data) => JSON.parse(data.toString()) as Ended,
  refused: BOX_FRAME.refused,
  portEnd: 'close',
};

export const DIALECTS: readonly Dialect[] = [embedded, container];

/** One connection with an agent: all frames that came, in their order. */
export class Talk {
  readonly frames: Frame[] = [];
  closed = false;
  readonly connection: Connection;
  private readonly dialect: Dialect;

  private constructor(connection: Connection, dialect: Dialect) {
    this.connection = connection;
    this.dialect = dialect;
  }

  static async begin(
    t: ExecutionContext,
    dialect: Dialect,
    order: string | CommandOrder | { readonly port: number },
  ): Promise<Talk> {
    const ordered = typeof order === 'string' ? { command: ['sh', '-c', order] } : order;
    const talk = new Talk(await dialect.open(t, ordered), dialect);
    const reader = new FrameReader();
    const { output } = talk.connection;
    output.on('data', (chunk: Buffer) => {
      // The reader's frames may be parts of the chunk, which is not used again.
      talk.frames.push(...reader.read(chunk));
    });
    for (const event of ['end', 'close']) output.once(event, () => void (talk.closed = true));
    return talk;
  }

  send(type: number, data: Uint8Array = Buffer.alloc(0)): void {
    this.connection.input.write(encodeFrame(type, data));
  }

  count(type: number): number {
    return this.frames.filter((frame) => frame.type === type).length;
  }

  bytes(type: number): Buffer {
    return Buffer.concat(this.frames.filter((frame) => frame.type === type).map(({ data }) => data));
  }

  /** Bytes of input of which room was said. */
  get room(): number {
    return this.frames
      .filter(({ type }) => type === FRAME.room)
      .reduce((sum, { data }) => sum + data.readUInt32BE(0), 0);
  }

  said(text: string): Promise<unknown> {
    return until(`it says ${text}`, () => this.bytes(FRAME.stdout).includes(text));
  }

  async ended(): Promise<Ended> {
    await until('it ends', () => this.count(FRAME.end) > 0);
    return this.dialect.ended(this.bytes(FRAME.end));
  }
}
