/**
 * Owns the staging of inputs, so that the work's user can read them though it may not enter where they lie: a file that all
 * may read is linked into the scratch, another one copied; an archive is unpacked there. All are mounted read-only, but for
 * a writable one: that is unpacked into the work's own files, where they hold its path.
 */
import { chown, copyFile, link, realpath, stat } from 'node:fs/promises';
import { join, normalize, relative } from 'node:path';
import type { Mount } from '../isolation/isolation.js';
import type { Group } from '../limits/groups.js';
import { runTool } from '../process/tool.js';
import type { WireOrder } from '../protocol/messages.js';
import type { WorkDeps } from './deps.js';
import { isInside } from './inside.js';
import type { Part, Place } from './scratch.js';
import { unpack } from './unpack.js';

export type Staged =
  | { readonly kind: 'mounts'; readonly mounts: readonly Mount[] }
  | { readonly kind: 'failed'; readonly reason: string; readonly message: string };

type Input = WireOrder['inputs'][number];

/** Nothing may be mounted over these, nor anything above them. */
const SYSTEM = [
  '/usr',
  '/etc',
  '/proc',
  '/dev',
  '/run',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/var',
];

/** Parts of the scratch that staging needs: an archive is shown in one, unpacked into the other. */
export function inputParts(order: WireOrder): Part[] {
  if (order.inputs.length === 0) return [];
  return order.inputs.some((input) => input.unpack !== 'no') ? ['inputs', 'unpacked'] : ['inputs'];
}

export async function stageInputs(
  order: WireOrder,
  writable: readonly (readonly [string, Part])[],
  place: Place,
  group: Group,
  deps: WorkDeps,
  signal: AbortSignal,
): Promise<Staged> {
  const mounts: Mount[] = [];
  for (const [index, input] of order.inputs.entries()) {
    if (signal.aborted) break;
    try {
      const number = String(index);
      await show(input.source, join(place.realPath('inputs'), number), place.hostId, signal);
      let source = join(place.shownPath('inputs'), number);
      if (input.unpack !== 'no') {
        const into = await directoryFor(input, index, writable, place);
        await unpack({
          order,
          archive: source,
          format: input.unpack,
          directory: into.shown,
          place,
          group,
          deps,
          signal,
        });
        if (into.own) continue;
        source = into.shown;
      }
      if (!mayMount(input.path)) throw new Error('no place for an input');
      mounts.push({ source, target: normalize(input.path), readOnly: input.writable !== true });
    } catch (error) {
      const message = `${input.path}: ${error instanceof Error ? error.message : String(error)}`;
      return { kind: 'failed', reason: 'InputFailed', message };
    }
  }
  return { kind: 'mounts', mounts };
}

/** Where an archive goes: among the work's own files when it is writable and its path lies there, else to a place of its own. */
async function directoryFor(
  input: Input,
  index: number,
  writable: readonly (readonly [string, Part])[],
  place: Place,
): Promise<{ readonly shown: string; readonly own: boolean }> {
  const own = input.writable === true ? writable.find(([target]) => isInside(target, input.path)) : undefined;
  if (own === undefined) {
    await place.add(join(place.realPath('unpacked'), String(index)));
    return { shown: join(place.shownPath('unpacked'), String(index)), own: false };
  }
  const [target, part] = own;
  const inner = relative(target, normalize(input.path));
  // An archive before this one may have put a link on the way.
  const real = join(place.realPath(part), inner);
  if ((await realpath(real)) !== (await realpath(place.realPath(part))) + (inner === '' ? '' : `/${inner}`)) {
    throw new Error('the way there leads through a link');
  }
  return { shown: join(place.shownPath(part), inner), own: true };
}

async function show(source: string, target: string, hostId: number | undefined, signal: AbortSignal): Promise<void> {
  const path = await realpath(source);
  const found = await stat(path);
  if (found.isDirectory()) {
    const copied = await runTool({ file: 'cp', args: ['-R', '--reflink=auto', '--', path, target], signal });
    if (copied.exitCode !== 0) throw new Error(copied.said);
    if (hostId === undefined) return;
    await runTool({ file: 'chown', args: ['-R', '-h', `${hostId}:${hostId}`, '--', target], signal });
    return;
  }
  if (!found.isFile()) throw new Error('neither a file nor a directory');
  if (hostId === undefined || (found.mode & 0o004) !== 0) {
    try {
      return await link(path, target);
    } catch {
      // Another file system: copy.
    }
  }
  await copyFile(path, target);
  if (hostId !== undefined) await chown(target, hostId, hostId);
}

function mayMount(path: string): boolean {
  const clean = normalize(path);
  return (
    path.startsWith('/') && clean !== '/' && !SYSTEM.some((name) => clean === name || clean.startsWith(`${name}/`))
  );
}
