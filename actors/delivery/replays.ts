/** Sends a delivery again because a client asks for it: the same body under a new id, once per Idempotency-Key. */
import { refuse } from '../../src/api/refusal.js';
import type { KeepResult, Keyed, KeptAnswer } from '../../storage/commit/request.js';
import type { StoredResponse } from '../../storage/store.js';
import type { DeliveryEntry, DeliveryLog } from '../../storage/webhooks/log.js';

export interface ReplayDeps {
  readonly log: Pick<DeliveryLog, 'replay'>;
  readonly answers: {
    find(
      org: string,
      holder: string,
      key: string,
    ): Promise<Pick<StoredResponse, 'fingerprint' | 'response'> | undefined>;
    keep(org: string, answer: KeptAnswer): Promise<KeepResult>;
  };
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
  const stored = keyed && (await deps.answers.find(org, keyed.holder, keyed.key));
  if (stored !== undefined) {
    if (stored.fingerprint === keyed?.fingerprint) {
      const entry: DeliveryEntry = JSON.parse(stored.response.toString('utf8'));
      return { entry, replayed: true };
    }
    throw refuse('IdempotencyKeyReused', `Idempotency-Key "${keyed?.key}" was used for a different request`);
  }
  const entry = await deps.log.replay(org, endpoint, id, deps.uid(), deps.now());
  if (entry === undefined) return undefined;
  deps.look(endpoint);
  if (keyed) {
    const response = Buffer.from(JSON.stringify(entry));
    await deps.answers.keep(org, { ...keyed, status: 201, response, headers: {} });
  }
  return { entry, replayed: false };
}
