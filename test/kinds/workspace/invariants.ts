/**
 * What must hold of two Workspaces that share one Volume in a small world, at every moment and at rest. Throws, so that a
 * property test can shrink.
 */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { addressKey, type Address } from '../../../src/api/address.js';
import type { ApiObject } from '../../../src/api/object.js';
import { ATTEMPT_FINALIZER } from '../../../src/kinds/single-attempt/state.js';
import type { VolumeStatus } from '../../../src/kinds/volume/schema.js';
import { LEASE_FINALIZER, type VolumePrivate } from '../../../src/kinds/volume/state.js';
import type { WorkspacePrivate } from '../../../src/kinds/workspace/state.js';
import type { WorkspaceSpec, WorkspaceStatus } from '../../../src/kinds/workspace/schema.js';
import { epochOf, isLeft, isOf } from '../job/left.js';
import type { World } from '../job/world.js';

const PLACE = { org: 'bootstrap', project: 'default' };
export const DESKS: readonly Address[] = ['a', 'b'].map((name) => ({ ...PLACE, kind: 'Workspace', name }));
export const HOME: Address = { ...PLACE, kind: 'Volume', name: 'home' };

type View<Part> = { see(whole: unknown): Part }['see'];
const deskOf: View<ApiObject<WorkspaceSpec, WorkspaceStatus>> = (object: ApiObject<WorkspaceSpec, WorkspaceStatus>) =>
  object;
const keptOf: View<WorkspacePrivate | undefined> = (kept: WorkspacePrivate) => kept;
const volumeOf: View<ApiObject<unknown, VolumeStatus>> = (object: ApiObject<unknown, VolumeStatus>) => object;
const storedOf: View<VolumePrivate | undefined> = (kept: VolumePrivate) => kept;

export interface SeenDesk {
  readonly uid: string;
  readonly spec: WorkspaceSpec;
  readonly status: WorkspaceStatus;
  readonly kept: WorkspacePrivate | undefined;
  readonly finalizers: readonly string[];
}

export function desk(world: World, address: Address | undefined): SeenDesk | undefined {
  const entity = address && world.entities.get(addressKey(address));
  if (entity === undefined) return undefined;
  const { spec, status, metadata } = deskOf(entity.object);
  return { uid: entity.uid, spec, status, kept: keptOf(entity.private), finalizers: metadata.finalizers ?? [] };
}

export interface SeenVolume {
  readonly uid: string;
  readonly status: VolumeStatus;
  readonly kept: VolumePrivate | undefined;
  readonly finalizers: readonly string[];
}

export function volume(world: World): SeenVolume | undefined {
  const entity = world.entities.get(addressKey(HOME));
  if (entity === undefined) return undefined;
  const { status, metadata } = volumeOf(entity.object);
  return { uid: entity.uid, status, kept: storedOf(entity.private), finalizers: metadata.finalizers ?? [] };
}

/** Tests name the writer and its epoch in the digest. */
export function digestOf(name: string, epoch: number): string {
  return `${Buffer.from(name).toString('hex')}${String(epoch).padStart(62, '0')}`;
}

function writerOf(digest: string): { readonly name: string; readonly epoch: number } {
  const hex = digest.replace(/^sha256:/, '');
  return { name: Buffer.from(hex.slice(0, 2), 'hex').toString(), epoch: Number(hex.slice(2)) };
}

export interface Memory {
  readonly epochs: Map<string, number>;
  volume: string;
  revision: number;
  readonly committed: Map<string, number>;
}

/** Begins with what is seen now. */
export function memoryOf(world: World): Memory {
  const epochs = DESKS.flatMap((address): [string, number][] => {
    const seen = desk(world, address);
    return seen === undefined ? [] : [[seen.uid, seen.kept?.epoch ?? 0]];
  });
  const home = volume(world);
  const revision = home?.kept?.revisions[0]?.number ?? 0;
  return { epochs: new Map(epochs), volume: home?.uid ?? '', revision, committed: new Map() };
}

