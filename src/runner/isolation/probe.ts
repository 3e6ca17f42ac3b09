/**
 * Chooses a way to isolate: builds each wanted way and tries it for real, with a box like those of work; the first
 * that works is taken. Where none does, the reason that is shown says what each of them lacked.
 */
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { release } from 'node:os';
import { join } from 'node:path';
import { findProgram } from '../../engines/compute/shared/find-program.js';
import { bubblewrap } from './bubblewrap.js';
import { firstFeed, launch } from '../process/launch.js';
import type { Pipes } from '../process/pipes.js';
import { trialBox, type Isolation, type Plan } from './isolation.js';
import { underFilter } from './filtered.js';
import { seccompFilter } from './seccomp.js';
import { prepareSystem, type SystemView } from './system.js';
import { unshare } from './unshare.js';

export interface ProbeSettings {
  readonly wanted: 'auto' | 'bubblewrap' | 'unshare';
  readonly uid: number;
  readonly hostId: number | undefined;
  readonly systemDir: string;
  readonly shownSystemDir: string;
  readonly hidden: readonly string[];
  readonly marker: string;
  readonly pipes: Pipes;
}

export interface Probed {
  readonly isolation: Isolation;
  /** The machine's system, as boxes see it. */
  readonly view: SystemView;
  readonly refusal: string | undefined;
  /** The number of processes can be bounded without control groups. */
  readonly limitsProcesses: boolean;
}

/** A trial that takes longer is as good as a failure. */
const TRIAL_MS = 10_000;

export async function openIsolation(settings: ProbeSettings): Promise<Probed> {
  const { systemDir, shownSystemDir, hidden, uid } = settings;
  const view = await prepareSystem(systemDir, shownSystemDir, hidden, uid === 0);
  const bwrap = findProgram('bwrap');
  if (settings.uid === 0 && settings.hostId === undefined) {
    return { ...NOTHING, view, refusal: 'no range of user ids is free for work' };
  }
  const lacks: string[] = [];
  const ways: Isolation[] = [];
  if (settings.wanted !== 'unshare') {
    if (bwrap === undefined) lacks.push('bubblewrap is not installed');
    else
      ways.push(
        bubblewrap({ bwrap, prlimit: findProgram('prlimit'), filter: writeFilter(settings) }, view, settings.marker),
      );
  }
  if (settings.wanted !== 'bubblewrap') {
    const missing = ['unshare', 'setpriv', 'mount', 'pivot_root'].filter((name) => findProgram(name) === undefined);
    if (missing.length > 0) lacks.push(`not installed: ${missing.join(', ')}`);
    else {
      const directory = join(settings.systemDir, 'root');
      mkdirSync(directory, { recursive: true });
      const rootDir = realpathSync(directory);
      const { marker } = settings;
      const perl = findProgram('perl');
      const filtered = perl === undefined ? [] : underFilter(perl, process.arch, seccompFilter(process.arch));
      ways.push(unshare({ rootDir, marker, asRoot: uid === 0, ip: findProgram('ip'), filtered }, view));
    }
  }
  for (const isolation of ways) {
    const problem = await tryOut(isolation, settings);
    if (problem === undefined) return { isolation, view, refusal: undefined, limitsProcesses: countsPerNamespace() };
    lacks.push(`${isolation.name}: ${problem}`);
  }
  return { ...NOTHING, view, isolation: ways[0] ?? nothing, refusal: lacks.join('; ') };
}

/** Beside the system's copy; opened anew for every start. */
function writeFilter(settings: ProbeSettings): string | undefined {
  const filter = seccompFilter(process.arch);
  if (filter === undefined) return undefined;
  const path = join(settings.systemDir, 'filter');
  writeFileSync(path, filter, { mode: 0o600 });
  return path;
}

/** Since 5.14 the kernel counts RLIMIT_NPROC per user namespace, so that it bounds one box and not all of a user's processes. */
function countsPerNamespace(): boolean {
  const [major = 0, minor = 0] = release().split('.').map(Number);
  return findProgram('prlimit') !== undefined && (major > 5 || (major === 5 && minor >= 14));
}

/** Undefined when a command ran in a box; else what was said. */
async function tryOut(isolation: Isolation, settings: ProbeSettings): Promise<string | undefined> {
  const command = { command: ['/bin/sh', '-c', 'exit 42'], env: {}, workingDir: '/' };
  const trial = await launch(
    isolation.box(trialBox(settings.hostId), command, firstFeed(0)),
    [],
    settings.pipes,
    undefined,
  );
  const timer = setTimeout(() => trial.kill(), TRIAL_MS);
  const exit = await trial.exited;
  await trial.drained;
  clearTimeout(timer);
  trial.release();
  if (exit.executed && exit.exitCode === 42) return undefined;
  return exit.error.trim().split('\n')[0] || `the trial ended with ${exit.exitCode}`;
}

const refused: Plan = { file: '/bin/false', args: [], hostId: undefined, owner: undefined, feeds: [], attachments: [] };

const nothing: Isolation = {
  name: 'none',
  skeleton: { directories: [], links: [] },
  gates: false,
  box: () => refused,
};

const NOTHING = { isolation: nothing, limitsProcesses: false };
