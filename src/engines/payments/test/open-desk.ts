/** The payer's side of the embedded test processor, over its rows: each action is at most one step of the purchase. */
import type { DeskAction, DeskOutcome, TestDesk } from './desk.js';
import type { TestPurchase } from '../../../kinds/topup/test-purchase.js';
import type { TestRows } from './rows.js';
import { checkoutOf, hasExpired } from './standing.js';

/** 32 bytes. */
const PAGE_ID = /^[A-Za-z0-9_-]{43}$/;
/** A page that there is not: it is looked up for ids that cannot be any, so that their answers take the same time. */
const NO_PAGE = '-'.repeat(43);

export function openDesk(rows: TestRows, base: string, clock: () => number): TestDesk {
  async function find(id: string): Promise<TestPurchase | undefined> {
    const isId = PAGE_ID.test(id);
    const found = await rows.find(isId ? id : NO_PAGE);
    return isId ? found : undefined;
  }

  /** Whether the row was in the state for it. Declining and going away change nothing, so they only look. */
  function step(row: TestPurchase, action: DeskAction): boolean | Promise<boolean> {
    const now = clock();
    switch (action.action) {
      case 'Pay':
        return rows.pay(row.id, action.saveCard, now);
      case 'Decline':
      case 'Abandon':
        return row.state === 'Open' && !hasExpired(row, now);
      default:
        return rows.step(row.id, action.action, now);
    }
  }

  return {
    async find(id) {
      const row = await find(id);
      return row && checkoutOf(row, base, clock());
    },
    async act(id, action): Promise<DeskOutcome> {
      const row = await find(id);
      if (row === undefined) return { outcome: 'Absent' };
      const isDone = await step(row, action);
      const after = (await rows.find(row.id)) ?? row;
      return { outcome: isDone ? 'Done' : 'NotNow', checkout: checkoutOf(after, base, clock()) };
    },
  };
}
