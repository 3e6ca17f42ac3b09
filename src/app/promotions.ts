/** The promo codes of this deployment, and what finishes redemptions that were cut off. */
import { openKeyedAnswers } from '../../actors/keyed-answers.js';
import type { Actors } from '../../actors/open.js';
import { finishRedemptions, openPromotions, type Promotions } from '../../actors/payments/promo-codes.js';
import { openPromoCodes } from '../../storage/payments/promo-codes.js';
import type { LeaderDeps } from './leader.js';

export function startPromotions(
  { store, metrics }: Pick<LeaderDeps, 'store' | 'metrics'>,
  actors: Pick<Actors, 'write' | 'keepAnswer'>,
  stopping: AbortSignal,
): Promotions {
  const promotions = openPromotions({
    ...{ rows: openPromoCodes(store.postgres), write: actors.write },
    answers: openKeyedAnswers(store.responses, actors),
  });
  const onProblem = (message: string): void =>
    metrics.observe.problem('the ledger', `promo codes are not granted: ${message}`);
  void finishRedemptions(promotions, onProblem, stopping);
  return promotions;
}
