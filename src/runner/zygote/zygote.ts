/**
 * The runner's side of the zygote (`zygote.pl`): starts it when the first box is wanted, and again when it has ended, and asks it for boxes
 * (`zygote-box.ts`).
 *
 * Bounds (I10): a zygote that is not there after START_MS is ended.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import type { SystemView } from '../isolation/system.js';
import type { Launched } from '../process/launch.js';
import { makeBox } from './zygote-box.js';
import { encodeMaking, type Making } from './steps.js';

const START_MS = 10_000;
/** Nobody listens there. */
const GONE: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOENT']);
/** More than it has to say. */
const MOST_SAID = 4096;

export interface ZygoteSettings {
  readonly interpreter: string;
  /** File of the program, and what it wants to be told. */
  readonly program: string;
  readonly args: readonly string[];
  /** Where it listens: in a directory that nobody else may enter. */
  readonly socket: string;
  readonly view: SystemView;
}

export class Zygote {
  private readonly settings: ZygoteSettings;
  private started: Promise<ChildProcess> | undefined;
  private closed = false;

  constructor(settings: ZygoteSettings) {
    this.settings = settings;
  }

  /** The box is there once `ready` says so, and listens then. Rejects when there is no zygote. */
  async make(making: Making): Promise<Launched> {
    const reached = (await this.reached()) ?? (await this.reached());
    if (reached === undefined) throw new Error('no box can be made: its maker ends again and again');
    const { zygote, connection } = reached;
    return makeBox(connection, encodeMaking(this.settings.view, making), (pid) => zygote.stdin?.write(`${pid}\n`));
  }

  /** With it end all its boxes. */
  close(): void {
    this.closed = true;
    void this.started?.then(
      (zygote) => zygote.kill('SIGKILL'),
      () => undefined,
    );
  }

  /** Undefined: it has ended, which may be known here before its end is told. The next one is another. */
  private async reached(): Promise<{ readonly zygote: ChildProcess; readonly connection: Socket } | undefined> {
    const started = this.running();
    const zygote = await started;
    try {
      return { zygote, connection: await connected(this.settings.socket) };
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (!GONE.has(code)) throw error;
      this.forget(started);
      return undefined;
    }
  }

  private running(): Promise<ChildProcess> {
    if (this.closed) return Promise.reject(new Error('no boxes are made any more'));
    if (this.started !== undefined) return this.started;
    const started = this.start(() => this.forget(started));
    this.started = started;
    return started;
  }

  private forget(started: Promise<ChildProcess>): void {
    if (this.started === started) this.started = undefined;
  }

  private start(onEnd: () => void): Promise<ChildProcess> {
    const { interpreter, program, args, socket } = this.settings;
    rmSync(socket, { force: true });
    const zygote = spawn(interpreter, [program, ...args, socket], { stdio: 'pipe', env: {}, cwd: '/' });
    zygote.stdin.on('error', () => undefined);
    return new Promise((done, failed) => {
      let said = '';
      const late = setTimeout(() => zygote.kill('SIGKILL'), START_MS);
      const over = (why: string): void => {
        clearTimeout(late);
        onEnd();
        failed(new Error(`no box can be made: its maker ended (${said.trim() || why})`));
      };
      zygote.stderr.on('data', (chunk: Buffer) => {
        if (said.length < MOST_SAID) said += chunk.toString('utf8');
      });
      zygote.stdout.once('data', () => {
        clearTimeout(late);
        done(zygote);
      });
      zygote.once('error', (error) => over(error.message));
      zygote.once('exit', (code, signal) => over(String(signal ?? code)));
    });
  }
}

function connected(path: string): Promise<Socket> {
  const socket = createConnection(path);
  return new Promise((done, failed) => {
    socket.once('error', failed);
    socket.once('connect', () => {
      socket.removeListener('error', failed);
      done(socket);
    });
  });
}
