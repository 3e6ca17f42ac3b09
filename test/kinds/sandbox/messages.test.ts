/** What single messages do to a Sandbox: requests by annotation, what its Attempt and its effects say. */
import test from 'ava';
import { addressKey } from '../../../src/api/address.js';
import { API_GROUP } from '../../../src/brand.js';
import { attemptName } from '../../../src/kinds/attempts/names.js';
import type { LaterEffect } from '../../../src/kinds/effect.js';
import type { ObjectMessage } from '../../../src/kinds/object-message.js';
import { SNAPSHOT } from '../../../src/kinds/sandbox/plan.js';
import type { Entity } from '../job/entity.js';
import { World } from '../job/world.js';
import { BOX, seen } from './invariants.js';

const CAPACITY = { milliCpu: 4_000, memory: 2 ** 32, disk: 2 ** 40 };
const START = `${API_GROUP}/request-start`;
const STOP = `${API_GROUP}/request-stop`;
const RESTART = `${API_GROUP}/request-restart`;

/** Lets everything happen that needs no time. */
function run(world: World): void {
  for (let [next] = world.choices(); next !== undefined; [next] = world.choices()) next();
}

function begin(fate: 'stay' | 'startFailed' = 'stay', spec: object = {}): World {
  const outputs = [{ name: SNAPSHOT, sha256: '1'.repeat(64), size: 1, directory: true }];
  const world = new World({ capacity: CAPACITY, fate: () => fate, outputs: () => outputs });
  world.create(BOX, { image: 'svc/agent-tools', lifecycle: { idleTimeout: '0s' }, ...spec }, {});
  run(world);
  return world;
}

function box(world: World): Entity {
  const entity = world.entities.get(addressKey(BOX));
  if (entity === undefined) throw new Error('it is gone');
  return entity;
}

/** A client's write of an annotation. */
function request(world: World, name: string, value: string): void {
  const entity = box(world);
  const before = entity.object;
  const annotations = { ...before.metadata.annotations, [name]: value };
  entity.object = { ...before, metadata: { ...before.metadata, annotations } };
  world.decide(entity, { type: 'Updated', before });
}

const handled = (world: World) => seen(world)?.status.handledRequests;
const state = (world: World): string => {
  const now = seen(world);
  return `${now?.status.phase} ${now?.kept?.epoch}`;
};

test('A stop that is asked for by annotation is carried out once, and noted when nothing is left', (t) => {
  const world = begin();
  request(world, STOP, 'a');
  t.is(seen(world)?.spec.state, 'Stopped');
  t.is(seen(world)?.status.stopReason, 'Requested');
  t.is(handled(world), undefined, 'something of it runs still');
  run(world);
  t.is(state(world), 'Stopped 1');
  t.deepEqual(handled(world), { [STOP]: 'a' });
  t.deepEqual(seen(world)?.kept?.requests, {});
  world.change(BOX, { state: 'Running' });
  run(world);
  request(world, STOP, 'a');
  run(world);
  t.is(state(world), 'Running 2', 'the same value asks for nothing new');
  request(world, STOP, 'b');
  run(world);
  t.is(state(world), 'Stopped 2');
});

test('A restart makes one new epoch of what runs, however often the same value is written', (t) => {
  const world = begin();
  request(world, RESTART, 'a');
  request(world, RESTART, 'a');
  t.is(seen(world)?.status.phase, 'Stopping');
  t.is(handled(world), undefined);
  run(world);
  t.is(state(world), 'Running 2');
  t.deepEqual(handled(world), { [RESTART]: 'a' });
  request(world, RESTART, 'a');
  run(world);
  t.is(state(world), 'Running 2');
  request(world, RESTART, 'b');
  run(world);
  t.is(state(world), 'Running 3');
});

test('A start is noted at once where it runs, and starts what is stopped or has failed', (t) => {
  const world = begin();
  request(world, START, 'a');
  t.deepEqual(handled(world), { [START]: 'a' });
  t.is(state(world), 'Running 1');
  request(world, STOP, 'a');
  run(world);
  request(world, START, 'b');
  t.is(handled(world)?.[START], 'a', 'it does not run yet');
  run(world);
  t.is(state(world), 'Running 2');
  t.deepEqual(handled(world), { [START]: 'b', [STOP]: 'a' });

  const broken = begin('startFailed');
  t.is(state(broken), 'Failed 1');
  request(broken, START, 'a');
  run(broken);
  t.is(state(broken), 'Failed 2', 'it was tried again');
  t.is(handled(broken), undefined);
});

