/** What must hold of a Sandbox in a small world, at every moment and at rest. Throws, so that a property test can shrink. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { addressKey, type Address } from '../../../src/api/address.js';
import type { ApiObject } from '../../../src/api/object.js';
import type { SandboxPrivate } from '../../../src/kinds/sandbox/state.js';
import { ATTEMPT_FINALIZER } from '../../../src/kinds/single-attempt/state.js';
import type { SandboxSpec, SandboxStatus } from '../../../src/kinds/sandbox/schema.js';
import { epochOf, isLeft } from '../job/left.js';
import type { World } from '../job/world.js';

export const BOX: Address = { org: 'bootstrap', kind: 'Sandbox', project: 'default', name: 'box' };

type View<Part> = { see(whole: unknown): Part }['see'];
const objectOf: View<ApiObject<SandboxSpec, SandboxStatus>> = (object: ApiObject<SandboxSpec, SandboxStatus>) => object;
const keptOf: View<SandboxPrivate | undefined> = (kept: SandboxPrivate) => kept;

export interface Seen {
  readonly spec: SandboxSpec;
  readonly status: SandboxStatus;
  readonly kept: SandboxPrivate | undefined;
  readonly finalizers: readonly string[];
}

export function seen(world: World): Seen | undefined {
  const entity = world.entities.get(addressKey(BOX));
  if (entity === undefined) return undefined;
  const { spec, status, metadata } = objectOf(entity.object);
  return { spec, status, kept: keptOf(entity.private), finalizers: metadata.finalizers ?? [] };
}

export interface Memory {
  epoch: number;
  saved: number;
}

/** `memory`: what was seen last, of the same Sandbox. */
export function checkAlways(world: World, memory: Memory): void {
  const left = world.attempts.filter(isLeft);
  ok(left.length <= 1, 'a successor came before the proof');
  ok(world.engine.works.size <= 1, 'two Attempts have work on the machine');
  deepEqual([...world.engine.startedAgain], [], 'work ran a second time');
  const box = seen(world);
  if (box === undefined) return;
  const { status, kept, finalizers } = box;
  const epoch = kept?.epoch ?? 0;
  ok(epoch === memory.epoch || epoch === memory.epoch + 1, 'epochs grow one by one');
  for (const attempt of world.attempts) ok(epochOf(attempt) <= epoch, 'an Attempt of an epoch to come');
  equal(status.attempt?.epoch ?? 0, epoch);
  equal(finalizers.includes(ATTEMPT_FINALIZER), kept?.live !== undefined, 'the finalizer stands as long as an Attempt');
  if (status.phase === 'Stopped') {
    equal(left.length, 0, 'Stopped, and something of it is left');
    equal(world.engine.works.size, 0, 'Stopped, and something runs');
  }
  if (status.phase === 'Running') equal(kept?.live?.epoch, epoch);
  const saved = savedAt(status);
  ok(saved >= memory.saved, 'an older snapshot replaced a newer one');
  memory.epoch = epoch;
  memory.saved = saved;
}

/** Epoch whose files the snapshot holds: tests name the epoch in the digest. */
export function savedAt({ snapshot }: SandboxStatus): number {
  return snapshot?.digest === undefined ? 0 : Number(snapshot.digest.replace(/^sha256:0*/, ''));
}

/** Nothing can happen any more but its expiry. */
export function checkAtRest(world: World): void {
  const box = seen(world);
  if (box === undefined) {
    equal(world.attempts.length, 0, 'Attempts outlived their Sandbox');
    equal(world.engine.works.size, 0, 'work was left on the engine');
    equal(world.places.load.places, 0, 'a place leaked');
    equal(world.places.waitingCount, 0, 'somebody waits for ever');
    return;
  }
  const { phase } = box.status;
  ok(phase === 'Running' || phase === 'Stopped' || phase === 'Failed', `it came to rest in ${phase}`);
  if (phase === 'Running') equal(box.spec.state, 'Running');
  equal(world.attempts.filter(isLeft).length, phase === 'Running' ? 1 : 0);
  equal(world.places.load.places, phase === 'Running' ? 1 : 0);
}
