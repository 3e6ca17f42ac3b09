/**
 * Owns the staging of inputs, so that the work's user can read them though it may not enter where they lie: a file that all
 * may read is linked into the scratch, another one copied; an archive is unpacked there. All are mounted read-only, but for
 * a writable one: that is unpacked into the work's own files, where they hold its path.
 */
import { mkdirSync } from 'node:fs';
import { chown, copyFile, link, realpath, stat } from 'node:fs/promises';
import { join, normalize, relative } from 'node:path';
import type { Mount } from '../isolation/isolation.js';
import type { Group } from '../limits/groups.js';
import { runTool } from '../process/tool.js';
import type { WireOrder } from '../protocol/messages.js';
import { unpack } from './archive.js';
import type { WorkDeps } from './deps.js';
import { isInside } from './inside.js';
import type { Part } from './scratch.js';

export type Staged =
  | { readonly kind: 'mounts'; readonly mounts: readonly Mount[] }
  | { readonly kind: 'failed'; readonly reason: string; readonly message: string };

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

/** Parts of the scratch that staging needs. */
export function inputParts(order: WireOrder): Part[] {
  const parts: Part[] = [];
  if (order.inputs.some((input) => input.unpack === 'no')) parts.push('inputs');
  if (order.inputs.some((input) => input.unpack !== 'no')) parts.push('unpacked');
  return parts;
}

export async function stageInputs(
  order: WireOrder,
  writable: readonly (readonly [string, Part])[],
  hostId: number | undefined,
  group: Group,
  deps: WorkDeps,
  signal: AbortSignal,
): Promise<Staged> {
  const mounts: Mount[] = [];
  for (const [index, input] of order.inputs.entries()) {
    if (signal.aborted) break;
    const own = input.writable === true ? writable.find(([target]) => isInside(target, input.path)) : undefined;
    if (own !== undefined && input.unpack !== 'no') {
      const [target, part] = own;
      const directory = join(deps.scratch.shownPath(order.id, part), relative(target, normalize(input.path)));
      const { source: archive, unpack: format } = input;
      try {
        await unpack({ archive, format, directory, hostId, entrances: group.entrances, signal });
      } catch (error) {
        return failed(`${input.path}: ${error instanceof Error ? error.message : String(error)}`);
      }
      continue;
    }
    if (!mayMount(input.path)) return failed(`${input.path} is no place for an input`);
    const part = input.unpack === 'no' ? 'inputs' : 'unpacked';
    const real = join(deps.scratch.realPath(order.id, part), String(index));
    const shown = join(deps.scratch.shownPath(order.id, part), String(index));
    try {
      if (input.unpack === 'no') await show(input.source, real, hostId, signal);
      else {
        mkdirSync(real, { mode: 0o700 });
        if (hostId !== undefined) deps.scratch.own(real, hostId);
        const archive = await realpath(input.source);
        const format = input.unpack;
        await unpack({ archive, format, directory: shown, hostId, entrances: group.entrances, signal });
      }
      mounts.push({ source: shown, target: normalize(input.path), readOnly: input.writable !== true });
    } catch (error) {
      return failed(`${input.path}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { kind: 'mounts', mounts };
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

function failed(message: string): Staged {
  return { kind: 'failed', reason: 'InputFailed', message };
}
