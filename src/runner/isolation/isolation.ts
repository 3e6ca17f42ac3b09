/**
 * What isolation is to the rest of the runner: a way to turn a box (what work may see and have) and a command into
 * something that can be spawned. `bubblewrap.ts` and `unshare.ts` are the two ways; both are pure builders of plans, so they
 * can be read and tested without a machine. `launch.ts` carries plans out. As root, boxes that are entered are made by neither, where a
 * zygote can (`../zygote/`), which gives the same.
 *
 * What every way gives: user, mount, pid, network (loopback only), IPC and host name namespaces of the box's own; uid 0
 * inside, mapped to an unprivileged user outside; no capabilities, no new privileges, no nested user namespaces; the
 * machine's system read-only without its users' data; the given mounts and nothing else; a bare /dev and /proc.
 */

/** A host path shown inside. */
export interface Mount {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}

/** What one piece of work may see and have. */
export interface Box {
  /**
   * Host directory that becomes `/`, for the work to write to: the isolation's `skeleton` is in it, and nothing that anybody else
   * made, since mounts are put into it along its paths. Undefined: an empty `/` on memory that cannot be written.
   */
  readonly root: string | undefined;
  /** Host user and group; undefined: the runner's own (when it is not root). */
  readonly hostId: number | undefined;
  readonly hostname: string;
  readonly mounts: readonly Mount[];
  /** Made empty inside, before the mounts. */
  readonly directories: readonly string[];
  /** Directory of the secret files, on memory, and what is in it. */
  readonly secretsDir: string;
  readonly secretFiles: ReadonlyMap<string, Buffer>;
  /** Bytes of /tmp in memory; undefined: /tmp is among the mounts. */
  readonly tmpBytes: number | undefined;
  /** Bytes of /dev/shm. */
  readonly shmBytes: number;
  /** Per-process limits for machines without control groups. */
  readonly rlimits: { readonly data: number; readonly processes: number } | undefined;
  /** The command is not executed before it is let (`Launched.pass`). Only where the isolation `gates`, and not for a holder. */
  readonly gated?: boolean | undefined;
}

export interface Command {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly workingDir: string;
}

/** What runs in a box as its first process and is spoken to by the socket that is its descriptor 0 (`agent/`). */
export interface Holder {
  readonly interpreter: string;
  /** Path of a host file that everybody may read. It comes open, not as a word of the command line: lists of processes stay short. */
  readonly program: string;
  readonly args: readonly string[];
}

/** Something to spawn. File descriptors: 0 nothing or the socket of a holder, 1 and 2 output, STATUS_FD status lines, then the feeds. */
export interface Plan {
  readonly file: string;
  readonly args: readonly string[];
  /** User to become before anything is executed. */
  readonly hostId: number | undefined;
  /** Who may open the output again, as /dev/stdout; undefined: the runner's own user. */
  readonly owner: number | undefined;
  /** Bytes offered on the descriptors after the status and the group's member files, in this order. */
  readonly feeds: readonly Buffer[];
  /** Paths of files that are offered to read, on the descriptors after the feeds. */
  readonly attachments: readonly string[];
  /** The command waits for a byte on the descriptor after these. */
  readonly gate?: boolean | undefined;
}

/** What the root of a box holds before anything is mounted in it. */
export interface Skeleton {
  /** Parents before children. */
  readonly directories: readonly string[];
  /** Path inside → target of the link; relative, so that followed from the host it leads nowhere else. */
  readonly links: readonly (readonly [string, string])[];
}

export interface Isolation {
  readonly name: string;
  readonly skeleton: Skeleton;
  /** It can keep a command waiting when everything else is there. */
  readonly gates: boolean;
  /** A fresh box with the command in it, or with a holder, which prints one line when it is ready. */
  box(box: Box, command: Command | Holder, firstFeed: number): Plan;
}

const PLAIN = ['/proc', '/dev', '/tmp', '/run', '/var'];
const LINKS = [
  ['/var/tmp', '../tmp'],
  ['/var/run', '../run'],
] as const;

/** That of every way: the system's mounts and links, and what programs look for anywhere. */
export function skeletonOf(view: { readonly mounts: readonly Mount[]; readonly links: Skeleton['links'] }): Skeleton {
  return { directories: [...view.mounts.map(({ target }) => target), ...PLAIN], links: [...LINKS, ...view.links] };
}

/** Bound into /dev; a terminal's own come from its devpts. */
export const DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty'];

/**
 * How a box's devpts is mounted. The kernel has one table of pseudo-terminals for all (`kernel.pty.max`, of which it keeps
 * `kernel.pty.reserve` for the machine's own): `max` is so much of it for one box, twice the commands that it may have.
 */
export const TERMINALS = 'newinstance,ptmxmode=0666,mode=0620,max=256';

/** Bytes of the memory that holds the secret files, with room for their names. */
export function secretsSize(files: ReadonlyMap<string, Buffer>): number {
  return [...files.values()].reduce((sum, { length }) => sum + Math.ceil(length / 4096) * 4096, 65_536);
}

/** A box like those of work, with nothing in it, by which a way to make them is tried. */
export function trialBox(hostId: number | undefined): Box {
  return {
    root: undefined,
    hostId,
    hostname: 'work',
    mounts: [],
    directories: [],
    secretsDir: '/run/secrets',
    secretFiles: new Map(),
    tmpBytes: 1 << 20,
    shmBytes: 1 << 20,
    rlimits: undefined,
  };
}

/** Where the isolation writes `{"child-pid": n}` and, once a command ran and ended, `{"exit-code": n}`. */
export const STATUS_FD = 3;

/** The command line of a holder whose program is open as this descriptor. */
export function holding({ interpreter, args }: Holder, descriptor: number): readonly string[] {
  return [interpreter, `/proc/self/fd/${descriptor}`, ...args];
}

/** Options that hold no blanks, written as one would type them. */
export function words(text: string): string[] {
  return text.split(/\s+/).filter(Boolean);
}