test('A start that is overtaken by a stop is forgotten, and is not carried out by a later one', (t) => {
  const world = begin('stay', { state: 'Stopped' });
  request(world, START, 'a');
  world.change(BOX, { state: 'Stopped' });
  run(world);
  t.is(state(world), 'Stopped 1');
  t.is(handled(world), undefined);
  t.deepEqual(seen(world)?.kept?.requests, {});
});

test('What an earlier mode has kept goes with the first end in which nothing is kept', (t) => {
  const world = begin();
  request(world, STOP, 'a');
  run(world);
  t.truthy(seen(world)?.status.snapshot);
  world.change(BOX, { state: 'Running', continuity: { mode: 'Ephemeral' } });
  run(world);
  t.truthy(seen(world)?.status.snapshot);
  world.change(BOX, { state: 'Stopped' });
  run(world);
  t.is(seen(world)?.status.snapshot, undefined);
});

/** A message of the Attempt of this epoch. */
function hear(world: World, content: ObjectMessage, epoch = 1): string {
  const address = { ...BOX, kind: 'Attempt', name: attemptName(box(world).object.metadata, 0, epoch) };
  return world.decide(box(world), { type: 'MessageReceived', from: { address, uid: 'u', version: 0 }, content });
}

const changed = (more: object): ObjectMessage => ({
  type: 'AttemptChanged',
  slot: 0,
  epoch: 1,
  phase: 'Running',
  lost: false,
  reason: '',
  message: '',
  time: 0,
  ...more,
});

test('An Attempt that is deleted under a running Sandbox was lost; under one that stops it was the end', (t) => {
  const gone = { type: 'ChildGone', uid: 'u', kind: 'Attempt' } as const;
  const world = begin();
  t.is(hear(world, gone, 2), 'Ignored', 'another one');
  t.is(hear(world, { ...gone, kind: 'Volume' }), 'Ignored');
  t.is(hear(world, gone), 'Next');
  t.is(state(world), 'Recovering 2');
  t.is(seen(world)?.kept?.lost, 1);
  t.is(seen(world)?.kept?.recovering?.reason, 'NodeLost');

  const stopping = begin();
  stopping.change(BOX, { state: 'Stopped' });
  t.is(hear(stopping, gone), 'Next');
  t.is(state(stopping), 'Stopped 1');
  t.is(seen(stopping)?.kept?.lost, 0);

  const restarting = begin();
  request(restarting, RESTART, 'a');
  t.is(hear(restarting, gone), 'Next');
  t.is(state(restarting), 'Pending 2', 'nothing was lost');
});

test('The first note of the Secrets of an epoch holds', (t) => {
  const world = begin();
  const pins = (version: number, epoch: number) =>
    ({ type: 'SecretsPinned', epoch, versions: { s: { version, id: `id-${version}` } } }) as const;
  t.is(hear(world, pins(1, 2)), 'Ignored', 'another epoch');
  t.is(hear(world, pins(2, 1)), 'Next');
  t.is(hear(world, pins(3, 1)), 'Ignored');
  t.deepEqual(seen(world)?.status.secretVersions, { s: 2 });
  t.deepEqual(seen(world)?.status.secretVersionIDs, { s: 'id-2' });
});

test('The first note of its image holds for all epochs', (t) => {
  const world = begin();
  const digest = (digit: string): string => `sha256:${digit.repeat(64)}`;
  t.is(hear(world, { type: 'ImagePinned', epoch: 1, digest: digest('1') }), 'Next');
  t.is(hear(world, { type: 'ImagePinned', epoch: 1, digest: digest('2') }), 'Ignored');
  t.is(seen(world)?.status.image?.digest, digest('1'));
});

test('That files could not be restored is said until a later start has restored all, and not where there was nothing to say', (t) => {
  const world = begin();
  const restored = () => seen(world)?.status.conditions?.find(({ type }) => type === 'StateRestored');
  t.is(restored(), undefined);
  request(world, RESTART, 'a');
  while (seen(world)?.kept?.live?.epoch !== 2) world.choices()[0]?.();
  hear(world, changed({ epoch: 2, unrestored: 'a.txt: no room' }), 2);
  t.like(restored(), { status: 'False', reason: 'PartlyRestored' });
  t.regex(restored()?.message ?? '', /a\.txt: no room/);
  run(world);
  t.is(restored()?.status, 'False');
  request(world, RESTART, 'b');
  run(world);
  t.like(restored(), { status: 'True', reason: 'Restored' });
});

