/** The fields of a Budget. Source: spec, "Budget". */
import { z } from 'zod';
import { zTimestamp, zUsd } from '../../api/schema.js';
import { conditionField } from '../shapes/status.js';
import { labelSelector, type LabelSelectorSpec, projectNameField } from '../shapes/names.js';
import { addIssue, rules } from '../shapes/rules.js';
import { MAX_REQUIREMENTS } from '../../api/selectors/label.js';

const PERCENT = 'must be a whole percent from 1 to 100';
const DEFAULT_THRESHOLDS: readonly number[] = [50, 80, 100];

/** What is matched is a selector's text, which has a bound of its own. */
function readable({
  value: { matchLabels = {}, matchExpressions = [] },
  issues,
}: z.core.ParsePayload<LabelSelectorSpec>): void {
  const count = Object.keys(matchLabels).length + matchExpressions.length;
  if (count > MAX_REQUIREMENTS)
    addIssue(issues, [], `must have at most ${MAX_REQUIREMENTS} labels and requirements together, has ${count}`);
}

export const budgetSpec = z.object({
  limitUSD: zUsd({ above: '0', description: "Limit of the period's spend plus holds." }),
  action: z
    .enum(['Block', 'Notify'])
    .default('Block')
    .describe('Block: work in scope stops and new work is refused once the limit is reached. Notify: notices only.'),
  period: z
    .enum(['Monthly', 'Total'])
    .default('Monthly')
    .describe('Monthly: the calendar month in UTC. Total: since the Budget was made. Immutable.'),
  scope: z
    .object({
      project: projectNameField.optional().describe('A project; unset: every project.'),
      selector: labelSelector
        .check(rules(readable))
        .optional()
        .describe('Labels that an object had when it was admitted.'),
    })
    .optional()
    .describe('What counts: by the project and the labels an object had at admission. Unset: everything. Immutable.'),
  thresholds: z
    .array(z.int32(PERCENT).min(1, PERCENT).max(100, PERCENT))
    .max(5)
    .default([...DEFAULT_THRESHOLDS])
    .describe('Percents of the limit: one notice for each in each period.'),
  notify: z
    .object({
      emails: z
        .array(z.email().max(254))
        .max(10)
        .optional()
        .describe(
          "Recipients besides the org's own billing recipients, which are its Members with role Owner or Billing. Each gets one mail for each threshold in each period.",
        ),
    })
    .optional()
    .describe('Recipients of notices.'),
});

export const budgetStatus = z.object({
  conditions: z
    .array(conditionField)
    .optional()
    .describe(
      'Exceeded: True with reason LimitReached while nothing is left for a new hold. NoticesMailed: what became of the mails of the last notice; False with reason MailNotConfigured where notices are events only.',
    ),
  currentPeriod: z
    .object({
      startTime: zTimestamp('When it started.'),
      endTime: zTimestamp('When it ends; unset for Total.').optional(),
    })
    .optional()
    .describe('Current period.'),
  heldUSD: zUsd({ description: 'Held for running work.' }).optional(),
  notifiedThresholds: z.array(z.int32()).optional().describe('Thresholds whose notice was sent in this period.'),
  percentUsed: z.int32().describe('Spent, as whole percent of the limit.'),
  remainingUSD: zUsd({ description: 'Limit minus spent minus held; never below 0.' }).optional(),
  runway: z
    .string()
    .optional()
    .describe(
      'How long what remains lasts at the rate of this period so far, or of the last day where that is faster, as of these figures: `3d`, `5h`, `>1y`, `none`.',
    ),
  spentUSD: zUsd({ description: 'Spent in this period.' }).optional(),
});

export type BudgetSpec = z.infer<typeof budgetSpec>;
export type BudgetStatus = z.infer<typeof budgetStatus>;
