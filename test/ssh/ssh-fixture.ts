/** Stands for what is behind the SSH server: commands run as processes of this machine, ports are its own. */
import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import type { Readable } from 'node:stream';
import type { SshPrincipal, SshAuthorization, SshCommand, Inside } from '../../http/ssh/deps.js';
import { findKey } from '../../http/ssh/keys.js';
import { newSshKey } from '../../src/app/ssh-key.js';
import type { ExecEnd, Execution, TerminalSize } from '../../src/engines/compute/contract/engine.js';

export interface SshFixture {
  readonly authorization: SshAuthorization;
  readonly inside: Inside;
  /** By user name. */
  readonly keys: Map<string, string[]>;
  /** User name of whom nobody can say whether they may stay. */
  unjudged?: string | undefined;
  /** The epoch that runs; undefined: nothing does. */
  epoch: number | undefined;
  readonly started: SshCommand[];
  readonly sizes: TerminalSize[];
  /** Connections that are counted as activity now. */
  staying: number;
  /** Bytes that have passed the server, by command line. */
  readonly passed: Map<string, { in: number; out: number }>;
}

export const HOST_KEY: string = newSshKey();

export function openSshFixture(): SshFixture {
  const fixture: SshFixture = {
    keys: new Map(),
    epoch: 1,
    started: [],
    sizes: [],
    staying: 0,
    passed: new Map(),
    authorization: {
      async admit(user, key) {
        const parsed = findKey(fixture.keys.get(user) ?? [], key);
        const owner = { org: 'bootstrap', kind: 'Workspace', project: 'default', name: user };
        return parsed && { principal: { owner, uid: 'u', key, epoch: fixture.epoch }, key: parsed };
      },
      async standing({ owner, key, epoch }: SshPrincipal) {
        if (owner.name === fixture.unjudged) throw new Error('the database does not answer');
        if (findKey(fixture.keys.get(owner.name) ?? [], key) === undefined) {
          return { standing: 'Unwelcome', message: 'the key has gone' };
        }
        return epoch === fixture.epoch && epoch !== undefined
          ? { standing: 'Welcome' }
          : { standing: 'NotRunning', message: 'nothing runs' };
      },
    },
    inside: {
      async start(_owner, command, signal) {
        fixture.started.push(command);
        const bytes = { in: 0, out: 0 };
        fixture.passed.set(command.command.at(-1) ?? '', bytes);
        return execute(command, signal, bytes, (size) => fixture.sizes.push(size));
      },
      async connect(_owner, { port }) {
        const stream = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
        const outcome = await new Promise<'Connected' | 'Refused'>((resolve) => {
          stream.once('connect', () => resolve('Connected'));
          stream.once('error', () => resolve('Refused'));
        });
        return outcome === 'Connected' ? { outcome, stream } : { outcome, message: 'nobody listens' };
      },
      async stay() {
        fixture.staying += 1;
        return { leave: () => void (fixture.staying -= 1) };
      },
    },
  };
  return fixture;
}

function execute(
  { command, env }: SshCommand,
  signal: AbortSignal,
  bytes: { in: number; out: number },
  onSize: (size: TerminalSize) => void,
): Execution {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { env: { PATH: process.env['PATH'], SHELL: '/bin/sh', ...env }, detached: true });
  const group = (name: NodeJS.Signals): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, name);
    } catch {
      // It has ended.
    }
  };
  signal.addEventListener('abort', () => group('SIGKILL'), { once: true });
  child.stdin.on('error', () => undefined);
  const ended = new Promise<ExecEnd>((resolve) =>
    child.once('close', (code, name) =>
      resolve(
        signal.aborted
          ? { end: 'WorkGone' }
          : { end: 'Exited', exitCode: code ?? 128 + (name === 'SIGTERM' ? 15 : 9), timedOut: false },
      ),
    ),
  );
  return {
    output: counted(bothOf(child.stdout, child.stderr), bytes),
    ended,
    async write(data) {
      bytes.in += data.length;
      await new Promise<void>((resolve) => child.stdin.write(data, () => resolve()));
    },
    endInput: () => void child.stdin.end(),
    signal: (name) => group(name),
    resize: onSize,
  };
}

async function* counted<Part extends { readonly data: Uint8Array }>(
  parts: AsyncIterable<Part>,
  bytes: { out: number },
): AsyncGenerator<Part> {
  for await (const part of parts) {
    bytes.out += part.data.length;
    yield part;
  }
}

async function* bothOf(
  stdout: AsyncIterable<Buffer>,
  stderr: Readable,
): AsyncGenerator<{ readonly stream: 'stdout' | 'stderr'; readonly data: Uint8Array }> {
  // From the beginning: what nobody listens to when a child ends is thrown away.
  const errors: Promise<Buffer[]> = stderr.toArray();
  // Enough for a test: what is said on one is said before what is said on the other.
  for await (const data of stdout) yield { stream: 'stdout', data };
  for (const data of await errors) yield { stream: 'stderr', data };
}