/** `memory`: what was seen before, of the same objects. */
export function checkAlways(world: World, memory: Memory): void {
  deepEqual([...world.engine.startedAgain], [], 'work ran a second time');
  let writers = 0;
  const home = volume(world);
  for (const address of DESKS) {
    const seen = desk(world, address);
    if (seen === undefined) continue;
    writers += checkDesk(world, address, seen, home, memory);
  }
  ok(writers <= 1, 'two may write');
  if (home !== undefined) checkVolume(home, memory);
}

/** Answers how many writers of the Volume it is. */
function checkDesk(
  world: World,
  { name }: Address,
  { uid, status, kept, finalizers }: SeenDesk,
  home: SeenVolume | undefined,
  memory: Memory,
): number {
  const own = world.attempts.filter((attempt) => isOf(attempt, uid));
  ok(own.filter(isLeft).length <= 1, 'a successor came before the proof');
  const epoch = kept?.epoch ?? 0;
  const before = memory.epochs.get(uid) ?? 0;
  ok(epoch === before || epoch === before + 1, 'epochs grow one by one');
  memory.epochs.set(uid, epoch);
  for (const attempt of own) ok(epochOf(attempt) <= epoch, 'an Attempt of an epoch to come');
  equal(status.attempt?.epoch ?? 0, epoch);
  const { live, lease } = kept ?? {};
  equal(finalizers.includes(ATTEMPT_FINALIZER), live !== undefined || lease !== undefined, 'nobody holds it');
  if (status.phase === 'Stopped') {
    equal(own.filter(isLeft).length, 0, 'Stopped, and something of it is left');
    equal(lease, undefined, 'Stopped, and its home is not given back');
  }
  if (live === undefined || live.phase === 'Ended' || status.home === undefined) return 0;
  // I8: it writes under the lease of its very epoch.
  const holder = home?.kept?.lease;
  deepEqual({ uid: holder?.uid, epoch: holder?.epoch }, { uid, epoch: live.epoch }, `${name} writes without the lease`);
  return 1;
}

function checkVolume({ uid, status, kept, finalizers }: SeenVolume, memory: Memory): void {
  const newest = kept?.revisions[0];
  const number = newest?.number ?? 0;
  if (memory.volume !== uid) {
    memory.volume = uid;
    memory.revision = 0;
    memory.committed.clear();
  }
  equal(finalizers.includes(LEASE_FINALIZER), kept?.lease !== undefined);
  equal(status.holder?.epoch, kept?.lease?.epoch);
  equal(status.revision, newest === undefined ? undefined : String(number));
  if (number === memory.revision || newest === undefined) return;
  equal(number, memory.revision + 1, 'revisions grow one by one');
  memory.revision = number;
  const { name, epoch } = writerOf(newest.digest);
  const { returned } = kept ?? {};
  ok(returned?.committed === number, 'a revision that no lease has brought');
  const key = `${name} ${returned.uid}`;
  ok(epoch > (memory.committed.get(key) ?? 0), 'an epoch that was over has committed');
  memory.committed.set(key, epoch);
}

/** Nothing can happen any more but that somebody asks again for what another holds. */
export function checkAtRest(world: World): void {
  const home = volume(world);
  const running = DESKS.filter((address) => desk(world, address)?.status.phase === 'Running');
  for (const address of DESKS) {
    const seen = desk(world, address);
    if (seen === undefined) continue;
    const { phase, reason } = seen.status;
    if (phase === 'Pending')
      ok(
        reason === 'VolumeBusy' || reason === 'VolumeDeleting' || reason === 'VolumeNotFound',
        `it waits for ${reason ?? 'nothing'}`,
      );
    else ok(phase === 'Running' || phase === 'Stopped' || phase === 'Failed', `it came to rest in ${phase}`);
    if (phase === 'Running') equal(seen.spec.state, 'Running');
    if (reason === 'VolumeBusy') ok(running.length > 0, 'it waits for nobody');
    if (reason === 'VolumeNotFound') equal(home, undefined);
  }
  if (running.every((address) => desk(world, address)?.status.home === undefined)) {
    equal(home?.kept?.lease, undefined, 'a lease leaked');
  }
  equal(world.attempts.filter(isLeft).length, running.length);
  equal(world.engine.works.size, running.length, 'work was left on the engine');
  equal(world.places.load.places, running.length, 'a place leaked');
}
