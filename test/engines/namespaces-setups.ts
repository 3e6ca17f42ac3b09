/**
 * The ways in which the embedded engine can be set up on this machine, as a table for the contract and the runner's own tests:
 * each isolation, as root and as a plain user. As root the plain user's runner is started as one that has no name.
 */
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, statSync, type Dirent } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { silentLog } from '../../src/engines/compute/shared/log/stored-log.js';
import { openAt } from '../../src/engines/compute/embedded/open.js';
import { placeRunner, type RunnerPlace } from '../../src/engines/compute/embedded/start-runner.js';
import type { ComputeEngine } from '../../src/engines/compute/contract/engine.js';
import { runnerSettings, type RunnerSettings } from '../../src/runner/settings.js';
import { runTool } from '../../src/engines/compute/shared/tool.js';
import { signalAll } from '../../src/runner/process/tree.js';
import { WHOLE } from '../support/extent.js';
import { ORG_LOG_BYTES } from './compute-harness.js';
import { findProgram } from '../../src/engines/compute/shared/find-program.js';

/** Neither root nor anybody who has processes or files. */
const PLAIN_USER = 54_321;

export interface Setup {
  readonly title: string;
  /** `auto`: as root a zygote makes the boxes that are entered, bubblewrap the others. */
  readonly isolation: 'auto' | 'bubblewrap' | 'unshare';
  readonly uid: number;
  /** Why it cannot be tried here. */
  readonly skip: string | undefined;
}

const own = process.getuid?.() ?? 0;

/** As root the boxes that are entered are a zygote's, and bubblewrap's all others: so both are tried by `auto`. */
const asRoot = own === 0 ? [setupOf('auto', 0), setupOf('unshare', 0)] : [];
const asPlainUser = (['bubblewrap', 'unshare'] as const).map((isolation) =>
  setupOf(isolation, own === 0 ? PLAIN_USER : own),
);
const every = [...asRoot, ...asPlainUser];

/** The first that can be tried here. That of util-linux alone takes four times the processor time of bubblewrap. */
const oneOf = (some: readonly Setup[]): readonly Setup[] => {
  const possible = some.filter(({ skip }) => skip === undefined);
  return (possible.length > 0 ? possible : some).slice(0, 1);
};

/** All of them in CI; else two, one of each user where it can be. */
export const setups: readonly Setup[] = WHOLE || own !== 0 ? every : [...oneOf(asRoot), ...oneOf(asPlainUser)];

/** Where no zygote can be, such as on an older kernel. */
export const withoutZygote: readonly Setup[] = own === 0 ? [setupOf('bubblewrap', 0)] : [];

function setupOf(isolation: Setup['isolation'], uid: number): Setup {
  const way = isolation === 'auto' ? 'zygote' : isolation;
  return {
    title: `${way} as ${uid === 0 ? 'root' : 'a plain user'}`,
    isolation,
    uid,
    skip: lacking(isolation),
  };
}

function lacking(isolation: Setup['isolation']): string | undefined {
  const needed = isolation === 'unshare' ? ['unshare', 'perl', 'setpriv', 'flock'] : ['bwrap', 'perl', 'flock'];
  const missing = [...needed, 'zstd'].filter((name) => findProgram(name) === undefined);
  return missing.length === 0 ? undefined : `needs ${missing.join(' and ')}`;
}

/** One data directory with its runner, and what is left on the machine when it is gone. */
export class EngineFixture {
  readonly place: RunnerPlace;
  readonly base: string;
  readonly setup: Setup;

  private constructor(setup: Setup, base: string, place: RunnerPlace) {
    this.setup = setup;
    this.base = base;
    this.place = place;
  }

  static make(setup: Setup, more: Partial<RunnerSettings> = {}): EngineFixture {
    // Mode 0700, as under a closed home: no user of any work may enter it.
    const base = mkdtempSync(join(tmpdir(), 'troupe-engine-'));
    if (setup.uid !== own) chownSync(base, setup.uid, setup.uid);
    const settings = runnerSettings.omit({ runnerDir: true, runtimeDir: true, runnerId: true }).parse({
      ...{ isolation: setup.isolation, idleSeconds: 20, diskSeconds: 0.2, spares: 4, hidden: [base] },
      ...{ orgLogBytes: ORG_LOG_BYTES, ...more },
    });
    return new EngineFixture(setup, base, placeRunner(join(base, 'runner'), base, settings, setup.uid));
  }

  open(epoch = 1): Promise<ComputeEngine> {
    return openAt(this.place, epoch, silentLog, ['127.0.0.1/32']);
  }

