/**
 * Stages inputs, so that the work's user can read them though it may not enter where they lie: a file that all
 * may read is linked into the scratch, another one copied; an archive is unpacked there. All are mounted read-only, but for
 * a writable one: that is unpacked into the work's own files, where they hold its path.
 */
import { chown, copyFile, link, lstat, realpath, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { faultOfFiles, type FaultReason } from '../../kinds/attempt/faults.js';
import type { Mount } from '../isolation/isolation.js';
import type { Group } from '../limits/groups.js';
import { runTool } from '../../engines/compute/shared/tool.js';
import type { WireOrder } from '../protocol/messages.js';
import type { WorkDeps } from './deps.js';
import { isInside } from '../../engines/compute/shared/is-inside.js';
import type { ScratchArea, ScratchSlot } from './scratch.js';
import { mayMount, ownParts, mappingAt, withinPart, type PathMapping } from './path-map.js';
import { unpack } from './unpack.js';

export type Staged =
  | {
      readonly kind: 'mounts';
      readonly mounts: readonly Mount[];
      /** What of the work's saved files could not be restored. */
      readonly unrestored: string | undefined;
    }
  | { readonly kind: 'failed'; readonly reason: FaultReason; readonly message: string };

type Input = WireOrder['inputs'][number];

/** Parts of the scratch that staging needs: an archive is shown in one, unpacked into the other. */
export function inputParts(spec: WireOrder): ScratchArea[] {
  if (spec.inputs.length === 0) return [];
  return spec.inputs.some((input) => input.unpack !== 'no') ? ['inputs', 'unpacked'] : ['inputs'];
}

export async function stageInputs(
  spec: WireOrder,
  slot: ScratchSlot,
  group: Group,
  deps: WorkDeps,
  signal: AbortSignal,
): Promise<Staged> {
  const mounts: Mount[] = [];
  let unrestored: string | undefined;
  for (const [index, input] of spec.inputs.entries()) {
    if (signal.aborted) break;
    try {
      const number = String(index);
      await show(input.source, join(slot.realPath('inputs'), number), slot.hostId, signal);
      let source = join(slot.shownPath('inputs'), number);
      if (input.unpack !== 'no') {
        const into = await directoryFor(spec, input, index, slot);
        const unpacked = await unpack({
          spec,
          archive: source,
          format: input.unpack,
          directory: into.shown,
          slot,
          group,
          deps,
          signal,
        });
        if (unpacked.outcome === 'Part') {
          if (input.saved !== true) throw new Error(unpacked.message);
          unrestored = `${input.path}: ${unpacked.message}`;
        }
        if (into.own) continue;
        source = into.shown;
      }
      const path = resolve('/', input.path);
      // One inside of another would be mounted along paths that the archive's author made.
      const nested = mounts.some(({ target }) => isInside(target, path) || isInside(path, target));
      if (nested || !mayMount(spec, input.path)) throw new Error('no place for an input');
      mounts.push({ source, target: path, readOnly: input.writable !== true });
    } catch (error) {
      const message = `${input.path}: ${error instanceof Error ? error.message : String(error)}`;
      return { kind: 'failed', reason: faultOfFiles(error, 'InputFailed'), message };
    }
  }
  return (await throughLinks(spec, slot, mounts)) ?? { kind: 'mounts', mounts, unrestored };
}

/** Where an archive goes: among the work's own files when it is writable and its path lies there, else to a place of its own. */
async function directoryFor(
  spec: WireOrder,
  input: Input,
  index: number,
  slot: ScratchSlot,
): Promise<{ readonly shown: string; readonly own: boolean }> {
  const path = resolve('/', input.path);
  const mapping = mappingAt(ownParts(spec), path);
  // Never into the root: what an archive brings would be in the way of the mounts.
  if (input.writable !== true || mapping.part === undefined || mapping.part === 'root') {
    await slot.add(join(slot.realPath('unpacked'), String(index)));
    return { shown: join(slot.shownPath('unpacked'), String(index)), own: false };
  }
  const inner = withinPart(mapping, path);
  if (await leadsThroughLink(slot, mapping, path)) throw new Error(THROUGH_LINK);
  return { shown: join(slot.shownPath(mapping.part), inner), own: true };
}

const THROUGH_LINK = 'the way there leads through a link';

/** Mounts inside of what an archive was unpacked into. */
async function throughLinks(spec: WireOrder, slot: ScratchSlot, mounts: readonly Mount[]): Promise<Staged | undefined> {
  const parts = ownParts(spec);
  for (const { target } of mounts) {
    if (!(await leadsThroughLink(slot, mappingAt(parts, target), target))) continue;
    return { kind: 'failed', reason: 'InputFailed', message: `${target}: ${THROUGH_LINK}` };
  }
  return undefined;
}

/** An archive may have put a link on the way to this path. */
async function leadsThroughLink(slot: ScratchSlot, mapping: PathMapping, path: string): Promise<boolean> {
  if (mapping.part === undefined) return false;
  let real = slot.realPath(mapping.part);
  for (const name of withinPart(mapping, path).split('/').filter(Boolean)) {
    real = join(real, name);
    const found = await lstat(real).catch(() => undefined);
    if (found === undefined) return false;
    if (found.isSymbolicLink()) return true;
  }
  return false;
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
