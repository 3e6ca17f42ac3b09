/**
 * The life of a WebhookEndpoint: its signing secret and that one's rotation, what is given up when it is paused or
 * deleted, and what its status says of the receiver. Deliveries themselves are rows, not messages: the sender tells how
 * they stand (`DeliveriesSeen`), at most about once a second, and whatever it says holds then.
 *
 * I11: the secret leaves only through `SealSecret` and, once, the answer that made it.
 */
import { findCondition, setCondition } from '../../api/conditions.js';
import { parseDuration } from '../../api/duration.js';
import { rfc3339 } from '../../api/time.js';
import type { Effect } from '../effect.js';
import { emit } from '../events/emit.js';
import type { ObjectMessage } from '../object-message.js';
import type { Current, Machine, Message, DecisionContext } from '../machine.js';
import { IGNORED, next, type PlainDecision } from '../plain-machine.js';
import { rotationInput, type WebhookEndpointSpec, type WebhookEndpointStatus } from './schema.js';
import { makeSecret, SECRET_KEY } from './secret.js';

/** Version of the secret that signs; the one before it signs too while `status.secretRotation` stands. */
export interface WebhookEndpointPrivate {
  readonly version: number;
}

type Here = Current<WebhookEndpointSpec, WebhookEndpointStatus, WebhookEndpointPrivate>;
type Decided = PlainDecision<WebhookEndpointStatus, WebhookEndpointPrivate>;
type Seen = Extract<ObjectMessage, { type: 'DeliveriesSeen' }>;

const PREVIOUS_ENDS = 'previous-secret-ends';
/** So many latest deliveries have to fail before the receiver counts as failing. Source: spec, "Failure handling". */
const FAILING_AFTER = 3;

const ABANDON: Effect = { type: 'AbandonDeliveries' };

function create({ object }: Here, context: DecisionContext): Decided {
  const { text, bytes } = makeSecret((length) => context.randomBytes(length));
  const status: WebhookEndpointStatus = {
    ...object.status,
    observedGeneration: object.metadata.generation,
    conditions: conditionsWith(object.status, 'Unknown', 'NoDeliveries', 'nothing has been delivered yet', context),
  };
  return next<WebhookEndpointStatus, WebhookEndpointPrivate>(status, {
    private: { version: 1 },
    effects: [
      { type: 'SealSecret', version: 1, values: new Map([[SECRET_KEY, bytes]]) },
      emit('webhookendpoint.ping', 'the endpoint was created'),
    ],
    reveal: { signingSecret: text },
  });
}

function update({ object }: Here, { before }: Extract<Message, { type: 'Updated' }>): Decided {
  const paused = !object.spec.enabled && (before.spec as WebhookEndpointSpec).enabled;
  const status = { ...object.status, observedGeneration: object.metadata.generation };
  return next<WebhookEndpointStatus, WebhookEndpointPrivate>(status, { effects: paused ? [ABANDON] : [] });
}

/** The old secret goes on signing for as long as was asked; one that was still older ends now. */
function rotate({ object, private: kept }: Here, input: unknown, context: DecisionContext): Decided {
  const { previousSecretTTL } = rotationInput.parse(input);
  const ttl = parseDuration(previousSecretTTL) ?? 0;
  const { text, bytes } = makeSecret((length) => context.randomBytes(length));
  const previous = kept?.version ?? 0;
  const version = previous + 1;
  const { secretRotation: _, ...status } = object.status;
  const ends = context.now + ttl;
  const effects: Effect[] = [
    { type: 'SealSecret', version, values: new Map([[SECRET_KEY, bytes]]) },
    { type: 'DropSecretVersions', below: ttl === 0 ? version : previous },
    ttl === 0 ? { type: 'CancelTimer', timer: PREVIOUS_ENDS } : { type: 'ArmTimer', timer: PREVIOUS_ENDS, at: ends },
  ];
  return next<WebhookEndpointStatus, WebhookEndpointPrivate>(
    ttl === 0 ? status : { ...status, secretRotation: { previousExpirationTime: rfc3339(ends) } },
    { private: { version }, effects, reveal: { signingSecret: text } },
  );
}

