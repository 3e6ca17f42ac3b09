/** Owns labels and selectors of labels in a spec, as Kubernetes has them (`metav1.LabelSelector`). */
import { z } from 'zod';
import { zMap } from '../../api/schema.js';
import { checkLabelKey, checkLabelValue } from '../../api/names.js';
import { addIssue, rules } from './rules.js';
import { MOST_LABELS, MOST_REQUIREMENTS, MOST_VALUES } from './sizes.js';

const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const;

/** Labels of an object, or labels that an object must have. */
export const labels = zMap(z.string(), z.string(), MOST_LABELS).check((ctx) => {
  for (const [key, value] of Object.entries(ctx.value)) {
    const badKey = checkLabelKey(key);
    const badValue = checkLabelValue(value);
    if (badKey !== undefined) ctx.issues.push({ code: 'custom', path: [key], message: badKey, input: key });
    else if (badValue !== undefined) ctx.issues.push({ code: 'custom', path: [key], message: badValue, input: value });
  }
});

const requirement = z
  .object({
    key: z.string().describe('Key of a label.'),
    operator: z.enum(OPERATORS).describe('How its value is compared.'),
    values: z.array(z.string()).max(MOST_VALUES).optional().describe('With In and NotIn, at least one; else none.'),
  })
  .check(
    rules(({ value: { key, operator, values = [] }, issues }) => {
      const badKey = checkLabelKey(key);
      if (badKey !== undefined) addIssue(issues, ['key'], badKey, 'FieldValueInvalid', key);
      const compares = operator === 'In' || operator === 'NotIn';
      const stands = operator === 'Exists' || operator === 'DoesNotExist';
      if (compares && values.length === 0) addIssue(issues, ['values'], `must have a value with operator ${operator}`);
      if (stands && values.length > 0) addIssue(issues, ['values'], `must be empty with operator ${operator}`);
      for (const [index, value] of values.entries()) {
        const badValue = checkLabelValue(value);
        if (badValue !== undefined) addIssue(issues, ['values', index], badValue, 'FieldValueInvalid', value);
      }
    }),
  );

/** All of it must hold; an empty one selects everything. */
export const labelSelector = z.object({
  matchLabels: labels.optional().describe('Labels with exactly these values.'),
  matchExpressions: z.array(requirement).max(MOST_REQUIREMENTS).optional().describe('Requirements on labels.'),
});

export type LabelSelectorSpec = z.infer<typeof labelSelector>;
