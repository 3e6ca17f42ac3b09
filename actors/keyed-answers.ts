/**
 * Answers to keyed requests that are no writes of an object, such as a new org or a redeemed promo code: they are kept and found again as
 * those of writes are, by org, holder and Idempotency-Key.
 */
import { refuse } from '../src/api/refusal.js';
import type { KeepResult, Keyed, KeptAnswer } from '../storage/commit/request.js';
import type { Responses, StoredResponse } from '../storage/store.js';
import type { Actors } from './open.js';

export interface KeyedAnswers {
  find(org: string, holder: string, key: string): Promise<Pick<StoredResponse, 'fingerprint' | 'response'> | undefined>;
  keep(org: string, answer: KeptAnswer): Promise<KeepResult>;
}

export function openKeyedAnswers(responses: Responses, actors: Pick<Actors, 'keepAnswer'>): KeyedAnswers {
  return {
    find: (org, holder, key) => responses.find(org, holder, key),
    keep: (org, answer) => actors.keepAnswer(org, answer, 0),
  };
}

/** What the same request was answered before. Throws IdempotencyKeyReused when another request had the key. */
export async function findAnswer(
  answers: KeyedAnswers,
  org: string,
  { holder, key, fingerprint }: Keyed,
): Promise<Buffer | undefined> {
  const stored = await answers.find(org, holder, key);
  if (stored === undefined) return undefined;
  if (stored.fingerprint !== fingerprint)
    throw refuse('IdempotencyKeyReused', `Idempotency-Key "${key}" was used for a different request`);
  return stored.response;
}

/** Throws Unavailable when it could not be kept: what was done is found by the repeat of the request. */
export async function keepAnswer(answers: KeyedAnswers, org: string, keyed: Keyed, response: Buffer): Promise<void> {
  const { outcome } = await answers.keep(org, { ...keyed, status: 201, response, headers: {} });
  if (outcome !== 'Kept')
    throw refuse('Unavailable', 'the answer could not be kept; try again', { retryAfterSeconds: 1 });
}
