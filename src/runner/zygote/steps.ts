/**
 * The order for a box that a zygote makes: the user it runs as, and the steps that make its files, in the order in which they are taken. Pure: what
 * a box shows is decided here, and carried out there (`zygote.pl`). The same box as those of `../isolation/bubblewrap.ts`.
 *
 * On the wire it is one field, of fields (`../protocol/fields.ts`), of which each step is one that holds fields again.
 */
import { encodeFields } from '../protocol/fields.js';
import { DEVICES, secretsSize, skeletonOf, TERMINALS, type Box } from '../isolation/isolation.js';
import type { SystemView } from '../isolation/system.js';

/**
 * `bind` shows a path of the machine, with all that is mounted below it; `mount` a new file system; `seal` changes how a mount is shown;
 * `dir` makes a directory with its parents, `link` a symbolic link, `file` one that only its owner reads. Paths are those of the box,
 * and are followed in it, but for the source of `bind`. Attributes and flags are sums of those below.
 */
export type Step =
  | readonly ['bind', source: string, target: string, attributes: number]
  | readonly ['mount', type: string, target: string, flags: number, options: string]
  | readonly ['seal', target: string, attributes: number]
  | readonly ['dir', path: string]
  | readonly ['link', path: string, target: string]
  | readonly ['file', path: string, bytes: Buffer];

/** MOUNT_ATTR_* of linux/mount.h, which are MS_* as well. */
const READ_ONLY = 1;
const NO_SETUID = 2;
const NO_DEVICES = 4;
const NO_EXECUTION = 8;
const PLAIN = NO_SETUID | NO_DEVICES;

const DEVICE_LINKS = [
  ['stdin', '/proc/self/fd/0'],
  ['stdout', '/proc/self/fd/1'],
  ['stderr', '/proc/self/fd/2'],
  ['fd', '/proc/self/fd'],
  ['ptmx', 'pts/ptmx'],
] as const;

export interface Making {
  readonly box: Box;
  /** Where the agent of the box is to listen. */
  readonly socket: string;
  /** Files of control groups: a process that writes `0` there is inside. */
  readonly memberFiles: readonly string[];
}

export function encodeMaking(view: SystemView, { box, socket, memberFiles }: Making): Buffer {
  const { root = '', hostId = '', hostname, rlimits } = box;
  const making = encodeFields([
    socket,
    root,
    String(hostId),
    hostname,
    String(rlimits?.processes ?? ''),
    String(rlimits?.data ?? ''),
    String(memberFiles.length),
    ...memberFiles,
    ...stepsOf(view, box).map((step) =>
      encodeFields(step.map((field) => (Buffer.isBuffer(field) ? field : String(field)))),
    ),
  ]);
  return encodeFields([making]);
}

export function stepsOf(view: SystemView, box: Box): readonly Step[] {
  const skeleton = skeletonOf(view);
  const owner = box.hostId === undefined ? '' : `,uid=${box.hostId},gid=${box.hostId}`;
  const memory = (target: string, mode: string, size: number): Step => [
    'mount',
    'tmpfs',
    target,
    PLAIN,
    `mode=${mode},size=${size}${owner}`,
  ];
  return [
    ...(box.root === undefined
      ? [
          ...skeleton.directories.map((path): Step => ['dir', path]),
          ...skeleton.links.map(([path, target]): Step => ['link', path, target]),
        ]
      : []),
    ...view.mounts.map(shown),
    ...view.masked.map((path): Step => ['mount', 'tmpfs', path, PLAIN | READ_ONLY, 'mode=0755,size=4k']),
    ['mount', 'proc', '/proc', PLAIN | NO_EXECUTION, ''],
    ['mount', 'tmpfs', '/dev', NO_SETUID, 'mode=0755,size=64k'],
    ...DEVICES.map((name): Step => ['bind', `/dev/${name}`, `/dev/${name}`, NO_SETUID]),
    ...DEVICE_LINKS.map(([name, target]): Step => ['link', `/dev/${name}`, target]),
    ['dir', '/dev/pts'],
    ['mount', 'devpts', '/dev/pts', NO_SETUID | NO_EXECUTION, TERMINALS],
    ['dir', '/dev/shm'],
    memory('/dev/shm', '1777', box.shmBytes),
    ['seal', '/dev', READ_ONLY | NO_SETUID],
    ...(box.tmpBytes === undefined ? [] : [memory('/tmp', '1777', box.tmpBytes)]),
    ...box.directories.map((path): Step => ['dir', path]),
    ...box.mounts.map(shown),
    ['dir', box.secretsDir],
    memory(box.secretsDir, '0700', secretsSize(box.secretFiles)),
    ...[...box.secretFiles].map(([name, bytes]): Step => ['file', `${box.secretsDir}/${name}`, bytes]),
    ['seal', box.secretsDir, READ_ONLY | PLAIN],
    ...(box.root === undefined ? [['seal', '/', READ_ONLY | PLAIN] as const] : []),
  ];
}

function shown({ source, target, readOnly }: Box['mounts'][number]): Step {
  return ['bind', source, target, readOnly ? PLAIN | READ_ONLY : PLAIN];
}
