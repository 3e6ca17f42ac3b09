/** The fields of a CreditGrant. Source: decisions, "Kinds not detailed". */
import { z } from 'zod';
import { zTimestamp, zUsd } from '../../api/schema.js';

export const creditGrantSpec = z.object({
  amountUSD: zUsd({ above: '0', description: 'Credits that were given.' }),
  source: z.enum(['Bootstrap', 'Promo', 'TopUp', 'Refund']).describe('Where they come from.'),
  expirationTime: zTimestamp('From then on what is left cannot be spent; unset: it does not expire.').optional(),
  note: z.string().max(1024).optional().describe('What it was given for.'),
});

export const creditGrantStatus = z.object({
  remainingUSD: zUsd({ description: 'Credits of it that are left.' }).optional(),
  phase: z.enum(['Active', 'Used', 'Expired']).optional().describe('Used: nothing of it is left.'),
});

export type CreditGrantSpec = z.infer<typeof creditGrantSpec>;
export type CreditGrantStatus = z.infer<typeof creditGrantStatus>;
