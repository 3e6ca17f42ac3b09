/**
 * Makes a box from an order: scratch, mounts, limits. What an order may ask for is checked here, since its paths
 * come from the Job's author: nothing may be mounted over the system's own directories.
 */
import { lstat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { FaultReason } from '../../kinds/attempt/faults.js';
import { API_SOCKET } from '../../brand.js';
import type { Box, Mount } from '../isolation/isolation.js';
import type { Group } from '../limits/groups.js';
import type { WireOrder } from '../protocol/messages.js';
import type { WorkDeps } from './deps.js';
import { inputParts, stageInputs } from './inputs.js';
import { ownParts, mappingAt, pathMapOf, tmpOnDisk, withinPart } from './path-map.js';
import type { ScratchArea, ScratchSlot } from './scratch.js';

export type Prepared =
  | { readonly kind: 'box'; readonly box: Box; readonly unrestored: string | undefined }
  | { readonly kind: 'failed'; readonly reason: FaultReason; readonly message: string };

/** Of the work's memory, which what is in them counts against. However full one of them is, a program to empty it still finds room. */
const SHM_SHARE = 1 / 2;
const TMP_SHARE = 3 / 4;

/** `work`: whose box it is, where that is known already. */
export async function prepareBox(
  spec: WireOrder,
  work: string | undefined,
  slot: ScratchSlot,
  group: Group,
  deps: WorkDeps,
  signal: AbortSignal,
): Promise<Prepared> {
  const onDisk = tmpOnDisk(spec);
  const parts: ScratchArea[] = [...(onDisk ? (['tmp'] as const) : []), ...inputParts(spec)];
  const inputs = join(spec.inside.root, 'inputs');
  const own = ownParts(spec);
  const { directories, links } = deps.isolation.skeleton;
  const { apiDirectory, inside } = spec;
  const api = apiDirectory === undefined || inside.api === undefined ? [] : [inside.api];
  const made = [...own.map(({ target }) => target), inside.secrets, inputs, ...api];
  await slot.prepare(parts, { directories: [...directories, ...made], links });
  await makeWorkingDir(spec, slot);
  const staged = await stageInputs(spec, slot, group, deps, signal);
  if (staged.kind === 'failed') return staged;
  const mounts: Mount[] = [...(await deps.privateFiles.of(slot.number))];
  for (const { target, part } of own) {
    if (part !== undefined && part !== 'root') mounts.push({ source: slot.shownPath(part), target, readOnly: false });
  }
  // Parents before children, whatever the order in which they were asked for.
  mounts.push(...staged.mounts.toSorted((a, b) => a.target.length - b.target.length));
  for (const target of apiDirectory === undefined ? [] : api) {
    await relayApi(spec, work, slot, deps);
    mounts.push({ source: apiOf(apiDirectory ?? '', slot), target, readOnly: true });
  }
  const { limits } = spec;
  return {
    kind: 'box',
    unrestored: staged.unrestored,
    box: {
      root: slot.shownPath('root'),
      hostId: slot.hostId,
      hostname: 'work',
      mounts,
      directories: [inputs],
      secretsDir: spec.inside.secrets,
      secretFiles: new Map(Object.entries(spec.secretFiles).map(([name, text]) => [name, Buffer.from(text, 'base64')])),
      tmpBytes: onDisk ? undefined : Math.floor(Math.min(limits.memory * TMP_SHARE, limits.disk)),
      shmBytes: Math.floor(limits.memory * SHM_SHARE),
      rlimits: deps.groups.enforced.pids ? undefined : { data: limits.memory, processes: limits.pids },
    },
  };
}

/** Lets the box in this place reach the attempt API as this work. Resolves when it can connect, or in time. */
export async function relayApi(
  { apiDirectory }: WireOrder,
  work: string | undefined,
  slot: ScratchSlot,
  { outward }: Pick<WorkDeps, 'outward'>,
): Promise<void> {
  if (apiDirectory === undefined) return;
  await outward.proxy.relay(apiOf(apiDirectory, slot), { service: join(apiDirectory, API_SOCKET), work });
}

function apiOf(apiDirectory: string, slot: ScratchSlot): string {
  return join(apiDirectory, String(slot.number));
}

/** A working directory among the work's own files need not exist: it is made, as container daemons do. */
async function makeWorkingDir(spec: WireOrder, slot: ScratchSlot): Promise<void> {
  const wanted = resolve('/', spec.workingDir);
  const mapping = mappingAt(pathMapOf(spec), wanted);
  if (mapping.part === undefined || mapping.part === 'unpacked') return;
  let path = slot.realPath(mapping.part);
  for (const name of withinPart(mapping, wanted).split('/').filter(Boolean)) {
    path = join(path, name);
    const found = await lstat(path).catch(() => undefined);
    if (found === undefined) await slot.add(path, 0o755);
    // A link of the skeleton: it is followed inside, by nobody from here.
    else if (!found.isDirectory()) return;
  }
}
