/** TopUps by what the outside world knows of them, and up to where the changes at a processor were looked at. Whole store, for the leader. */
import { decodeObject } from '../../src/api/encode.js';
import type { ApiObject } from '../../src/api/object.js';
import type { Purchase } from '../../src/kinds/topup/payment.js';
import type { TopUpPrivate } from '../../src/kinds/topup/state.js';
import type { TopUpSpec, TopUpStatus } from '../../src/kinds/topup/schema.js';
import type { Postgres, Statement } from '../postgres.js';
import type { Objects } from '../store.js';

/** A TopUp as its last commit left it. */
export interface StoredPurchase extends Purchase {
  readonly amountUSD: string;
  readonly phase: 'Queued' | 'Running' | 'Succeeded' | 'Failed';
  readonly reason?: string | undefined;
  readonly checkoutURL?: string | undefined;
  readonly receiptURL?: string | undefined;
  readonly invoiceURL?: string | undefined;
  readonly cancelURL?: string | undefined;
  readonly kept: TopUpPrivate;
}

/** Each rejects with a `RefusalError` Unavailable when Postgres does not answer. */
export interface Purchases {
  /** Undefined: there is none of this uid, or it was made before TopUps could be paid. */
  find(uid: string): Promise<StoredPurchase | undefined>;
  /** Undefined: nothing was looked at yet. */
  cursor(processor: string): Promise<string | undefined>;
  moveCursor(processor: string, cursor: string): Promise<void>;
}

export function openPurchases(postgres: Postgres, objects: Pick<Objects, 'read'>): Purchases {
  return {
    async find(uid) {
      const [row] = await postgres.readRows<[string, string]>(FIND, [uid]);
      if (row === undefined) return undefined;
      const [org, name] = row;
      const stored = await objects.read({ org, kind: 'TopUp', project: '', name });
      if (stored?.uid !== uid || stored.private === null) return undefined;
      // As the machine of TopUp wrote them.
      const { spec, status } = decodeObject(stored.body) as ApiObject<TopUpSpec, TopUpStatus>;
      return {
        ...{ org, name, uid, amountUSD: spec.amountUSD, cancelURL: spec.cancelURL },
        ...{ phase: status.phase ?? 'Queued', reason: status.reason, checkoutURL: status.checkoutURL },
        ...{ receiptURL: status.receiptURL, invoiceURL: status.invoicePDFURL },
        kept: JSON.parse(stored.private) as TopUpPrivate,
      };
    },
    async cursor(processor) {
      const [row] = await postgres.readRows<[string]>(CURSOR, [processor]);
      return row?.[0];
    },
    async moveCursor(processor, cursor) {
      await postgres.write(MOVE_CURSOR, [processor, cursor]);
    },
  };
}

const FIND: Statement = {
  name: 'purchase by uid',
  text: `SELECT org, name FROM objects WHERE uid = $1 AND kind = 'TopUp'`,
};

const CURSOR: Statement = {
  name: 'payment cursor',
  text: 'SELECT cursor FROM payment_cursors WHERE processor = $1',
};

/** Precondition: everything before the cursor was settled. Result: the next look begins there. */
const MOVE_CURSOR: Statement = {
  name: 'move payment cursor',
  text: `
INSERT INTO payment_cursors (processor, cursor) VALUES ($1, $2)
ON CONFLICT (processor) DO UPDATE SET cursor = excluded.cursor`,
};
