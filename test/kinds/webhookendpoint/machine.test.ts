import test from 'ava';
import { findCondition } from '../../../src/api/conditions.js';
import { webhookEndpointKind } from '../../../src/kinds/webhookendpoint/index.js';
import type { ObjectMessage } from '../../../src/kinds/object-message.js';
import type { Message } from '../../../src/kinds/machine.js';
import type { WebhookEndpointStatus } from '../../../src/kinds/webhookendpoint/schema.js';
import { ask, at, decided, contextAt, NOW, objectOf, type Next, type Stored } from '../decide.js';

const kind = webhookEndpointKind;
const HOUR = 3_600_000;

const created = (spec: object = {}): Next =>
  decided(kind, at(objectOf(kind, { url: 'https://example.com', ...spec })), { type: 'Created' });

const statusOf = ({ object }: Stored): WebhookEndpointStatus => object.status as WebhookEndpointStatus;
const typesOf = ({ effects }: Next): string[] => effects.map(({ type }) => type);
const healthOf = (stored: Stored): string => findCondition(statusOf(stored).conditions, 'Healthy')?.status ?? '';

const rotate = (stored: Stored, previousSecretTTL: string, now = NOW): Next =>
  decided(kind, stored, { type: 'Action', action: 'RotateSecret', input: { previousSecretTTL } }, contextAt(now, 7));

function seen(
  results: readonly boolean[],
  more: Partial<Extract<ObjectMessage, { type: 'DeliveriesSeen' }>> = {},
): Message {
  const recent = results.map((succeeded, i) => ({ succeeded, time: NOW - i * 1_000 }));
  const from = { address: { org: 'o-1', kind: 'WebhookEndpoint', project: '', name: 'one' }, uid: 'uid-0', version: 0 };
  return {
    type: 'MessageReceived',
    from,
    content: { type: 'DeliveriesSeen', recent, succeeded: 1, failed: 2, ...more },
  };
}

test('at birth a secret is sealed and shown once, and a ping is emitted', (t) => {
  const one = created();
  t.deepEqual(typesOf(one), ['SealSecret', 'Emit']);
  t.deepEqual(one.effects[1], {
    type: 'Emit',
    event: 'webhookendpoint.ping',
    reason: 'Ping',
    message: 'the endpoint was created',
  });
  t.regex(String(one.reveal['signingSecret']), /^whsec_[A-Za-z0-9+/]{43}=$/);
  const [sealed] = one.effects;
  const key = sealed?.type === 'SealSecret' ? sealed.values.get('key') : undefined;
  t.is(`whsec_${Buffer.from(key ?? []).toString('base64')}`, String(one.reveal['signingSecret']));
  t.false(
    JSON.stringify([one.object, one.private]).includes(Buffer.from(key ?? []).toString('base64')),
    'nowhere else',
  );
  t.is(healthOf(one), 'Unknown');
  t.is(statusOf(one).observedGeneration, 1);
});

test('a rotation keeps the old secret for as long as is asked, and its timer ends it', (t) => {
  const first = created();
  const second = rotate(first, '1h');
  t.not(second.reveal['signingSecret'], first.reveal['signingSecret']);
  t.deepEqual(typesOf(second), ['SealSecret', 'DropSecretVersions', 'ArmTimer']);
  t.like(second.effects[1], { below: 1 });
  t.like(second.effects[2], { at: NOW + HOUR });
  t.is(statusOf(second).secretRotation?.previousExpirationTime, '2026-01-02T04:04:05Z');
  const fired = { type: 'TimerFired', timer: 'previous-secret-ends', generation: 1 } as const;
  t.is(ask(kind, second, fired, contextAt(NOW + HOUR - 2_000)).outcome, 'Ignored');
  const ended = decided(kind, second, fired, contextAt(NOW + HOUR));
  t.is(statusOf(ended).secretRotation, undefined);
  t.deepEqual(ended.effects, [{ type: 'DropSecretVersions', below: 2 }]);
  t.is(ask(kind, ended, fired, contextAt(NOW + HOUR)).outcome, 'Ignored');
});

test('a second rotation ends the oldest secret at once; one without a time ends the old one at once', (t) => {
  const third = rotate(rotate(created(), '1h'), '2h');
  t.like(third.effects[1], { type: 'DropSecretVersions', below: 2 });
  t.like(third.effects[0], { version: 3 });
  const warned = (stored: Stored, time: number): readonly string[] =>
    kind.actions?.[0]?.warnings?.(stored.object, time) ?? [];
  t.deepEqual(warned(created(), NOW), []);
  t.deepEqual(warned(third, NOW + HOUR), [
    'the older secret that was to sign until 2026-01-02T05:04:05Z ends with this rotation: at most two secrets sign',
  ]);
  t.deepEqual(warned(third, NOW + 2 * HOUR), [], 'it has ended, though its timer is late');
  const now = rotate(third, '0s');
  t.like(now.effects[1], { type: 'DropSecretVersions', below: 4 });
  t.like(now.effects[2], { type: 'CancelTimer' });
  t.is(statusOf(now).secretRotation, undefined);
});

test('a pause and a deletion give up what is pending; other changes do not', (t) => {
  const one = created();
  const change = (spec: object) => {
    const object = { ...one.object, spec: { ...(one.object.spec as object), ...spec } };
    return decided(kind, { ...one, object }, { type: 'Updated', before: one.object });
  };
  t.deepEqual(typesOf(change({ enabled: false })), ['AbandonDeliveries']);
  t.deepEqual(typesOf(change({ url: 'https://example.org' })), []);
  t.deepEqual(typesOf(decided(kind, one, { type: 'DeletionRequested' })), ['AbandonDeliveries']);
});

test('three failed deliveries make it unhealthy, with one event per spell; a success heals', (t) => {
  const one = created();
  const two = decided(kind, one, seen([false, false]));
  t.is(healthOf(two), 'Unknown');
  const failing = decided(kind, two, seen([false, false, false]));
  t.is(healthOf(failing), 'False');
  t.deepEqual(typesOf(failing), ['Emit']);
  t.is(statusOf(failing).failingSince, '2026-01-02T03:04:03Z');
  const still = decided(kind, failing, seen([false, false, false], { failed: 3 }), contextAt(NOW + HOUR));
  t.deepEqual(typesOf(still), []);
  t.is(statusOf(still).failingSince, '2026-01-02T03:04:03Z');
  const healed = decided(kind, still, seen([true, false, false]));
  t.is(healthOf(healed), 'True');
  t.is(statusOf(healed).failingSince, undefined);
  const again = decided(kind, healed, seen([false, false, false]));
  t.deepEqual(typesOf(again), ['Emit']);
});

test('the status tells of the latest attempt, never of an older one, and counts down to nothing', (t) => {
  const last = { attempt: 2, event: 'job.failed', status: 0, time: NOW };
  const told = decided(kind, created(), seen([false], { last }));
  t.deepEqual(statusOf(told).lastDelivery, {
    attempt: 2,
    eventType: 'job.failed',
    statusCode: 0,
    time: '2026-01-02T03:04:05Z',
  });
  t.deepEqual(statusOf(told).deliveries24h, { failed: 2, succeeded: 1 });
  const older = decided(kind, told, seen([true], { last: { ...last, attempt: 9, time: NOW - HOUR } }));
  t.is(statusOf(older).lastDelivery?.attempt, 2);
  const later = decided(kind, older, seen([], { succeeded: 0, failed: 0 }));
  t.deepEqual(statusOf(later).deliveries24h, { failed: 0, succeeded: 0 });
  t.is(statusOf(later).lastDelivery?.attempt, 2);
});
