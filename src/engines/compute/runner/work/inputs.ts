/**
 * Owns the staging of inputs, so that the work's user can read them though it may not enter where they lie.
 */
import { chown, copyFile, link, realpath, stat } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import type { Mount } from '../isolation/isolation.js';
import type { WireOrder } from '../protocol/messages.js';
import type { WorkDeps } from './deps.js';

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

export async function stageInputs(
  order: WireOrder,
  hostId: number | undefined,
  deps: WorkDeps,
  signal: AbortSignal,
): Promise<Staged> {
  const mounts: Mount[] = [];
  for (const [index, input] of order.inputs.entries()) {
    if (signal.aborted) break;
    if (!mayMount(input.path)) return failed(`${input.path} is no place for an input`);
    try {
      await stage(order.id, index, input.source, hostId, deps);
      const source = join(deps.scratch.shownPath(order.id, 'inputs'), String(index));
      mounts.push({ source, target: normalize(input.path), readOnly: true });
    } catch (error) {
      return failed(`${input.path}: ${(error as Error).message}`);
    }
  }
  return { kind: 'mounts', mounts };
}

async function stage(
  id: string,
  index: number,
  source: string,
  hostId: number | undefined,
  deps: WorkDeps,
): Promise<void> {
  const target = join(deps.scratch.realPath(id, 'inputs'), String(index));
  const path = await realpath(source);
  const found = await stat(path);
  if (hostId === undefined || (found.mode & 0o004) !== 0) {
    try {
      return await link(path, target);
    } catch {
      // Another file system.
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
