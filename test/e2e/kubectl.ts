/** Runs kubectl in tests, and says whether there is one that is new enough (1.32). */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parsed, textAt } from './client.js';

const LEAST_MINOR = 32;
/** A command that hangs is a failure; kubectl itself never needs more than a second here. */
const COMMAND_MS = 60_000;

export interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Why the kubectl tests cannot run here; undefined when they can. */
export function missingKubectl(): string | undefined {
  const found = spawnSync('kubectl', ['version', '--client', '-o', 'json'], { encoding: 'utf8' });
  if (found.error !== undefined) return 'kubectl is not installed';
  const minor = Number.parseInt(textAt(parsed(found.stdout), 'clientVersion', 'minor'), 10);
  return minor >= LEAST_MINOR ? undefined : `kubectl is older than 1.${LEAST_MINOR}`;
}

export interface Kubectl {
  /** Runs it to its end. */
  run(args: readonly string[], input?: string, env?: Readonly<Record<string, string>>): Promise<Result>;
  /** Starts it, for `-w` and `wait`. */
  start(args: readonly string[]): Started;
}

export interface Started {
  output(): string;
  /** Resolves when it ends by itself. */
  readonly ended: Promise<Result>;
  stop(): Promise<void>;
}

function collect(child: ChildProcess): { result: Promise<Result>; output: () => string } {
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const result = once(child, 'close').then(([code]: unknown[]) => ({
    code: typeof code === 'number' ? code : null,
    stdout,
    stderr,
  }));
  return { result, output: () => stdout };
}

export function kubectlWith(kubeconfig: string): Kubectl {
  // Its discovery cache must not outlive the test, nor be somebody else's.
  const home = mkdtempSync(join(tmpdir(), 'troupe-kubectl-'));
  const launch = (args: readonly string[], more: Readonly<Record<string, string>> = {}): ChildProcess =>
    spawn('kubectl', [...args], {
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: home,
        KUBECONFIG: kubeconfig,
        KUBECACHEDIR: join(home, 'cache'),
        // It lives for less than a second: to collect garbage took a quarter of its processor time.
        ...{ GOGC: 'off', GOMEMLIMIT: '256MiB' },
        ...more,
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  return {
    async run(args, input, env) {
      const child = launch(args, env);
      const { result } = collect(child);
      child.stdin?.end(input ?? '');
      const timer = setTimeout(() => child.kill('SIGKILL'), COMMAND_MS);
      try {
        return await result;
      } finally {
        clearTimeout(timer);
      }
    },
    start(args) {
      const child = launch(args);
      const { result, output } = collect(child);
      child.stdin?.end();
      return {
        output,
        ended: result,
        async stop() {
          if (child.exitCode === null) child.kill('SIGTERM');
          await result;
        },
      };
    },
  };
}
