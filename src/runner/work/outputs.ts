/**
 * Takes outputs from work of which nothing runs any more. What lies there was made by the Job's author,
 * so nothing outside of the work's own parts of the scratch is ever followed, opened or named.
 *
 * A file is taken by a second link to it (no bytes are copied, and the scratch can go); a directory becomes a tar.zst in which
 * links stay links. Owner and mode become the runner's.
 */
import { chmod, chown, link, lstat, mkdir, opendir, readlink, stat, unlink } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import type { OutputFile } from '../../engines/compute/contract/engine.js';
import { uncollected } from '../../engines/compute/shared/save-outputs.js';
import { runTool } from '../../engines/compute/shared/tool.js';
import { logicalSize } from './logical-size.js';
import { pack } from './pack.js';
import { machineFault } from '../../engines/compute/shared/machine-fault.js';
import { OutputRoom } from '../../engines/compute/shared/output-room.js';
import { isInside } from '../../engines/compute/shared/is-inside.js';
import { mappingAt, pathMapOf, resolveFrom, withinPart, type OutputOrder, type PathMapping } from './path-map.js';
import type { ScratchFiles } from './scratch.js';

/** Links that are followed on the way to one output. */
const MAX_LINKS = 40;

/** `settled`: what was taken, or can never be, at an earlier try. */
export async function collectOutputs(
  order: OutputOrder,
  slot: ScratchFiles,
  outputs: string,
  settled: readonly OutputFile[] = [],
): Promise<OutputFile[]> {
  const directory = join(outputs, order.id);
  const taken: OutputFile[] = [];
  const room = new OutputRoom(order.limits.disk);
  for (const { name, path, vital } of order.outputs) {
    const file = join(directory, name);
    const before = settled.find((output) => output.name === name);
    if (before !== undefined) {
      if (before.error === undefined) room.take(path, before.size, true);
      taken.push(before);
      continue;
    }
    // Collected whether or not the Job asked for it: a program that left nothing there has no such output.
    if (path === join(order.inside.root, 'outputs') && (await isEmpty(slot.realPath('outputs')))) continue;
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const output = await take(order, slot, { name, path, vital }, file);
      room.take(path, output.size, vital);
      taken.push(output);
    } catch (error) {
      await unlink(file).catch(() => undefined);
      taken.push(uncollected(name, error as Error));
    }
  }
  return taken;
}

async function isEmpty(path: string): Promise<boolean> {
  // Without root, work can close it to its owner: taking it will say so.
  const opened = await opendir(path).catch(() => undefined);
  if (opened === undefined) return false;
  try {
    return (await opened.read()) === null;
  } finally {
    await opened.close();
  }
}

async function take(
  order: OutputOrder,
  slot: ScratchFiles,
  { name, path, vital }: OutputOrder['outputs'][number],
  file: string,
): Promise<OutputFile> {
  const source = await resolveInside(order, slot, path);
  const found = await lstat(source);
  if (found.isDirectory()) {
    await pack(source, file);
    const packed = { name, file, size: (await stat(file)).size, directory: true };
    return vital === true ? { ...packed, logical: await logicalSize(source) } : packed;
  }
  if (!found.isFile()) throw new Error(`${path} is neither a file nor a directory`);
  // A file of holes can seem endless to its reader.
  if (found.size > order.limits.disk) throw new Error(`${path} is larger than the work's disk`);
  // Of a try before, or of a runner before.
  await unlink(file).catch(() => undefined);
  try {
    await link(source, file);
  } catch {
    // Another file system: holes stay holes.
    const copied = await runTool({ file: 'cp', args: ['--sparse=always', '--no-dereference', '--', source, file] });
    if (copied.exitCode !== 0) throw new Error(copied.said, { cause: copied.stderr });
  }
  const uid = process.getuid?.() ?? 0;
  if (uid === 0) await chown(file, 0, 0);
  await chmod(file, 0o600);
  return { name, file, size: found.size, directory: false };
}

/** Host path of what `path` names inside the work, with links resolved as the work saw them. Throws when there is nothing. */
async function resolveInside(order: OutputOrder, slot: ScratchFiles, path: string): Promise<string> {
  const pathMap = pathMapOf(order);
  let pending = resolveFrom(order, path).split('/').filter(Boolean);
  let inside = '/';
  let links = 0;
  while (pending.length > 0) {
    const [next, ...rest] = pending as [string, ...string[]];
    const candidate = join(inside, next);
    const host = hostPath(pathMap, slot, candidate);
    const found = host === undefined ? undefined : await lstat(host).catch((error: unknown) => missing(path, error));
    if (found?.isSymbolicLink() === true && host !== undefined) {
      links++;
      if (links > MAX_LINKS) throw new Error(`${path} leads through too many links`);
      const target = await readlink(host);
      const goal = normalize(target.startsWith('/') ? target : join(inside, target));
      pending = [...goal.split('/').filter(Boolean), ...rest];
      inside = '/';
      continue;
    }
    inside = candidate;
    pending = rest;
  }
  const host = hostPath(pathMap, slot, inside);
  if (host === undefined) throw new Error(`${path} leads out of the work's own files`);
  // What the work saw there was mounted: from here it is an empty directory.
  const mounted =
    mappingAt(pathMap, inside).part === 'root'
      ? pathMap.find(({ target }) => target !== inside && isInside(inside, target))
      : undefined;
  if (mounted !== undefined) throw new Error(`${path} holds ${mounted.target}, which is not taken with it`);
  return host;
}

function missing(path: string, error: unknown): never {
  throw machineFault(error) === undefined ? new Error(`${path} does not exist`) : error;
}

function hostPath(pathMap: readonly PathMapping[], slot: ScratchFiles, inside: string): string | undefined {
  const mapping = mappingAt(pathMap, inside);
  return mapping.part === undefined ? undefined : join(slot.realPath(mapping.part), withinPart(mapping, inside));
}
