/**
 * Makes the listening socket of a box: it listens on the work's own loopback, where its proxy is expected, and the proxy process accepts from
 * it. A socket belongs to the network namespace in which it was made, whichever process has it: so nothing has to run inside, nothing
 * of the work can close or take it, and the box stays without any other way out.
 *
 * Node cannot enter a namespace, and in Perl it takes three system calls. One small program (`proxy-listener.pl`) makes all these sockets. It
 * runs nothing of the work, and enters nothing but the network namespace (without root: also the user namespace that owns it, in a process for
 * that one socket).
 *
 * Bounds (I10): one listener at a time, OPEN_MS for each; what waits is as many as there are boxes that start.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { bareScript } from '../script.js';
import { PROXY_PORT } from './environment.js';

const SOURCE = bareScript(readFileSync(new URL('proxy-listener.pl', import.meta.url), 'utf8'));

/** Beyond it the program is ended, and the next listener is made by a new one. */
const OPEN_MS = 10_000;

/** Numbers of system calls that Perl has no word for (`src/runner/isolation/calls.ts` names the tables). */
const CALLS: Readonly<Record<string, readonly [setns: number, sendmsg: number]>> = {
  x64: [308, 46],
  arm64: [268, 211],
};

/** What `Server.listen` takes, and may be closed instead. */
export interface Listening {
  close(): void;
}

export interface ProxyListenerSettings {
  readonly perl: string | undefined;
  readonly architecture: string;
  /** The loopback inside has to be brought up first. (Bubblewrap does so itself, and fails where it is up already.) */
  readonly bringUp: boolean;
}

interface Waiter {
  readonly done: (listener: Listening) => void;
  readonly failed: (error: Error) => void;
}

export class ProxyListeners {
  private readonly settings: ProxyListenerSettings;
  private readonly waiting = new Map<number, Waiter>();
  private maker: ChildProcess | undefined;
  private last = 0;
  private closed = false;

  constructor(settings: ProxyListenerSettings) {
    this.settings = settings;
  }

  /** Why this machine has none; undefined when it has. */
  get refusal(): string | undefined {
    if (this.settings.perl === undefined) return 'perl is not installed on this machine: work with a network needs it';
    if (CALLS[this.settings.architecture] === undefined) {
      return `work cannot have a network on a machine of kind ${this.settings.architecture}`;
    }
    return undefined;
  }

  /** In the network namespace of this process, of which the caller knows that it lives. */
  open(pid: number): Promise<Listening> {
    if (this.closed) return Promise.reject(new Error('no listeners are made any more'));
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      const late = (): void => {
        this.maker?.kill('SIGKILL');
        settle(() => reject(new Error('the network of the box was not ready in time')));
      };
      const timer = setTimeout(late, OPEN_MS);
      const settle = (act: () => void): void => {
        clearTimeout(timer);
        this.waiting.delete(id);
        act();
      };
      this.waiting.set(id, {
        done: (listener) => settle(() => resolve(listener)),
        failed: (error) => settle(() => reject(error)),
      });
      this.running().send({ id, pid }, (error) => {
        if (error !== null) this.waiting.get(id)?.failed(error);
      });
    });
  }

  /** Ends the maker, which would keep this process alive; listeners that were made stay. */
  close(): void {
    this.closed = true;
    this.maker?.kill('SIGKILL');
  }

  private running(): ChildProcess {
    if (this.maker !== undefined) return this.maker;
    const { perl = 'perl', architecture, bringUp } = this.settings;
    const calls = CALLS[architecture] ?? [0, 0];
    const maker = spawn(perl, ['-e', SOURCE, ...calls.map(String), String(PROXY_PORT), bringUp ? '1' : '0'], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: {},
      cwd: '/',
    });
    const gone = (why: string): void => {
      if (this.maker !== maker) return;
      this.maker = undefined;
      const error = new Error(`the network of the box could not be made: ${why}`);
      for (const waiter of [...this.waiting.values()]) waiter.failed(error);
    };
    maker.once('error', (error) => gone(error.message));
    maker.once('exit', (code, signal) => gone(`its maker ended (${signal ?? code})`));
    maker.on('message', (message, handle) => {
      const { id, error } = message as { readonly id: number; readonly error?: string };
      const listener = handle as unknown as Listening | undefined;
      const waiter = this.waiting.get(id);
      if (waiter === undefined) listener?.close();
      else if (listener === undefined) waiter.failed(new Error(`the network of the box could not be made: ${error}`));
      else waiter.done(listener);
    });
    this.maker = maker;
    return maker;
  }
}
