/**
 * Finds where the paths inside of a box lie: which part of the scratch holds what is written there, or that it is none of the
 * work's own (the system, its secrets, what it was given to read). Pure; links are not followed.
 */
import { join, relative, resolve } from 'node:path';
import type { WireOrder } from '../protocol/messages.js';
import { isInside } from '../../engines/compute/shared/is-inside.js';
import type { ScratchArea } from './scratch.js';

/** A path inside, and what lies there unless a longer mapping holds it. */
export interface PathMapping {
  readonly target: string;
  /** Undefined: not the work's own. */
  readonly part: ScratchArea | undefined;
  /** Directory within the part. */
  readonly below: string;
}

/** What of an order says where things lie in its box. */
export interface LaidOut extends Pick<WireOrder, 'inside' | 'outputs' | 'workingDir'> {
  readonly inputs: readonly Pick<WireOrder['inputs'][number], 'path' | 'writable'>[];
}

/** What of an order its outputs are taken by: no command, environment or secret (I11). */
export interface OutputOrder extends LaidOut {
  readonly id: string;
  readonly limits: Pick<WireOrder['limits'], 'disk'>;
}

export function outputOrderOf({ id, inside, outputs, workingDir, inputs, limits }: OutputOrder): OutputOrder {
  return {
    id,
    inside,
    outputs,
    workingDir,
    inputs: inputs.map(({ path, writable }) => ({ path, writable })),
    limits: { disk: limits.disk },
  };
}

/** The machine's own directories: nothing of the work lies there. */
const SYSTEM = ['/usr', '/etc', '/proc', '/dev', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
/** Where programs and we keep what must not be hidden. */
const RESERVED = ['/run', '/var/run', '/var/tmp'];

/** Mounted in this order. */
export function ownParts(order: LaidOut): readonly PathMapping[] {
  const { inside } = order;
  const parts: (readonly [string, ScratchArea])[] = [
    ['/', 'root'],
    [inside.workspace, 'workspace'],
    [inside.home, 'home'],
    [join(inside.root, 'outputs'), 'outputs'],
    [join(inside.root, 'state'), 'state'],
    ...(tmpOnDisk(order) ? ([['/tmp', 'tmp']] as const) : []),
  ];
  return parts.map(([target, part]) => ({ target, part, below: '' }));
}

/** /tmp is on memory unless something of it must outlive the box or be there before. */
export function tmpOnDisk(order: LaidOut): boolean {
  const kept = [...order.outputs, ...order.inputs.filter(({ writable }) => writable === true)];
  return kept.some(({ path }) => isInside('/tmp', resolveFrom(order, path)));
}

/** Path of an output or input, which may be relative to the working directory. */
export function resolveFrom(order: LaidOut, path: string): string {
  return resolve('/', order.workingDir, path);
}

/** Of these, a writable input that no other part holds is unpacked beside and mounted. */
export function pathMapOf(order: LaidOut): readonly PathMapping[] {
  const parts = ownParts(order);
  const foreign = (target: string): PathMapping => ({ target, part: undefined, below: '' });
  const inputs = order.inputs.flatMap((input, index): PathMapping[] => {
    const target = resolve('/', input.path);
    if (input.writable !== true) return [foreign(target)];
    return mappingAt(parts, target).part === 'root' ? [{ target, part: 'unpacked', below: String(index) }] : [];
  });
  const tmp = tmpOnDisk(order) ? [] : [foreign('/tmp')];
  return [...SYSTEM.map(foreign), foreign(order.inside.secrets), ...tmp, ...inputs, ...parts];
}

/** The longest that holds the path. `pathMap` has one for `/`. */
export function mappingAt(pathMap: readonly PathMapping[], path: string): PathMapping {
  const holding = pathMap.filter(({ target }) => isInside(target, path));
  return holding.reduce((longest, mapping) => (mapping.target.length > longest.target.length ? mapping : longest));
}

/** Path of `path` within the mapping's part. */
export function withinPart(mapping: PathMapping, path: string): string {
  return join(mapping.below, relative(mapping.target, path));
}

/** What the order mounts there would hide nothing that the work or the runner relies on. */
export function mayMount(order: LaidOut, path: string): boolean {
  const target = resolve('/', path);
  const parts = ownParts(order).filter(({ part }) => part !== 'root');
  const fixed = [...SYSTEM, ...RESERVED, order.inside.secrets, '/tmp', ...parts.map((part) => part.target)];
  return (
    path.startsWith('/') &&
    ![...SYSTEM, ...RESERVED].some((name) => isInside(name, target)) &&
    !fixed.some((name) => isInside(target, name))
  );
}
