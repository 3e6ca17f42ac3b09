/**
 * Prepares what work sees of this machine's system: `/usr` and what belongs to it, and a prepared copy of the harmless part of
 * `/etc`. Nothing of `/home`, `/root`, `/var`, `/srv`, `/opt` or the rest of `/etc` is ever shown.
 *
 * `/etc` is copied, so that each box needs one mount instead of thirty and nothing changes under running work; a start of the
 * runner makes a new copy only when something changed. Only world-readable entries are copied, and links are copied as links.
 *
 * Work may write to its root, and could put a link of its own in the place of `/bin` and the like, under what is started there next.
 * Where the root belongs to the runner (`work/scratch.ts`) a link cannot be moved or removed from inside, and they are links as on
 * the machine; elsewhere they are mounts, which cannot either, but are dearer.
 */
import { createHash, type Hash } from 'node:crypto';
import {
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { Mount, Skeleton } from './isolation.js';

export interface SystemView {
  readonly mounts: readonly Mount[];
  readonly links: Skeleton['links'];
  /** Directories inside that are shown empty. */
  readonly masked: readonly string[];
}

/** Found by name under /etc; what does not exist is left out. No file here may hold a password or a host's secret. */
const ETC = [
  'alternatives',
  'bash.bashrc',
  'crypto-policies',
  'debian_version',
  'fonts',
  'gai.conf',
  'host.conf',
  'inputrc',
  'java',
  'java-8-openjdk',
  'java-11-openjdk',
  'java-17-openjdk',
  'java-21-openjdk',
  'java-25-openjdk',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'locale.alias',
  'locale.conf',
  'localtime',
  'magic',
  'magic.mime',
  'mime.types',
  'openmpi',
  'OpenCL',
  'os-release',
  'perl',
  'pki/ca-trust/extracted',
  'pki/tls/certs',
  'pki/tls/cert.pem',
  'pki/tls/openssl.cnf',
  'protocols',
  'python3',
  'python3.9',
  'python3.10',
  'python3.11',
  'python3.12',
  'python3.13',
  'python3.14',
  'R',
  'rpc',
  'services',
  'shells',
  'ssl/cert.pem',
  'ssl/certs',
  'ssl/openssl.cnf',
  'terminfo',
  'timezone',
  'vulkan',
];

const GENERATED: Readonly<Record<string, string>> = {
  passwd: 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n',
  group: 'root:x:0:\nnogroup:x:65534:\n',
  hosts: '127.0.0.1 localhost\n::1 localhost\n',
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n',
};

/** Top-level names that are links into /usr on merged systems and directories on others. */
const TOP = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'];

/**
 * Copies /etc to `directory/etc`; `shown` is the same directory as the isolate's user reaches it. `fixedRoot`: work cannot take away what
 * the runner put into its root.
 */
export async function prepareSystem(
  directory: string,
  shown: string,
  hidden: readonly string[],
  fixedRoot: boolean,
): Promise<SystemView> {
  const etc = join(directory, 'etc');
  const stamp = join(directory, 'stamp');
  const hash = createHash('sha256').update(JSON.stringify([ETC, GENERATED]));
  for (const name of ETC) describe(join('/etc', name), hash);
  const wanted = hash.digest('hex');
  if ((await readFile(stamp, 'utf8').catch(() => '')) !== wanted) {
    await rm(directory, { recursive: true, force: true });
    await mkdir(etc, { recursive: true, mode: 0o755 });
    for (const name of ETC) {
      mkdirSync(dirname(join(etc, name)), { recursive: true, mode: 0o755 });
      copyReadable(join('/etc', name), join(etc, name));
    }
    for (const [name, text] of Object.entries(GENERATED)) await writeFile(join(etc, name), text, { mode: 0o644 });
    // Whatever the umask that this process was started with.
    await chmod(directory, 0o755);
    await chmod(etc, 0o755);
    // Last, so that a copy that was broken off is made again.
    await writeFile(stamp, wanted, { mode: 0o644 });
  }
  const mounts: Mount[] = [{ source: '/usr', target: '/usr', readOnly: true }];
  const links: [string, string][] = [];
  for (const name of TOP) {
    const path = `/${name}`;
    if (!isDirectory(path)) continue;
    const source = realpathSync(path);
    if (fixedRoot && source.startsWith('/usr/')) links.push([path, relative('/', source)]);
    else mounts.push({ source, target: path, readOnly: true });
  }
  const masked = hidden.filter(isDirectory).flatMap((path) => shownAt(path, mounts));
  return { mounts: [...mounts, { source: join(shown, 'etc'), target: '/etc', readOnly: true }], links, masked };
}

/** All that tells whether a copy is still like its original. */
function describe(path: string, hash: Hash): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  hash.update(`${path}\0${found.mode}\0${found.size}\0${found.mtimeMs}\0${found.ctimeMs}\n`);
  if (found.isDirectory() && (found.mode & 0o004) !== 0) {
    for (const name of readdirSync(path).toSorted()) describe(join(path, name), hash);
  }
}

/** Synchronously: it happens before anything else runs, and is faster so. */
function copyReadable(from: string, to: string): void {
  const found = lstatSync(from, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (found.isSymbolicLink()) return symlinkSync(readlinkSync(from), to);
  if ((found.mode & 0o004) === 0) return;
  if (found.isFile()) return copyFileSync(from, to);
  if (!found.isDirectory()) return;
  mkdirSync(to, { mode: 0o755 });
  for (const name of readdirSync(from)) copyReadable(join(from, name), join(to, name));
}

/** Every path inside under which the mounts show this one of the host. */
export function shownAt(path: string, mounts: readonly Mount[]): string[] {
  return mounts.flatMap(({ source, target }) => {
    const inner = relative(source, path);
    return inner === '' || inner.startsWith('..') ? [] : [join(target, inner)];
  });
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
