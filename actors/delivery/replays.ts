/** Sends a delivery again because a client asks for it: the same body under a new id, once per Idempotency-Key. */
import type { Keyed } from '../../storage/commit/request.js';
import type { DeliveryEntry, DeliveryLog } from '../../storage/webhooks/log.js';
import { findAnswer, type KeyedAnswers } from '../keyed-answers.js';

export interface ReplayDeps {
  readonly log: Pick<DeliveryLog, 'replay'>;
  readonly answers: KeyedAnswers;
  /** Something of this endpoint is due. */
  look(endpoint: string): void;
  now(): number;
  uid(): string;
}

export interface Replayed {
  readonly entry: DeliveryEntry;
  /** The answer of an earlier time: the request was sent again. */
  readonly replayed: boolean;
}

/**
 * Undefined: there is no such delivery. Cut off between the row and its kept answer, the same request makes one more:
 * deliveries come at least once.
 */
export async function replayDelivery(
  { org, endpoint, id }: { readonly org: string; readonly endpoint: string; readonly id: string },
  keyed: Keyed | undefined,
  deps: ReplayDeps,
): Promise<Replayed | undefined> {
  const before = keyed && (await findAnswer(deps.answers, org, keyed));
  if (before !== undefined) return { entry: JSON.parse(before.toString('utf8')) as DeliveryEntry, replayed: true };
  const entry = await deps.log.replay(org, endpoint, id, deps.uid(), deps.now());
  if (entry === undefined) return undefined;
  deps.look(endpoint);
  if (keyed) {
    const response = Buffer.from(JSON.stringify(entry));
    await deps.answers.keep(org, { ...keyed, status: 201, response, headers: {} });
  }
  return { entry, replayed: false };
}
