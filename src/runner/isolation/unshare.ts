/**
 * Isolation with nothing but util-linux: `unshare`, `mount`, `pivot_root`, `setpriv`. Slower than bubblewrap (some
 * twenty small programs per box), for machines that do not have it, or whose kernel lets only root make user namespaces.
 *
 * Two scripts go over pipes, never over a command line (I11). The first builds the box as its pid 1: as root it is the real root in new
 * namespaces, whose mounts the work's user namespace then does not own; without root it is the root of that user namespace. Then pid 1
 * becomes the work's user without capabilities, for good, and stays as the reaper. The second script sets the exact environment and becomes
 * the command; a holder becomes pid 1 in the reaper's place. Before that nothing that the order says is executed, nor is its environment set.
 */
import { readFileSync } from 'node:fs';
import { bareScript } from '../../engines/compute/shared/script.js';
import {
  DEVICES,
  holding,
  secretsSize,
  skeletonOf,
  STATUS_FD,
  TERMINALS,
  words,
  type Box,
  type Command,
  type Holder,
  type Isolation,
  type Mount,
  type Plan,
  type Skeleton,
} from './isolation.js';
import type { SystemView } from './system.js';

export interface UnshareSettings {
  /** Empty directory on which the box's root is mounted, in its own mount namespace; no link leads to it. */
  readonly rootDir: string;
  /** Found in the command line of everything that lives outside of the box. */
  readonly marker: string;
  readonly asRoot: boolean;
  /** Brings the loopback up; absent where `ip` is not installed. */
  readonly ip: string | undefined;
  /** Words before a command that put the filter of system calls on. */
  readonly filtered: readonly string[];
}

/** Programs are looked for here, by the trusted stages only. */
const PATH = 'PATH=/usr/sbin:/usr/bin:/sbin:/bin; export PATH';
/** The signal again: a change of user takes it away. */
const DROP = ['setpriv', '--pdeathsig', 'KILL', '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all', '--'];
const SHOW = bareScript(readFileSync(new URL('unshare-show.sh', import.meta.url), 'utf8'));
const FORBID_NESTED = 'echo 0 >/proc/sys/user/max_user_namespaces';
/** Where a holder's socket waits while the shell reads its script; above all that a plan opens, and one digit, as shells want it. */
const SOCKET_FD = 9;

export function unshare(settings: UnshareSettings, view: SystemView): Isolation {
  const skeleton = skeletonOf(view);
  return {
    name: 'unshare',
    skeleton,
    gates: false,
    box: (box, command, firstFeed) => {
      // What comes next: the second script, or the program of a holder.
      const build = Buffer.from(buildScript(settings, { ...view, skeleton }, box, command, firstFeed + 1));
      if ('interpreter' in command) return scripted(settings, box, firstFeed, [build], command.program);
      return scripted(settings, box, firstFeed, [build, Buffer.from(commandScript(box, command))]);
    },
  };
}

function unshareCommand(settings: UnshareSettings): string[] {
  const user = settings.asRoot ? '' : '--user --map-root-user';
  const namespaces = '--mount --propagation private --pid --net --ipc --uts --cgroup';
  // Dies with the runner: the signal is for unshare, which passes it on to the box's first process.
  return words(`setpriv --pdeathsig KILL unshare ${user} ${namespaces} --fork --kill-child=KILL --`);
}

/** A shell that reads its script from the first feed. */
function scripted(
  settings: UnshareSettings,
  box: Box,
  firstFeed: number,
  feeds: readonly Buffer[],
  held?: string,
): Plan {
  const kept = held !== undefined ? `${SOCKET_FD}<&0 ` : '';
  const redirect = `${PATH}; exec "$@" ${kept}<&${firstFeed} ${firstFeed}<&-`;
  return {
    file: '/bin/sh',
    args: ['-c', redirect, settings.marker, ...unshareCommand(settings), '/bin/sh', '-s', settings.marker],
    hostId: undefined,
    owner: box.hostId,
    feeds,
    attachments: held === undefined ? [] : [held],
  };
}

