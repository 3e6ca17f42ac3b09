/**
 * Finds the control groups that the runner may use: it tries to make our own directory and one group in it, in each tree
 * that is mounted, and believes only what worked. First version trees are used per controller; what is left is looked for in
 * the second version's tree.
 *
 * As root our directory lies at the top of each tree (as container daemons do it); otherwise below the group in which we run.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { machineProcesses, numberIn, roomWithin } from '../../engines/compute/shared/process-share.js';
import { noGroups, type Groups } from './groups.js';
import { openV1, writeWhereKnown, type Controller } from './v1.js';
import { openV2 } from './v2.js';

const WANTED: readonly Controller[] = ['memory', 'cpu', 'pids'];

/**
 * `name` becomes the directory's name; the same after every restart, so that left-overs are found. `memory`: of the machine, in bytes, by
 * which its process ids are shared out.
 */
export function probeGroups(name: string, uid: number, memory: number): Groups {
  const mounts = parseMounts(read('/proc/self/mounts'));
  const own = parseOwn(read('/proc/self/cgroup'));
  const bases = new Map<Controller, string>();
  for (const controller of WANTED) {
    const mount = mounts.find((entry) => entry.type === 'cgroup' && entry.options.includes(controller));
    if (mount === undefined) continue;
    const base = join(mount.path, uid === 0 ? '/' : (own.get(controller) ?? '/'), name);
    if (usable(base)) bases.set(controller, base);
  }
  const pids = bases.get('pids');
  if (bases.size > 0) return openV1(bases, { memory, processes: pids === undefined ? undefined : boundAll(pids) });
  const unified = mounts.find((entry) => entry.type === 'cgroup2');
  if (unified === undefined) return noGroups;
  const parents =
    uid === 0 ? [unified.path, join(unified.path, own.get('') ?? '/')] : [join(unified.path, own.get('') ?? '/')];
  for (const parent of parents) {
    const controllers = enable(parent, join(parent, name));
    const base = join(parent, name);
    const processes = controllers.has('pids') ? boundAll(base) : undefined;
    if (controllers.size > 0) return openV2(base, controllers, { memory, processes });
  }
  return noGroups;
}

interface MountEntry {
  readonly path: string;
  readonly type: string;
  readonly options: readonly string[];
}

export function parseMounts(text: string): MountEntry[] {
  return text.split('\n').flatMap((line) => {
    const [, path, type, options] = line.split(' ');
    return path !== undefined && type?.startsWith('cgroup') === true
      ? [{ path, type, options: options?.split(',') ?? [] }]
      : [];
  });
}

/** Controller → path of the group in which this process runs; '' for the second version's tree. */
export function parseOwn(text: string): Map<string, string> {
  const paths = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue;
    for (const controller of controllers.split(',')) paths.set(controller, path);
  }
  return paths;
}

function usable(base: string): boolean {
  try {
    mkdirSync(base, { recursive: true });
    mkdirSync(join(base, 'probe'), { recursive: true });
    rmdirSync(join(base, 'probe'));
    return true;
  } catch {
    return false;
  }
}

/** Switches the wanted controllers on for the groups below `base`; answers those that came on. */
function enable(parent: string, base: string): Set<Controller> {
  const enabled = new Set<Controller>();
  if (!usable(base)) return enabled;
  for (const controller of WANTED) {
    try {
      writeFileSync(join(parent, 'cgroup.subtree_control'), `+${controller}`);
      writeFileSync(join(base, 'cgroup.subtree_control'), `+${controller}`);
    } catch {
      // Not delegated to us, or the parent holds processes; what counts is what the base says.
    }
  }
  const on = read(join(base, 'cgroup.subtree_control')).split(/\s+/);
  for (const controller of WANTED) if (on.includes(controller)) enabled.add(controller);
  return enabled;
}

/**
 * Bounds the processes of all boxes together, so that the table of process ids has room for the service, Postgres and the machine. Answers
 * the bound; undefined when none is known.
 */
export function boundAll(base: string): number | undefined {
  const most = roomWithin([...machineProcesses(), ...boundsAbove(base)]);
  if (most === undefined) return undefined;
  // Where it cannot be written, the parts of boxes are all there is.
  writeWhereKnown(base, 'pids.max', most);
  return most;
}

/** Of the groups around ours, such as that of a container or of a unit of systemd with a bound of its own. */
function boundsAbove(base: string): number[] {
  const bounds: number[] = [];
  for (let path = dirname(base); existsSync(join(path, 'cgroup.procs')); path = dirname(path)) {
    const bound = numberIn(join(path, 'pids.max'));
    if (bound !== undefined) bounds.push(bound);
  }
  return bounds;
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
