/**
 * Owns the making of a box from an order: scratch, mounts, limits. What an order may ask for is checked here, since its paths
 * come from whoever wrote the Job: nothing may be mounted over the system's own directories.
 */
import { join, normalize, relative } from 'node:path';
import type { Box, Mount } from '../isolation/isolation.js';
import type { Group } from '../limits/groups.js';
import type { WireOrder } from '../protocol/messages.js';
import type { WorkDeps } from './deps.js';
import { inputParts, stageInputs } from './inputs.js';
import { isInside } from './inside.js';
import type { Part, Place } from './scratch.js';

export type Prepared =
  | { readonly kind: 'box'; readonly box: Box }
  | { readonly kind: 'failed'; readonly reason: string; readonly message: string };

/** In memory; what it holds counts against the work's memory. */
const SHM_SHARE = 2;

export async function prepareBox(
  order: WireOrder,
  place: Place,
  group: Group,
  deps: WorkDeps,
  signal: AbortSignal,
): Promise<Prepared> {
  const tmpOnDisk = order.outputs.some(({ path }) => isInside('/tmp', path));
  const parts: Part[] = [...(tmpOnDisk ? (['tmp'] as const) : []), ...inputParts(order)];
  await place.prepare(parts);
  const writable = writableParts(order, tmpOnDisk);
  await makeWorkingDir(order, writable, place);
  const staged = await stageInputs(order, writable, place, group, deps, signal);
  if (staged.kind === 'failed') return staged;
  const mounts: Mount[] = writable.map(([target, part]) => ({
    source: place.shownPath(part),
    target,
    readOnly: false,
  }));
  // Parents before children, whatever the order in which they were asked for.
  mounts.push(...staged.mounts.toSorted((a, b) => a.target.length - b.target.length));
  const { limits } = order;
  return {
    kind: 'box',
    box: {
      hostId: place.hostId,
      hostname: 'work',
      mounts,
      directories: [join(order.inside.root, 'inputs')],
      secretsDir: order.inside.secrets,
      secretFiles: new Map(
        Object.entries(order.secretFiles).map(([name, text]) => [name, Buffer.from(text, 'base64')]),
      ),
      tmpBytes: tmpOnDisk ? undefined : Math.min(limits.memory, limits.disk),
      shmBytes: Math.floor(limits.memory / SHM_SHARE),
      rlimits: deps.groups.enforced.pids ? undefined : { data: limits.memory, processes: limits.pids },
    },
  };
}

/** Path inside → part of the scratch, in the order in which they are mounted. */
export function writableParts(order: WireOrder, tmpOnDisk: boolean): (readonly [string, Part])[] {
  const { inside } = order;
  return [
    [inside.workspace, 'workspace'],
    [inside.home, 'home'],
    [join(inside.root, 'outputs'), 'outputs'],
    [join(inside.root, 'state'), 'state'],
    ...(tmpOnDisk ? ([['/tmp', 'tmp']] as const) : []),
  ];
}

/** A working directory below a writable part need not exist: it is made, as container daemons do. */
async function makeWorkingDir(
  order: WireOrder,
  writable: readonly (readonly [string, Part])[],
  place: Place,
): Promise<void> {
  const wanted = normalize(order.workingDir);
  const found = writable.find(([target]) => isInside(target, wanted));
  if (found === undefined) return;
  const [target, part] = found;
  let path = place.realPath(part);
  for (const name of relative(target, wanted).split('/').filter(Boolean)) {
    path = join(path, name);
    await place.add(path);
  }
}
