/**
 * Starts a runner: detached in a session of its own, under the lock of its directory (so that two services that
 * start at once get one runner), with nothing of the service's environment, and its output in a file. As root it gets a mount
 * namespace of its own, in which it may mount without anybody seeing it.
 */
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, realpathSync, statSync, truncateSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OWN_MOUNTS } from '../../../runner/isolation/own-mounts.js';
import { claimDirectory, layoutOf, runnerIdOf, runtimeRoot, type Layout } from '../shared/plain-name.js';
import type { RunnerSettings } from '../../../runner/settings.js';

export interface RunnerPlace {
  readonly layout: Layout;
  readonly settings: RunnerSettings;
  /** User that the runner runs as: our own, or as root any other. */
  readonly uid: number;
}

/** The runner's own output is diagnostics; beyond this it starts anew. */
const MAX_OUTPUT = 4 * 1024 * 1024;
/** A runner that is just ending still holds the lock. */
const LOCK_SECONDS = 10;
/** Megabytes. A runner holds states and pipes, no output; a small heap also makes its forks cheap. */
const HEAP = ['--max-old-space-size=192', '--max-semi-space-size=2'];

/** Makes the directories and fixes where things lie. Throws when they are another user's. */
export function placeRunner(
  runnerDir: string,
  clusterId: string,
  settings: Omit<RunnerSettings, 'runnerDir' | 'runtimeDir' | 'runnerId'>,
  uid: number = process.getuid?.() ?? 0,
): RunnerPlace {
  mkdirSync(dirname(runnerDir), { recursive: true, mode: 0o700 });
  claimDirectory(runnerDir, 0o700, uid);
  const real = realpathSync(runnerDir);
  const runnerId = runnerIdOf(clusterId, real);
  const root = runtimeRoot(uid, uid === process.getuid?.() ? process.env['XDG_RUNTIME_DIR'] : undefined);
  // Work's users must pass through to their own scratch, and can list nothing on the way.
  const mode = uid === 0 ? 0o711 : 0o700;
  claimDirectory(root, mode, uid);
  const runtimeDir = `${root}/${runnerId}`;
  claimDirectory(runtimeDir, mode, uid);
  const layout = layoutOf(real, runtimeDir);
  claimDirectory(layout.api, mode, uid);
  return { layout, settings: { ...settings, runnerDir: real, runtimeDir, runnerId }, uid };
}

/** Returns once the program was started; whether it serves is seen by connecting. A second one waits at the lock, then ends. */
export function startRunner(place: RunnerPlace, onEnd: (code: number) => void): void {
  const { layout, settings, uid } = place;
  if ((statSync(layout.output, { throwIfNoEntry: false })?.size ?? 0) > MAX_OUTPUT) truncateSync(layout.output);
  const output = openSync(layout.output, 'a', 0o600);
  const node = [process.execPath, ...HEAP, ownRunner(), JSON.stringify(settings)];
  const script = `${LIMITS}; ${uid === 0 ? MOUNT_NAMESPACE : 'exec "$@"'}`;
  const locked = ['--timeout', String(LOCK_SECONDS), '--no-fork', layout.lock, 'sh', '-c', script, 'sh', ...node];
  const child = spawn('flock', locked, {
    detached: true,
    cwd: '/',
    // Two arenas: the thread pool's would otherwise each keep memory that every fork has to copy the maps of.
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', MALLOC_ARENA_MAX: '2' },
    stdio: ['ignore', output, output],
    ...(uid === process.getuid?.() ? {} : { uid, gid: uid }),
  });
  child.once('error', () => onEnd(127));
  child.once('exit', (code) => onEnd(code ?? 137));
  child.unref();
  closeSync(output);
}

/**
 * For the runner and all that it starts. At most 65,536 open files each: enough for a runner with thousands of boxes, and no work makes
 * the kernel keep more. No memory of a program that crashed goes to a file, nor (a limit of one byte, unlike zero, means that too) to
 * the machine's handler of dumps, which is the machine's root and would parse what work made.
 */
const LIMITS = 'ulimit -n 65536 2>/dev/null; prlimit --core=1 --pid $$ 2>/dev/null || ulimit -c 0';

/** In a container that may not unshare mounts, the runner goes on without; its own probes tell what it can do. */
const MOUNT_NAMESPACE = `unshare --mount --propagation slave true 2>/dev/null && exec unshare --mount --propagation slave env ${OWN_MOUNTS}=1 "$@"; exec "$@"`;

function ownRunner(): string {
  return fileURLToPath(new URL('../../../runner/main.js', import.meta.url));
}

/** What the runner said last: why it could not start, when it could not. */
export function lastWords(place: RunnerPlace): string {
  try {
    return readFileSync(place.layout.output, 'utf8').trim().split('\n').at(-1) ?? '';
  } catch {
    return 'it said nothing';
  }
}

/** Waits with growing pauses, from 10 ms to 2 s; `attempt` counts from 0. */
export function pause(attempt: number, signal: AbortSignal): Promise<void> {
  return delay(Math.min(10 * 1.3 ** attempt, 2000), undefined, { signal });
}
