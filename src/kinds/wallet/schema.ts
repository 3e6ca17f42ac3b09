/** The settings of a Wallet, and what its status shows. Source: decisions, "Kinds not detailed". */
import { z } from 'zod';
import { zUsd } from '../../api/schema.js';
import { addIssue, rules } from '../shapes/rules.js';
import { parseUsd } from '../../api/usd.js';

/** Switched on, it needs all of them. */
function complete({
  value,
  issues,
}: z.core.ParsePayload<{
  enabled: boolean;
  belowUSD?: string | undefined;
  amountUSD?: string | undefined;
  monthlyLimitUSD?: string | undefined;
}>): void {
  const { enabled, amountUSD, monthlyLimitUSD } = value;
  if (enabled)
    for (const field of ['belowUSD', 'amountUSD', 'monthlyLimitUSD'] as const)
      if (value[field] === undefined)
        addIssue(issues, [field], 'is required while enabled is true', 'FieldValueRequired');
  // Rules are held where a field has a bad value as well.
  const [amount, limit] = [parseUsd(amountUSD ?? ''), parseUsd(monthlyLimitUSD ?? '')];
  if (amount !== undefined && limit !== undefined && amount.gt(limit))
    addIssue(issues, ['monthlyLimitUSD'], 'must be at least amountUSD, or nothing is ever bought');
}

export const walletSpec = z.object({
  autoRecharge: z
    .object({
      enabled: z.boolean().default(false).describe('Whether credits are bought with the saved card.'),
      belowUSD: zUsd({ above: '0', description: 'Available balance below which they are bought.' }).optional(),
      amountUSD: zUsd({
        ...{ min: '5.00', max: '1000.00', wholeCents: true },
        description: 'Credits that are bought at once.',
      }).optional(),
      monthlyLimitUSD: zUsd({
        above: '0',
        description: 'Most that is bought so in a calendar month in UTC.',
      }).optional(),
    })
    .check(rules(complete))
    .optional()
    .describe('Credits are bought by themselves, one purchase at a time.'),
  warnBelowUSD: zUsd({
    above: '0',
    description: 'Available balance below which billing.low_balance tells of it, once each time that it falls below.',
  }).optional(),
});

export const walletStatus = z.object({
  phase: z.enum(['Ready']).optional(),
  low: z.boolean().optional().describe('The available balance is below warnBelowUSD.'),
  owing: z.boolean().optional().describe('Something is owed.'),
  disputes: z.array(z.string()).optional().describe('TopUps whose payment is disputed.'),
  card: z
    .object({ brand: z.string(), last4: z.string(), processor: z.enum(['Stripe', 'Test']) })
    .optional()
    .describe('The card that is saved.'),
  recharge: z
    .object({
      month: z.string().describe('Calendar month in UTC.'),
      usedUSD: zUsd({ description: 'Bought in that month, with what is under way.' }),
      topUp: z.string().optional().describe('The purchase that is under way.'),
      stopped: z.string().optional().describe('Why nothing is bought for now.'),
    })
    .optional(),
});

export type WalletSpec = z.infer<typeof walletSpec>;
export type WalletStatus = z.infer<typeof walletStatus>;
