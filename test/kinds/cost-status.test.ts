import test from 'ava';
import { z } from 'zod';
import type { ApiObject } from '../../src/api/object.js';
import { awaitsFinalCost, showCost } from '../../src/kinds/cost-status.js';
import { attemptKind } from '../../src/kinds/attempt/index.js';
import { jobKind } from '../../src/kinds/job/index.js';
import type { CostFigures } from '../../src/kinds/object-message.js';
import { cost } from '../../src/kinds/shapes/status.js';
import { secretKind } from '../../src/kinds/secret/index.js';

const object = (status: object, spec: object = {}): ApiObject =>
  ({ apiVersion: 'v1', kind: 'Any', metadata: { uid: 'u', name: 'n' }, spec, status }) as unknown as ApiObject;

const FIGURES: CostFigures = {
  ...{ totalUSD: '1.500000000', heldUSD: '0.000000000', holders: 0, covered: ['Teardown', 'Boot'] },
  segments: { Boot: '0.000000000', Running: '1.500000000', Teardown: '0' },
};
const HELD: CostFigures = {
  ...{ totalUSD: '0', heldUSD: '0.25', holders: 1, covered: [], segments: {} },
  ...{ rateUSDPerHour: '0.0012', fundedUntil: Date.UTC(2026, 0, 1) },
};

test('the status of a costly object has the figures as people read them, and fits its schema', (t) => {
  const running = showCost(object({ phase: 'Running' }, { maxCostUSD: '2' }), jobKind, HELD);
  const shown = {
    ...{ bySegment: {}, final: false, fundedUntilTime: '2026-01-01T00:00:00Z', heldUSD: '0.25' },
    ...{ limitUSD: '2.00', rateUSDPerHour: '0.0012', totalUSD: '0.00' },
  };
  t.deepEqual(running.status, { phase: 'Running', cost: shown });
  t.true(z.strictObject(cost.shape).safeParse(shown).success);
  const ended = showCost(object({ phase: 'Succeeded', cost: shown }), jobKind, FIGURES).status;
  t.deepEqual(ended, {
    phase: 'Succeeded',
    cost: {
      bySegment: { runningUSD: '1.50', coveredBySvc: ['Boot', 'Teardown'] },
      ...{ final: true, heldUSD: '0.00', totalUSD: '1.50' },
    },
  });
});

test('figures that a status has already leave the object as it is, and so does a kind without a place for them', (t) => {
  const once = showCost(object({ phase: 'Running' }), jobKind, HELD);
  t.is(showCost(once, jobKind, HELD), once);
  const plain = object({});
  t.is(showCost(plain, secretKind, HELD), plain);
});

test('an Attempt shows what it cost beside the hours that it has', (t) => {
  const attempt = object({ phase: 'Failed', actual: { costUSD: '0.00', hours: 2 } });
  t.deepEqual(showCost(attempt, attemptKind, FIGURES).status, {
    phase: 'Failed',
    actual: { costUSD: '1.50', hours: 2, segments: { runningUSD: '1.50', coveredBySvc: ['Boot', 'Teardown'] } },
  });
});

test('an object that has ended awaits its last figures until they are final; one that never cost anything awaits none', (t) => {
  const shown = (phase: string, figures: CostFigures): ApiObject => showCost(object({ phase }), jobKind, figures);
  t.true(awaitsFinalCost(shown('Succeeded', HELD), jobKind));
  t.true(awaitsFinalCost(shown('Succeeded', { ...HELD, rateUSDPerHour: undefined }), jobKind), 'more may be charged');
  t.true(
    awaitsFinalCost(shown('Succeeded', { ...FIGURES, holders: 1 }), jobKind),
    'one that has nothing left will be charged once more',
  );
  t.false(awaitsFinalCost(shown('Succeeded', FIGURES), jobKind));
  t.false(awaitsFinalCost(shown('Running', FIGURES), jobKind));
  t.false(awaitsFinalCost(object({ phase: 'Succeeded' }), jobKind));
});
