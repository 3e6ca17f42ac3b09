/** Detached processes keep their owner awake as long as the engine says that they run, and no longer. */
import test from 'ava';
import { openActivity } from '../../actors/work/report-activity.js';
import { openDetached } from '../../actors/work/detached.js';
import type { Address } from '../../src/api/address.js';
import { encodeObject } from '../../src/api/encode.js';
import type { WorkState } from '../../src/engines/compute/contract/engine.js';
import type { ObjectMessage } from '../../src/kinds/object-message.js';
import { until } from '../e2e/until.js';

const BOX: Address = { org: 'acme', kind: 'Sandbox', project: 'default', name: 'box' };
const ATTEMPT: Address = { ...BOX, kind: 'Attempt', name: 'box-2' };

function attempt(owned: boolean): Buffer {
  return encodeObject({
    apiVersion: 'svc.dev/v1',
    kind: 'Attempt',
    metadata: {
      name: 'box-2',
      namespace: 'default',
      uid: 'a-1',
      generation: 1,
      creationTimestamp: '2026-01-02T03:04:05Z',
      ...(owned
        ? {
            ownerReferences: [{ apiVersion: 'svc.dev/v1', kind: 'Sandbox', name: 'box', uid: 's-1', controller: true }],
          }
        : {}),
    },
    spec: {},
    status: {},
  });
}

function open(t: { teardown(release: () => void): void }, owned = true) {
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  const told: { to: Address; uid: string; message: ObjectMessage }[] = [];
  const activity = openActivity({
    tell: (to, uid, message) => void told.push({ to, uid, message }),
    now: () => 5,
    stopping: stop.signal,
  });
  const detached = openDetached({
    attempts: { find: (uid) => (uid === 'a-1' ? { found: 'Live', address: ATTEMPT, epoch: 1 } : { found: 'None' }) },
    activity,
    read: async () => attempt(owned),
    onProblem(message) {
      throw new Error(message);
    },
  });
  const say = (processes: number | undefined, sequence: number, phase: WorkState['phase'] = 'Running', id = 'a-1.2') =>
    detached.note({ id, phase, sequence, processes });
  const busy = (): boolean[] => told.map(({ message }) => message.type === 'ActivitySeen' && message.busy);
  return { told, activity, detached, say, busy };
}

test('the owner hears of the first and of the end of the last, at its epoch, and nothing in between', async (t) => {
  const { told, say, busy } = open(t);
  say(undefined, 1);
  say(1, 2);
  await until('it is told', () => told.length === 1);
  t.deepEqual(told[0], { to: BOX, uid: 's-1', message: { type: 'ActivitySeen', epoch: 2, at: 5, busy: true } });
  say(2, 3);
  say(1, 4);
  say(1, 4);
  say(0, 5);
  await until('its end is told', () => busy().length === 2);
  t.deepEqual(busy(), [true, false]);
  say(1, 4);
  await new Promise((resolve) => setImmediate(resolve));
  say(3, 6);
  await until('it is told again', () => busy().at(-1) === true);
  say(3, 7, 'Exited');
  await until('that end is told', () => busy().at(-1) === false);
  t.is(busy().length, 4);
});

test('processes that end before their owner is known, and work that is removed, leave nobody awake', async (t) => {
  const { say, busy, detached } = open(t);
  say(1, 1);
  say(0, 2);
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  t.deepEqual(busy(), []);
  say(1, 3);
  await until('it is told', () => busy().length === 1);
  detached.gone('a-1.2');
  await until('the end is told', () => busy().length === 2);
  t.deepEqual(busy(), [true, false]);
});

test('work of nobody and of an orphan keeps nobody awake, and is looked at again with its next state', async (t) => {
  const orphan = open(t, false);
  orphan.say(1, 1);
  orphan.say(1, 1, 'Running', 'a-9.1');
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  t.deepEqual(orphan.busy(), []);
});

test('what is touched again and again is told of once', async (t) => {
  const { activity, busy } = open(t);
  for (let i = 0; i < 1000; i++) activity.touch(BOX, 's-1', 2);
  await until('it is told', () => busy().length > 0);
  t.deepEqual(busy(), [true]);
  const over = activity.begin(BOX, 's-1', 2);
  over();
  t.deepEqual(busy(), [true]);
});
