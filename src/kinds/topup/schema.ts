/** The fields of a TopUp. Source: spec, "TopUp". */
import { z } from 'zod';
import { zTimestamp, zUsd } from '../../api/schema.js';
import { conditionField } from '../shapes/status.js';

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * The browser comes back to the console, or to a program on the customer's own machine. What browsers read into an address others may not (a
 * backslash for a slash, one letter for another, a line break for nothing), so only plain ones are taken.
 */
const PLAIN = /^(https?):\/\/([a-z0-9.:[\]-]+)(?:[/?#][\x21-\x5b\x5d-\x7e]*)?$/i;

function isReturnAddress(text: string): boolean {
  const [, scheme = '', host = ''] = PLAIN.exec(text) ?? [];
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  if (url.protocol !== `${scheme.toLowerCase()}:` || url.username !== '' || url.password !== '') return false;
  // The name that was written is the one that is meant.
  const plain = host.toLowerCase().replace(/:\d*$/, '');
  if (url.hostname !== plain) return false;
  return url.protocol === 'https:' || LOOPBACK.has(url.hostname);
}

const returnAddress = z
  .string()
  .max(8192)
  .refine(
    isReturnAddress,
    'must be an https page of this service or an http page on localhost (also 127.0.0.1 and [::1]), without credentials',
  )
  .meta({ format: 'uri', example: 'http://127.0.0.1:4000/paid' });

export const topUpSpec = z.object({
  amountUSD: zUsd({ min: '5.00', max: '1000.00', wholeCents: true, description: 'Credits to buy.' }),
  cancelURL: returnAddress
    .optional()
    .describe('Where the browser goes when the payment is given up: a page of this service or on localhost.'),
  origin: z
    .enum(['Checkout', 'AutoRecharge'])
    .optional()
    .describe('How it is paid; customers make Checkout ones only. AutoRecharge: the saved card is charged.'),
  savePaymentMethod: z.boolean().optional().describe('Keep the card for automatic recharges.'),
  successURL: returnAddress
    .optional()
    .describe(
      'Where the browser goes after the payment: a page of this service or on localhost. Used once; reads back empty.',
    ),
});

export const topUpStatus = z.object({
  checkoutURL: z.string().optional().describe('Page to pay at, while it is open.'),
  conditions: z.array(conditionField).optional().describe('Paid and Credited; Disputed, once the payment was.'),
  creditedUSD: zUsd({ description: 'Credited to the wallet.' }).optional(),
  expirationTime: zTimestamp('When an unpaid checkout ends.').optional(),
  invoicePDFURL: z.string().optional().describe('The invoice, to print or to keep.'),
  paidTime: zTimestamp('When the payment was confirmed.').optional(),
  paymentIntent: z.string().optional().describe("The payment at the processor, by the processor's id."),
  paymentMethod: z
    .object({ brand: z.string().describe('Such as visa.'), last4: z.string().describe('Last four digits.') })
    .optional()
    .describe('The card that paid.'),
  phase: z
    .enum(['Queued', 'Running', 'Succeeded', 'Failed'])
    .optional()
    .describe(
      'Queued: the checkout is being made. Running: it is open. Succeeded: paid and credited. Failed: see reason.',
    ),
  reason: z.string().optional().describe('PaymentPending while a bank settles; Expired or PaymentFailed once Failed.'),
  receiptURL: z.string().optional().describe('The receipt.'),
  refundedUSD: zUsd({ description: 'Paid back.' }).optional(),
  transaction: z.string().optional().describe('The posting in the ledger.'),
});

export type TopUpSpec = z.infer<typeof topUpSpec>;
export type TopUpStatus = z.infer<typeof topUpStatus>;