/** Two secrets sign at most: of one that would still have signed for a while the caller is told. */
export function secretsEndedByRotation({ secretRotation }: WebhookEndpointStatus, now: number): readonly string[] {
  const until = secretRotation?.previousExpirationTime;
  if (until === undefined || now >= Date.parse(until)) return [];
  return [`the older secret that was to sign until ${until} ends with this rotation: at most two secrets sign`];
}

/** A timer that comes before its time belongs to an earlier rotation. */
function endPrevious({ object, private: kept }: Here, context: DecisionContext): Decided {
  const { secretRotation, ...status } = object.status;
  if (secretRotation === undefined || kept === undefined) return IGNORED;
  // Whole seconds are shown, cut: the timer is never before them.
  if (context.now < Date.parse(secretRotation.previousExpirationTime)) return IGNORED;
  return next<WebhookEndpointStatus, WebhookEndpointPrivate>(status, {
    effects: [{ type: 'DropSecretVersions', below: kept.version }],
  });
}

function see({ object }: Here, { recent, succeeded, failed, last }: Seen, context: DecisionContext): Decided {
  const { deliveries24h: _, ...before } = object.status;
  const status: WebhookEndpointStatus = {
    ...before,
    ...(succeeded + failed > 0 || object.status.deliveries24h ? { deliveries24h: { failed, succeeded } } : {}),
    ...(last && isLater(last.time, before.lastDelivery?.time)
      ? {
          lastDelivery: {
            ...{ attempt: last.attempt, eventType: last.event, statusCode: last.status, time: rfc3339(last.time) },
          },
        }
      : {}),
  };
  const failing = recent.length >= FAILING_AFTER && recent.every((delivery) => !delivery.succeeded);
  const wasFailing = findCondition(before.conditions, 'Healthy')?.status === 'False';
  if (failing) {
    const since = rfc3339(Math.min(...recent.map(({ time }) => time)));
    const message = `the last ${FAILING_AFTER} deliveries failed`;
    const conditions = conditionsWith(object.status, 'False', 'DeliveriesFailing', message, context);
    // Once for each time that it begins to fail.
    const effects: Effect[] = wasFailing ? [] : [emit('webhookendpoint.deliveries_failing', message)];
    return next({ ...status, conditions, failingSince: status.failingSince ?? since }, { effects });
  }
  if (!recent.some((delivery) => delivery.succeeded)) return next(status);
  const { failingSince: _healed, ...healthy } = status;
  const conditions = conditionsWith(
    object.status,
    'True',
    'DeliveriesSucceeding',
    'the receiver takes deliveries',
    context,
  );
  return next({ ...healthy, conditions });
}

function isLater(time: number, shown: string | undefined): boolean {
  return shown === undefined || rfc3339(time) >= shown;
}

function conditionsWith(
  status: WebhookEndpointStatus,
  holds: 'True' | 'False' | 'Unknown',
  reason: string,
  message: string,
  context: DecisionContext,
): WebhookEndpointStatus['conditions'] {
  return [...setCondition(status.conditions, { type: 'Healthy', status: holds, reason, message }, context.now)];
}

export const webhookEndpointMachine: Machine<
  WebhookEndpointSpec,
  WebhookEndpointStatus,
  WebhookEndpointPrivate,
  undefined,
  never
> = {
  decide(current, _side, message, context) {
    switch (message.type) {
      case 'Created':
        return create(current, context);
      case 'Updated':
        return update(current, message);
      case 'Action':
        return message.action === 'RotateSecret' ? rotate(current, message.input, context) : IGNORED;
      case 'DeletionRequested':
        return next(current.object.status, { effects: [ABANDON] });
      case 'TimerFired':
        return message.timer === PREVIOUS_ENDS ? endPrevious(current, context) : IGNORED;
      case 'MessageReceived':
        return message.content.type === 'DeliveriesSeen' ? see(current, message.content, context) : IGNORED;
      default:
        return IGNORED;
    }
  },
};
