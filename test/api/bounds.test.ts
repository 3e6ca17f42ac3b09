/** The bounds of amounts, durations and percents, in messages and in OpenAPI. */
import test from 'ava';
import { z } from 'zod';
import { causesOf, TELLING } from '../../src/api/causes.js';
import { zUsd } from '../../src/api/schema.js';
import { budgetKind } from '../../src/kinds/budget/index.js';
import { jobKind } from '../../src/kinds/job/index.js';

function complaints(type: z.ZodType, value: unknown): string[] {
  const parsed = type.safeParse(value, TELLING);
  if (parsed.success) return [];
  return causesOf(parsed.error.issues, value, 'spec').map(
    (cause) => `${cause.reason} ${cause.field}: ${cause.message}`,
  );
}

test('the message about a refused amount, duration or percent names the least, the largest and the form, and OpenAPI says the same', (t) => {
  const spec = budgetKind.schema.spec;
  t.deepEqual(complaints(spec, { limitUSD: '0', thresholds: [0, 101, 50.5, 'x'] }), [
    'FieldValueInvalid spec.limitUSD: Invalid value: "0": must be an amount in USD as a decimal string such as 12.50 from 0.000000001 to 99999999999.999999999 with at most 9 decimals',
    'FieldValueInvalid spec.thresholds[0]: Invalid value: 0: must be a whole percent from 1 to 100',
    'FieldValueInvalid spec.thresholds[1]: Invalid value: 101: must be a whole percent from 1 to 100',
    'FieldValueTypeInvalid spec.thresholds[2]: Invalid value: 50.5: must be a whole percent from 1 to 100',
    'FieldValueTypeInvalid spec.thresholds[3]: Invalid value: "x": must be a whole percent from 1 to 100, not a string',
  ]);
  const amount = 'from 0 to 99999999999.999999999 with at most 9 decimals';
  const job = {
    command: ['true'],
    maxCostUSD: '-1',
    expectedDuration: '876001h',
    placement: { maxRateUSDPerHour: '1e9' },
  };
  t.deepEqual(
    complaints(jobKind.schema.spec, job),
    [
      'FieldValueInvalid spec.expectedDuration: Invalid value: "876001h": must be a duration such as 30s, 15m or 1h30m from 0s to 876000h',
      `FieldValueInvalid spec.maxCostUSD: Invalid value: "-1": must be an amount in USD as a decimal string such as 12.50 ${amount}`,
      `FieldValueInvalid spec.placement.maxRateUSDPerHour: Invalid value: "1e9": must be an amount in USD as a decimal string such as 12.50 ${amount}`,
    ].toSorted(),
  );
  const shown = JSON.stringify(z.toJSONSchema(jobKind.schema.spec, { io: 'input', unrepresentable: 'any' }));
  t.true(shown.includes(`Cost cap of the Job. Can only be raised. Amount in USD ${amount}.`));
  t.true(
    shown.includes(
      'How long one index is expected to run. Duration with unit suffixes (ms, s, m, h), for example 15m from 0s to 876000h.',
    ),
  );
  const cents = zUsd({ above: '1', wholeCents: true }).safeParse('1');
  t.is(
    cents.error?.issues[0]?.message,
    'must be an amount in USD as a decimal string such as 12.50 from 1.01 to 99999999999.999999999 in whole cents',
  );
});
