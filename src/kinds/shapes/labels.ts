/** Owns labels and selectors of labels in a spec, as Kubernetes has them (`metav1.LabelSelector`). */
import { z } from 'zod';
import { checkLabelKey, checkLabelValue } from '../../api/names.js';

const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const;

/** Labels of an object, or labels that an object must have. */
export const labels = z.record(z.string(), z.string()).check((ctx) => {
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
    values: z.array(z.string()).optional().describe('With In and NotIn, at least one; else none.'),
  })
  .check((ctx) => {
    const { key, operator, values = [] } = ctx.value;
    const complain = (path: (string | number)[], message: string, input: unknown): void => {
      ctx.issues.push({ code: 'custom', path, message, input });
    };
    const badKey = checkLabelKey(key);
    if (badKey !== undefined) complain(['key'], badKey, key);
    const compares = operator === 'In' || operator === 'NotIn';
    if (compares && values.length === 0) complain(['values'], `must have a value with operator ${operator}`, values);
    if (!compares && values.length > 0) complain(['values'], `must be empty with operator ${operator}`, values);
    for (const [index, value] of values.entries()) {
      const badValue = checkLabelValue(value);
      if (badValue !== undefined) complain(['values', index], badValue, value);
    }
  });

/** All of it must hold; an empty one selects everything. */
export const labelSelector = z.object({
  matchLabels: labels.optional().describe('Labels with exactly these values.'),
  matchExpressions: z.array(requirement).optional().describe('Requirements on labels.'),
});

export type LabelSelectorSpec = z.infer<typeof labelSelector>;