function buildScript(
  settings: UnshareSettings,
  view: SystemView & { readonly skeleton: Skeleton },
  box: Box,
  command: Command | Holder,
  next: number,
): string {
  const lines = [
    'set -eu',
    'umask 022',
    SHOW,
    // The old /proc still counts in the host's numbers.
    'read -r pid rest </proc/self/stat',
    `echo "{ \\"child-pid\\": $pid }" >&${STATUS_FD}`,
    ...rootOf(settings, view.skeleton, box),
    ...view.mounts.flatMap((mount) => bind(settings, mount)),
    ...view.masked.map((path) => `mount -n -t tmpfs -o ro,mode=0755,size=4k hidden ${quote(`.${path}`)}`),
    'mount -n -t proc -o nosuid,nodev,noexec proc proc',
    'mount -n -t tmpfs -o mode=0755,nosuid,size=64k dev dev; mkdir dev/pts dev/shm',
    ...DEVICES.map((name) => `: >dev/${name}; mount -n --bind /dev/${name} dev/${name}`),
    'for n in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${n%%:*}" "dev/${n#*:}"; done; ln -s /proc/self/fd dev/fd',
    `mount -n -t devpts -o ${TERMINALS},nosuid,noexec devpts dev/pts; ln -s pts/ptmx dev/ptmx`,
    `mount -n -t tmpfs -o mode=1777,nosuid,nodev,size=${box.shmBytes} shm dev/shm`,
    'mount -n -o remount,bind,ro,nosuid dev',
    ...(box.tmpBytes === undefined ? [] : [`mount -n -t tmpfs -o mode=1777,nosuid,nodev,size=${box.tmpBytes} tmp tmp`]),
    ...box.directories.map((path) => makeDirectory(quote(`.${path}`))),
    ...box.mounts.flatMap((mount) => bind(settings, mount)),
    ...secrets(box),
    `hostname ${quote(box.hostname)} 2>/dev/null || :`,
    settings.ip === undefined ? ':' : `${settings.ip} link set lo up`,
    // For a moment the old root lies over what is mounted there: no directory has to be made and removed for it.
    'pivot_root . tmp',
    'cd /',
    'umount -n -l /tmp',
    ...(box.root === undefined ? ['mount -n -o remount,bind,ro,nosuid,nodev /'] : []),
    ...(settings.asRoot ? [] : [FORBID_NESTED]),
    ...('interpreter' in command
      ? [`exec ${become(settings, box, `${limitsOf(box).join(' ')} ${holderOf(command, next)}`)}`]
      : [`exec ${become(settings, box, `sh -c ${quote(reaper(next))}`)}`]),
  ];
  return `${lines.join('\n')}\n`;
}

/** Pid 1 beside a command: the work's user as well, without capabilities. It reaps, and tells how the command ended. */
function reaper(descriptor: number): string {
  const lines = [
    'rc=0',
    `sh -s <&${descriptor} ${descriptor}<&- || rc=$?`,
    `echo "{ \\"exit-code\\": $rc }" >&${STATUS_FD}`,
    'exit $rc',
  ];
  return lines.join('; ');
}

/** It gets an environment of its own for each command. */
function holderOf(holder: Holder, descriptor: number): string {
  return `/usr/bin/env -i ${holding(holder, descriptor).map(quote).join(' ')} <&${SOCKET_FD} ${SOCKET_FD}<&- ${STATUS_FD}>&-`;
}

/** From pid 1 to the work's user without capabilities. */
function become(settings: UnshareSettings, box: Box, last: string): string {
  const drop = [...DROP, ...settings.filtered.map(quote)].join(' ');
  if (!settings.asRoot) return `${drop} ${last}`;
  const user = `setpriv --reuid ${box.hostId} --regid ${box.hostId} --clear-groups -- unshare --user --map-root-user --`;
  return `${user} sh -c ${quote(`${FORBID_NESTED}; exec "$@"`)} sh ${drop} ${last}`;
}

function limitsOf(box: Box): readonly string[] {
  if (box.rlimits === undefined) return [];
  return ['/usr/bin/prlimit', `--nproc=${box.rlimits.processes}`, `--data=${box.rlimits.data}`, '--'];
}

