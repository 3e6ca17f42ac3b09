/**
 * Owns isolation by bubblewrap. One process is executed per start: the runner's child becomes the box's user, then bwrap.
 * All options go over a pipe, not the command line, because they hold the environment (I11) and paths of the host.
 *
 * A box that is entered later (`hold`) may not use `--disable-userns`, since whoever enters it as a plain user must have
 * capabilities in the namespace that owns its mounts. Its nested namespaces are forbidden by `seal` before anything enters.
 */
import { children, descendants } from '../process/tree.js';
import type { SystemView } from './system.js';
import {
  entering,
  skeletonOf,
  STATUS_FD,
  words,
  type Box,
  type Command,
  type Isolation,
  type Plan,
  type Skeleton,
} from './isolation.js';

export interface BubblewrapPrograms {
  readonly bwrap: string;
  readonly nsenter: string;
  readonly prlimit: string | undefined;
  readonly asRoot: boolean;
  /** File with the filter of system calls; undefined on machines that we have none for. */
  readonly filter: string | undefined;
}

/** Prints one line once every mount is in place, then waits for its end. */
const HOLD = ['/bin/sh', '-c', 'echo ready; exec sleep 2147483647'];

/** `marker` stands on the command line, so that a following runner finds what was left over without groups of its own. */
export function bubblewrap(programs: BubblewrapPrograms, view: SystemView, marker: string): Isolation {
  const skeleton = skeletonOf(view.mounts);
  const system = systemOptions(view, skeleton);
  return {
    name: 'bubblewrap',
    skeleton,
    box: (box, command, firstFeed) => boxPlan({ ...programs, marker }, system, box, command, firstFeed),
    enter: (box, pid, command, firstFeed) => enterPlan({ ...programs, marker }, box, pid, command, firstFeed),
    // nsenter → bwrap → the command: signals are for the command.
    entered: (pid) => children(pid).flatMap((bwrap) => descendants(bwrap)),
    seal: (pid) => {
      const [file = '', ...args] = entering(programs.nsenter, pid, '-U', programs.asRoot);
      args.push('/bin/sh', '-c', 'echo 0 >/proc/sys/user/max_user_namespaces');
      return { file, args, hostId: undefined, owner: undefined, feeds: [] };
    },
  };
}

interface SystemOptions {
  readonly namespaces: readonly string[];
  /** Of a root that has no skeleton yet. */
  readonly skeleton: readonly string[];
  readonly mounts: readonly string[];
}

function systemOptions(view: SystemView, skeleton: Skeleton): SystemOptions {
  return {
    namespaces: words(
      '--unshare-all --unshare-user --uid 0 --gid 0 --new-session --die-with-parent --clearenv --cap-drop ALL',
    ),
    skeleton: [
      ...skeleton.directories.flatMap((path) => ['--dir', path]),
      ...skeleton.links.flatMap(([path, target]) => ['--symlink', target, path]),
    ],
    mounts: [
      ...view.mounts.flatMap((mount) => [mount.readOnly ? '--ro-bind' : '--bind', mount.source, mount.target]),
      ...view.masked.flatMap((path) => ['--tmpfs', path, '--remount-ro', path]),
      ...words('--proc /proc --dev /dev'),
    ],
  };
}

function boxPlan(
  programs: BubblewrapPrograms & { readonly marker: string },
  system: SystemOptions,
  box: Box,
  command: Command | 'hold',
  firstFeed: number,
): Plan {
  const root = box.root === undefined ? system.skeleton : ['--bind', box.root, '/'];
  const options = [...system.namespaces, ...root, ...system.mounts];
  options.push('--size', String(box.shmBytes), '--perms', '1777', '--tmpfs', '/dev/shm', '--remount-ro', '/dev');
  if (box.tmpBytes !== undefined) options.push('--size', String(box.tmpBytes), '--perms', '1777', '--tmpfs', '/tmp');
  for (const path of box.directories) options.push('--dir', path);
  for (const mount of box.mounts) options.push(mount.readOnly ? '--ro-bind' : '--bind', mount.source, mount.target);
  options.push('--perms', '0700', '--tmpfs', box.secretsDir);
  const feeds: Buffer[] = [];
  for (const [name, bytes] of box.secretFiles) {
    feeds.push(bytes);
    // The options themselves are the first feed.
    options.push('--perms', '0400', '--file', String(firstFeed + feeds.length), `${box.secretsDir}/${name}`);
  }
  options.push('--remount-ro', box.secretsDir, '--hostname', box.hostname);
  if (box.root === undefined) options.push('--remount-ro', '/');
  options.push('--json-status-fd', String(STATUS_FD));
  if (command === 'hold') return plan(programs, box, options, HOLD, firstFeed, feeds);
  options.push('--disable-userns', '--chdir', command.workingDir, ...environment(command));
  return plan(programs, box, options, command.command, firstFeed, feeds);
}

/** Enters the namespaces, then lets bwrap set the exact environment, drop everything and report, as it does for a box. */
function enterPlan(
  programs: BubblewrapPrograms & { readonly marker: string },
  box: Box,
  pid: number,
  command: Command,
  firstFeed: number,
): Plan {
  const options = [
    ...words('--dev-bind / / --new-session --die-with-parent --clearenv --cap-drop ALL --json-status-fd'),
    String(STATUS_FD),
    ...(command.apart === true ? ['--unshare-uts'] : []),
    '--chdir',
    command.workingDir,
    ...environment(command),
  ];
  const inner = plan(programs, box, options, command.command, firstFeed, []);
  const [file = '', ...enter] = entering(programs.nsenter, pid, '-U -m -p -n -i -u', programs.asRoot);
  return { ...inner, file, args: [...enter, inner.file, ...inner.args], hostId: undefined, input: command.apart };
}

function plan(
  programs: BubblewrapPrograms & { readonly marker: string },
  box: Box,
  options: readonly string[],
  command: readonly string[],
  firstFeed: number,
  feeds: readonly Buffer[],
): Plan {
  const limited =
    box.rlimits === undefined || programs.prlimit === undefined
      ? command
      : [programs.prlimit, `--nproc=${box.rlimits.processes}`, `--data=${box.rlimits.data}`, '--', ...command];
  const filter = programs.filter === undefined ? [] : ['--seccomp', String(firstFeed + 1 + feeds.length)];
  const all = [...options, ...filter];
  return {
    file: programs.bwrap,
    args: ['--args', String(firstFeed), '--unsetenv', programs.marker, '--', ...limited],
    hostId: box.hostId,
    owner: box.hostId,
    feeds: [Buffer.from(all.map((option) => `${option}\0`).join('')), ...feeds],
    attachment: programs.filter,
  };
}

function environment(command: Command): string[] {
  return Object.entries(command.env).flatMap(([name, value]) => ['--setenv', name, value]);
}
