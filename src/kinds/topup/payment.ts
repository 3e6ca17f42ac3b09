/**
 * What a payment processor says of one purchase, as the TopUp has it. All amounts are USD as decimal strings; a processor that says another
 * currency or amount than was asked for says `Mismatch`. Times are ms.
 */

/** A purchase, here and at the processor: it comes back with everything that the processor says of it. */
export interface Purchase {
  readonly org: string;
  /** Of the TopUp. */
  readonly name: string;
  readonly uid: string;
}

/** Where a payment is looked up at its processor. */
export type PaymentSource =
  /** A page to pay at, by its id. */
  | { readonly type: 'Checkout'; readonly id: string }
  /** A charge of a saved card, by the id of the payment. */
  | { readonly type: 'Charge'; readonly id: string };

/** A card that may be charged again. The ids are the processor's, and no other one can charge it. */
export interface SavedCard {
  readonly processor: 'Stripe' | 'Test';
  readonly customer: string;
  readonly method: string;
  readonly brand: string;
  readonly last4: string;
}

export interface PaymentRefund {
  readonly id: string;
  readonly amountUSD: string;
  /** Failed: the money came back, or never left. Pending and Succeeded count as paid back. */
  readonly state: 'Pending' | 'Succeeded' | 'Failed';
  /** Under which this service has asked for it; absent: it was made at the processor. */
  readonly key?: string | undefined;
}

export interface PaymentDispute {
  readonly id: string;
  readonly amountUSD: string;
  /** One that is lost may still be won, by an appeal. */
  readonly state: 'Open' | 'Won' | 'Lost';
}

export type Payment =
  /** Nobody has paid yet. */
  | { readonly state: 'Open' }
  /** The payer has done everything, and a bank settles. */
  | {
      readonly state: 'Pending';
      /** Where the payer sees meanwhile how it stands. */
      readonly page?: string | undefined;
    }
  /** For good, as far as this page or charge goes. `message`: for the customer. */
  | { readonly state: 'Failed'; readonly message: string }
  /** For good: nobody can pay any more. */
  | { readonly state: 'Expired' }
  /** Something was paid that is not what was asked for: a person has to look at it. */
  | { readonly state: 'Mismatch'; readonly message: string }
  | PaidPayment;

export interface PaidPayment {
  readonly state: 'Paid';
  /** Id of the payment at the processor. */
  readonly payment: string;
  readonly amountUSD: string;
  readonly time: number;
  readonly method?: { readonly brand: string; readonly last4: string } | undefined;
  /** Present when the payer agreed that it may be charged again. */
  readonly card?: SavedCard | undefined;
  readonly receiptURL?: string | undefined;
  readonly invoiceURL?: string | undefined;
  /** All of them so far. */
  readonly refunds: readonly PaymentRefund[];
  readonly disputes: readonly PaymentDispute[];
}