/** The last stage. A program that is not there is told of on the status, since its exit code could be the program's own. */
function commandScript(box: Box, { command, env, workingDir }: Command): string {
  const plain = Object.entries(env).filter(([name]) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  // Names that no shell can export; `env` can.
  const odd = Object.entries(env).filter(([name]) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  const [program] = command as [string];
  const prefix = [
    ...limitsOf(box),
    ...(odd.length === 0 ? [] : ['/usr/bin/env', ...odd.map(([name, value]) => `${name}=${value}`)]),
  ];
  const lines = [
    `fail() { echo "execvp $1" >&2; echo '{ "not-executed": 1 }' >&${STATUS_FD}; exit 127; }`,
    `cd ${quote(workingDir)} 2>/dev/null || fail "cannot chdir to "${quote(workingDir)}`,
    // Where programs are found when the order names no PATH; not part of the environment.
    `unset PATH OLDPWD; PATH=/usr/local/bin:/usr/bin:/bin`,
    ...plain.map(([name, value]) => `export ${name}=${quote(value)}`),
    ...('PWD' in env ? [] : ['export PWD']),
    `command -v ${quote(program)} >/dev/null 2>&1 || fail ${quote(`${program}: No such file or directory`)}`,
    ...(program.includes('/') ? [`[ -x ${quote(program)} ] || fail ${quote(`${program}: Permission denied`)}`] : []),
    // What is there can still be too long to be executed, which ends the shell.
    `trap 'echo "{ \\"not-executed\\": 1 }" >&${STATUS_FD}' EXIT`,
    `exec ${[...prefix, ...command].map(quote).join(' ')} </dev/null ${STATUS_FD}>&-`,
  ];
  return `${lines.join('\n')}\n`;
}

/** Mounts the root of the box and goes there. */
function rootOf(settings: UnshareSettings, skeleton: Skeleton, box: Box): string[] {
  const at = quote(settings.rootDir);
  if (box.root !== undefined) {
    return [`mount -n --bind ${quote(box.root)} ${at}`, `mount -n -o remount,bind,nosuid,nodev ${at}`, `cd ${at}`];
  }
  return [
    `mount -n -t tmpfs -o mode=0755,nosuid,nodev,size=4m root ${at}`,
    `cd ${at}`,
    `mkdir ${skeleton.directories.map((path) => quote(`.${path}`)).join(' ')}`,
    ...skeleton.links.map(([path, target]) => `ln -s ${quote(target)} ${quote(`.${path}`)}`),
  ];
}

/** Without a process where it is there already. */
function makeDirectory(path: string): string {
  return `[ -d ${path} ] || mkdir -p ${path}`;
}

function bind({ rootDir }: UnshareSettings, mount: Mount): string[] {
  const target = quote(`.${mount.target}`);
  const source = quote(mount.source);
  return [
    // A file is mounted on a file.
    `if [ -d ${source} ]; then ${makeDirectory(target)}; elif [ ! -e ${target} ]; then mkdir -p "$(dirname ${target})"; : >${target}; fi`,
    `show ${source} ${target} ${quote(inMountTable(rootDir + mount.target))} ${mount.readOnly ? 'ro' : 'rw'}`,
  ];
}

/** As `/proc/self/mountinfo` writes a path. */
function inMountTable(path: string): string {
  return path.replace(/[ \t\n\\#]/g, (sign) => `\\${sign.charCodeAt(0).toString(8).padStart(3, '0')}`);
}

function secrets(box: Box): string[] {
  const target = quote(`.${box.secretsDir}`);
  const owner = box.hostId === undefined ? '' : `,uid=${box.hostId},gid=${box.hostId}`;
  const size = secretsSize(box.secretFiles);
  const names = [...box.secretFiles.keys()].map((name) => `${target}/${quote(name)}`);
  return [
    makeDirectory(target),
    `mount -n -t tmpfs -o mode=0700,nosuid,nodev,size=${size}${owner} secrets ${target}`,
    'umask 077',
    ...[...box.secretFiles].map(([name, bytes]) => `printf ${quote(octal(bytes))} >${target}/${quote(name)}`),
    ...(names.length === 0 ? [] : [`chmod 0400 ${names.join(' ')}`]),
    ...(names.length === 0 || box.hostId === undefined ? [] : [`chown ${box.hostId}:${box.hostId} ${names.join(' ')}`]),
    'umask 022',
    `mount -n -o remount,bind,ro,nosuid,nodev ${target}`,
  ];
}

function octal(bytes: Buffer): string {
  return Array.from(bytes, (byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
}

/** For a shell, as one word. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