test('What could not be saved is said of an Attempt that lives, not of one that has ended', (t) => {
  const world = begin();
  const unsaved = changed({ unsaved: 'the store is full' });
  t.is(hear(world, unsaved), 'Next');
  t.is(seen(world)?.status.phase, 'Stopping');
  t.is(hear(world, unsaved), 'Ignored', 'it is known');
  t.is(hear(world, changed({ unsaved: 'still full' })), 'Next');
  hear(world, changed({ phase: 'Succeeded' }));
  t.is(hear(world, changed({ phase: 'Succeeded', unsaved: 'late' })), 'Ignored');
  t.is(hear(world, unsaved), 'Ignored');
});

function fails(world: World, effect: LaterEffect, reason: string): string {
  return world.decide(box(world), { type: 'EffectFailed', effect, reason, message: 'no' });
}

const timers = (world: World) => Object.keys(seen(world)?.kept?.timers ?? {});

test('An Attempt that could not be made fails the Sandbox when it was refused, and is asked for again when nobody knows', (t) => {
  const world = begin();
  const name = attemptName(box(world).object.metadata, 0, 1);
  const make = { type: 'CreateChild', kind: 'Attempt', name, labels: {}, annotations: {}, spec: {} } as LaterEffect;
  t.is(fails(world, { ...make, name: 'other' } as LaterEffect, 'Forbidden'), 'Ignored');
  t.is(fails(world, make, 'Unavailable'), 'Next');
  t.true(timers(world).includes('resync'));
  t.is(state(world), 'Running 1');
  t.is(fails(world, make, 'Forbidden'), 'Next');
  t.is(state(world), 'Failed 1');
  t.is(fails(world, make, 'Forbidden'), 'Ignored', 'nothing is live');
});

test('A message that did not reach its Attempt is said again, unless the Attempt is known to be gone', (t) => {
  const world = begin();
  const to = { ...BOX, kind: 'Attempt', name: attemptName(box(world).object.metadata, 0, 1) };
  const tell = (more: object = {}): LaterEffect => ({
    type: 'Tell',
    to: { ...to, ...more },
    message: { type: 'AttemptAsked', epoch: 1 },
  });
  t.is(fails(world, tell({ name: 'other' }), 'NotFound'), 'Ignored');
  t.is(fails(world, tell({ kind: 'Volume' }), 'NotFound'), 'Ignored');
  t.is(fails(world, { type: 'DeleteChild', kind: 'Attempt', name: 'other' }, 'Unavailable'), 'Ignored');
  t.false(timers(world).includes('resync'));
  t.is(fails(world, { type: 'DeleteChild', kind: 'Attempt', name: to.name }, 'Unavailable'), 'Next');
  t.true(timers(world).includes('resync'));
  fails(world, tell(), 'RetriesExhausted');
  t.is(state(world), 'Running 1');
  t.is(fails(world, tell(), 'NotFound'), 'Next');
  t.is(state(world), 'Recovering 2');

  const young = begin('stay', { state: 'Stopped' });
  young.change(BOX, { state: 'Running' });
  t.is(fails(young, tell(), 'NotFound'), 'Next');
  t.is(state(young), 'Pending 1', 'it may not be made yet');
});

test('Opening a Sandbox that runs, again and again, commits nothing', (t) => {
  const world = begin();
  t.is(world.decide(box(world), { type: 'Activated' }), 'Volatile');
  t.is(world.decide(box(world), { type: 'Activated' }), 'Volatile');
});

test('Files that could not be saved leave the word of which snapshot stands', (t) => {
  const saved = (world: World): string =>
    seen(world)?.status.conditions?.find(({ type }) => type === 'StateSaved')?.message ?? '';
  const world = begin();
  hear(world, changed({ phase: 'Failed', lost: true, reason: 'NodeLost' }));
  t.regex(saved(world), /; there is no earlier snapshot$/);
  const kept = begin();
  request(kept, RESTART, 'a');
  run(kept);
  hear(kept, changed({ epoch: 2, phase: 'Failed', lost: true, reason: 'NodeLost' }), 2);
  t.regex(saved(kept), /; the snapshot of \d{4}-\S+Z stands$/);
});
