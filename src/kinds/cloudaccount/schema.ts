/** The fields of a CloudAccount. Source: spec, "CloudAccount". */
import { z } from 'zod';
import { zDuration, zTimestamp, zUsd } from '../../api/schema.js';
import { conditionField } from '../shapes/status.js';
import { MOST_NAMES } from '../shapes/bounds.js';
import { addIssue, rules } from '../shapes/rules.js';

const OBSERVED = ['Inventory', 'GPUs', 'Spend'] as const;

const fields = z.object({
  provider: z.enum(['CloudA', 'CloudB']).describe('The cloud; its own block says which account. Immutable.'),
  cloudA: z
    .object({
      accountId: z
        .string()
        .regex(/^[0-9]{12}$/, 'must be 12 digits')
        .describe('The account: 12 digits.'),
      regions: z
        .array(z.string().min(1))
        .max(MOST_NAMES)
        .optional()
        .describe('Regions to look at; empty: all that are enabled.'),
      roleArn: z.string().min(1).optional().describe('The role to read with; filled by the onboarding.'),
    })
    .optional()
    .describe('With provider CloudA.'),
  cloudB: z
    .object({
      method: z.enum(['OAuth']).default('OAuth').describe('How access is given; OAuth is the only way.'),
      projectIds: z
        .array(z.string().min(1))
        .max(MOST_NAMES)
        .describe('Projects to look at; empty starts the consent before projects are chosen.'),
      workloadIdentityProvider: z.string().min(1).optional().describe('Reserved for federated access.'),
    })
    .optional()
    .describe('With provider CloudB.'),
  observe: z
    .array(z.enum(OBSERVED))
    .max(OBSERVED.length)
    .default([...OBSERVED])
    .describe('What is read.'),
  sync: z
    .object({
      interval: zDuration({ min: '15m', max: '24h', description: 'Time between two readings.' }).default('1h'),
    })
    .default({ interval: '1h' })
    .describe('How often it is read.'),
});

/** Exactly the block of the provider is there. */
export const cloudAccountSpec = fields.check(
  rules(({ value: { provider, cloudA, cloudB }, issues }) => {
    const blocks = { CloudA: ['cloudA', cloudA], CloudB: ['cloudB', cloudB] } as const;
    // A provider that is none has no block, and is complained of by itself.
    if (!Object.hasOwn(blocks, provider)) return;
    for (const [name, [path, block]] of Object.entries(blocks)) {
      if (name === provider && block === undefined) {
        addIssue(issues, [path], `must be given with provider ${provider}`, 'FieldValueRequired');
      }
      if (name !== provider && block !== undefined) {
        addIssue(issues, [path], `must not be given with provider ${provider}`, 'FieldValueForbidden');
      }
    }
  }),
);

const amount = (what: string) => z.string().optional().describe(`${what}, as a decimal string in the currency.`);

/** Spend in one currency, as the cloud bills it. */
const currency = z.object({
  currency: z.string().optional().describe('ISO 4217 code.'),
  byService: z
    .array(z.object({ cost: amount('Spent on it'), service: z.string().optional().describe('Name of the service.') }))
    .optional()
    .describe('Spend by service.'),
  computeDescription: z.string().optional().describe('What counts as compute.'),
  computeServiceTotal: amount('Spent on compute'),
  coverage: z
    .object({
      billedThrough: z.string().optional().describe('Last day that is billed for good.'),
      completeDays: z.int().optional().describe('Days that are complete.'),
      estimatedDays: z.int().optional().describe('Days that are estimated.'),
      missingDays: z.int().optional().describe('Days without data.'),
      observedDays: z.int().optional().describe('Days with data.'),
    })
    .optional()
    .describe('How much of the time the report knows.'),
  daily: z
    .array(
      z.object({
        day: z.string().optional().describe('YYYY-MM-DD.'),
        complete: z.boolean().optional().describe('Nothing will be added to it.'),
        cost: amount('Spent on the day; absent when none was observed'),
        estimated: z.boolean().optional().describe('The amount is an estimate.'),
      }),
    )
    .optional()
    .describe('Spend by day.'),
  forecast: z
    .object({
      status: z
        .enum(['Ready', 'InsufficientHistory', 'BillingAdjustments', 'ProvisionalSource'])
        .optional()
        .describe('Whether there is a forecast, or why not.'),
      method: z.string().optional().describe('How it was made.'),
      historyDays: z.int().optional().describe('Days that it was made from.'),
      historyThrough: z.string().optional().describe('Last of these days.'),
      horizonDays: z.int().optional().describe('Days that it covers.'),
      total: amount('Expected spend'),
      computeServiceTotal: amount('Expected spend on compute'),
      computeDescription: z.string().optional().describe('What counts as compute.'),
    })
    .optional()
    .describe('What is expected to be spent.'),
  monthToDate: amount('Spent in this month'),
  observedTotal: amount('Spent in the time of the report'),
});

const report = z.object({
  basis: z.string().optional().describe('What kind of cost is shown.'),
  fromDay: z.string().optional().describe('First day, YYYY-MM-DD.'),
  toDay: z.string().optional().describe('Day after the last one, YYYY-MM-DD.'),
  source: z.string().describe('Where the numbers come from.'),
  currencies: z.array(currency).optional().describe('One entry for each currency that is billed in.'),
});

export const cloudAccountStatus = z.object({
  conditions: z.array(conditionField).optional().describe('Verified and Synced.'),
  externalId: z.string().optional().describe("What the role's trust policy must require."),
  handledRequests: z
    .record(z.string(), z.string())
    .optional()
    .describe('Last value carried out, by request annotation.'),
  inventory: z
    .object({
      gpus: z.record(z.string(), z.int32()).optional().describe('GPUs by model.'),
      instances: z.int32().describe('Machines that run.'),
      regions: z.array(z.string()).optional().describe('Regions with machines.'),
    })
    .optional()
    .describe('What runs in the account.'),
  lastSyncTime: zTimestamp('When it was read last.').optional(),
  phase: z.enum(['Pending', 'Ready', 'Failed']).optional().describe('Pending until access is verified.'),
  spend: z
    .object({
      asOfTime: zTimestamp('When the numbers were true.').optional(),
      monthToDateUSD: z
        .union([zUsd(), z.literal('')])
        .describe('Spent in this month in USD; empty when none was observed.'),
      report: report.optional().describe('The spend in detail.'),
    })
    .optional()
    .describe('What the cloud bills. It never enters the billing of this service.'),
});

export type CloudAccountSpec = z.infer<typeof cloudAccountSpec>;
export type CloudAccountStatus = z.infer<typeof cloudAccountStatus>;
