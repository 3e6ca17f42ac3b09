/**
 * Looks every half minute at what has changed at the processor since the last look, and settles each purchase in it, so that a webhook that
 * never came, or a browser that never came back, loses nothing. The cursor moves when all of a page is settled or belongs to another deployment.
 * I10: PAGES pages a round; at most AT_ONCE purchases are asked about at once.
 */
import type { PaymentProcessor } from '../../src/engines/payments/processor.js';
import type { Purchase } from '../../src/kinds/topup/payment.js';
import type { Purchases } from '../../storage/payments/purchases.js';
import { tick } from '../money/ticker.js';
import type { Settle } from './settlements.js';

const EVERY_MS = 30_000;
const PAGES = 20;
const AT_ONCE = 8;

export interface ReconcilerDeps {
  readonly processor: PaymentProcessor;
  readonly purchases: Pick<Purchases, 'cursor' | 'moveCursor'>;
  readonly settle: Settle;
  onProblem(message: string): void;
}

/** Goes on until `stopping` is aborted; resolves then. */
export function reconcile(deps: ReconcilerDeps, stopping: AbortSignal): Promise<void> {
  const { processor, purchases, settle, onProblem } = deps;

  async function settleAll(changed: readonly Purchase[]): Promise<boolean> {
    const all = [...new Map(changed.map((purchase) => [purchase.uid, purchase])).values()];
    let done = true;
    for (let from = 0; from < all.length && !stopping.aborted; from += AT_ONCE) {
      const settled = await Promise.all(all.slice(from, from + AT_ONCE).map((purchase) => settle(purchase, stopping)));
      done &&= settled.every((one) => one !== 'Later');
    }
    return done && !stopping.aborted;
  }

  async function round(): Promise<void> {
    for (let page = 0; page < PAGES && !stopping.aborted; page++) {
      const cursor = await purchases.cursor(processor.name);
      const found = await processor.changes(cursor, stopping);
      if (found.outcome === 'Unreachable') throw new Error(found.message);
      // What is not settled now is found again by the next round.
      if (!(await settleAll(found.changed))) return;
      if (found.cursor !== cursor) await purchases.moveCursor(processor.name, found.cursor);
      if (!found.more) return;
    }
  }

  return tick({ every: EVERY_MS, round, onProblem }, stopping);
}
