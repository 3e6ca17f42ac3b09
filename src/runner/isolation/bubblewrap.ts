/**
 * Isolation by bubblewrap. One process is executed per start: the runner's child becomes the box's user, then bwrap.
 * All options go over a pipe, not the command line, because they hold the environment (I11) and paths of the host.
 */
import type { SystemView } from './system.js';
import {
  holding,
  skeletonOf,
  STATUS_FD,
  words,
  type Box,
  type Command,
  type Holder,
  type Isolation,
  type Plan,
  type Skeleton,
} from './isolation.js';

export interface BubblewrapPrograms {
  readonly bwrap: string;
  readonly prlimit: string | undefined;
  /** File with the filter of system calls; undefined on machines that we have none for. */
  readonly filter: string | undefined;
}

/** `marker` stands on the command line, so that a following runner finds what was left over without groups of its own. */
export function bubblewrap(programs: BubblewrapPrograms, view: SystemView, marker: string): Isolation {
  const skeleton = skeletonOf(view);
  const system = systemOptions(view, skeleton);
  return {
    name: 'bubblewrap',
    skeleton,
    gates: true,
    box: (box, command, firstFeed) => boxPlan({ ...programs, marker }, system, box, command, firstFeed),
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
  command: Command | Holder,
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
  options.push('--disable-userns');
  if ('interpreter' in command) options.push('--as-pid-1', '--chdir', '/');
  else options.push('--chdir', command.workingDir, ...environment(command));
  return plan(programs, box, options, command, firstFeed, feeds);
}

function plan(
  programs: BubblewrapPrograms & { readonly marker: string },
  box: Box,
  options: readonly string[],
  command: Command | Holder,
  firstFeed: number,
  feeds: readonly Buffer[],
): Plan {
  const attachments: string[] = [];
  // The options themselves are the first feed.
  const attached = (path: string): number => firstFeed + feeds.length + attachments.push(path);
  const filter = programs.filter === undefined ? [] : ['--seccomp', String(attached(programs.filter))];
  const run = 'interpreter' in command ? holding(command, attached(command.program)) : command.command;
  const limited =
    box.rlimits === undefined || programs.prlimit === undefined
      ? run
      : [programs.prlimit, `--nproc=${box.rlimits.processes}`, `--data=${box.rlimits.data}`, '--', ...run];
  // Last, so that nothing else shares its descriptor.
  const gate = box.gated === true ? ['--block-fd', String(firstFeed + 1 + feeds.length + attachments.length)] : [];
  const all = [...options, ...filter, ...gate];
  return {
    file: programs.bwrap,
    args: ['--args', String(firstFeed), '--unsetenv', programs.marker, '--', ...limited],
    hostId: box.hostId,
    owner: box.hostId,
    feeds: [Buffer.from(all.map((option) => `${option}\0`).join('')), ...feeds],
    attachments,
    gate: box.gated,
  };
}

function environment(command: Command): string[] {
  return Object.entries(command.env).flatMap(([name, value]) => ['--setenv', name, value]);
}