  /** A directory in which tests put inputs. */
  files(): string {
    return mkdtempSync(join(this.base, 'files-'));
  }

  /** Gives files to the runner's user, when it is another. */
  share(path: string): void {
    if (this.setup.uid === own) return;
    chownSync(path, this.setup.uid, this.setup.uid);
    if (!statSync(path).isDirectory()) return;
    for (const name of readdirSync(path)) this.share(join(path, name));
  }

  runnerPid(): number | undefined {
    const found = processes()
      .filter(
        ({ command }) =>
          command.includes('runner/main.js') &&
          command.includes(this.place.settings.runnerId) &&
          !command.startsWith('sh'),
      )
      .map(({ pid }) => pid);
    // A child that it has forked and not yet executed looks like it, may have the lower number, and is gone in a moment.
    return found.find((pid) => {
      const parent = parentOf(pid);
      return parent !== undefined && !found.includes(parent);
    });
  }

  /** Everything of this runner's work that is still on the machine; nothing, when all is well. */
  leftOver(): string[] {
    const { layout, settings } = this.place;
    const marker = `troupe-${settings.runnerId}`;
    const found = processes()
      .filter(({ command }) => command.split('\0').includes(marker))
      .map(({ pid, command }) => `process ${pid} ${command.replaceAll('\0', ' ')}`);
    found.push(...this.groups().flatMap((base) => groupsBelow(base).map((path) => `group ${path}`)));
    for (const place of readdirSync(layout.scratch).filter((name) => !name.startsWith('.'))) {
      for (const part of readdirSync(join(layout.scratch, place))) {
        const path = join(layout.scratch, place, part);
        if (part === 'root') found.push(...filesBelow(path).map((file) => `scratch ${file}`));
        else if (!['workspace', 'outputs', 'state', 'home'].includes(part)) found.push(`scratch ${path}`);
        else if (entriesBelow(path).length > 0) found.push(`scratch in ${path}`);
      }
    }
    const runner = this.runnerPid();
    const mounts = readFileSync(`/proc/${runner ?? 'self'}/mounts`, 'utf8').split('\n');
    for (const mount of mounts) {
      if (mount.includes(settings.runnerId) && !mount.includes(layout.scratchMount)) found.push(`mount ${mount}`);
    }
    return found;
  }

  /** Our directory in each tree of control groups. */
  private groups(): string[] {
    return ['memory', 'cpu', 'pids', 'cpu,cpuacct', 'unified', '.']
      .map((tree) => join('/sys/fs/cgroup', tree, `troupe-${this.place.settings.runnerId}`))
      .filter((path) => existsSync(path));
  }

  /** Ends the runner, also one that is just being started, and removes everything. */
  async clean(): Promise<void> {
    for (let pid = this.runnerPid(); pid !== undefined; pid = this.runnerPid()) {
      process.kill(pid, 'SIGKILL');
      await delay(5);
    }
    for (const path of this.groups().flatMap((base) => [...groupsBelow(base), base])) {
      // Work dies with its runner, but not in the same instant; what the runner was making then waits for the next one to end it.
      for (let attempt = 0; attempt < 100 && existsSync(path); attempt++) {
        if (attempt > 20) signalAll(processesIn(path), 'SIGKILL');
        await rmdir(path).catch(() => delay(20));
      }
    }
    for (const path of [this.place.settings.runtimeDir, this.base]) {
      // Trees may be deeper than a path can be long, which Node's own removal does not take.
      for (let attempt = 0; attempt < 10 && existsSync(path); attempt++) {
        await runTool({ file: 'rm', args: ['-rf', '--', path] });
      }
    }
  }
}

function groupsBelow(base: string): string[] {
  return readdirSync(base, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(base, entry.name));
}

function processesIn(group: string): number[] {
  return readFileSync(join(group, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
}

/** What is made or removed meanwhile may be missing. */
function entriesBelow(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? [entry, ...entriesBelow(join(directory, entry.name))] : [entry],
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Undefined: it is gone. */
function parentOf(pid: number): number | undefined {
  try {
    return Number(/\) \S (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1]);
  } catch {
    return undefined;
  }
}

/** All but directories and the links that every root has. */
function filesBelow(root: string): string[] {
  return entriesBelow(root)
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !/^(var\/(tmp|run)|s?bin|lib|lib32|lib64|libx32)$/.test(relative(root, path)));
}

function processes(): { readonly pid: number; readonly command: string }[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      return [{ pid: Number(name), command: readFileSync(`/proc/${name}/cmdline`, 'latin1') }];
    } catch {
      return [];
    }
  });
}
