/** How long work may go on by the order that starts it. */
import test from 'ava';
import { openFundedTimes } from '../../actors/work/funded-times.js';
import { rfc3339Millis } from '../../src/api/time.js';
import type { ComputeEngine } from '../../src/engines/compute/contract/engine.js';
import { attemptKind } from '../../src/kinds/attempt/index.js';
import type { AttemptStatus } from '../../src/kinds/attempt/schema.js';
import { payerAnnotations } from '../../src/kinds/attempts/payer.js';
import { termsAnnotations } from '../../src/kinds/attempts/terms.js';
import { NOW, objectOf } from '../kinds/decide.js';

const GRACE_MS = 900_000;

function attemptAt(rate: string) {
  const annotations = {
    ...termsAnnotations(`pricebook=2026-01,offering=cpu-local,rate=${rate},increment=1s,minimum=0.00`),
    ...payerAnnotations({ project: 'a', labels: {}, costs: [] }),
  };
  const object = objectOf(attemptKind, { epoch: 1, slot: 0 }, { namespace: 'a', uid: 'a', annotations });
  const timings = { acquiredTime: rfc3339Millis(NOW - 10_000) };
  return { ...object, status: { ...(object.status as AttemptStatus), phase: 'Provisioning' as const, timings } };
}

const times = () =>
  openFundedTimes({
    engine: {} as ComputeEngine,
    attempts: { find: () => ({ found: 'None' }) },
    clock: () => NOW,
    graceMs: GRACE_MS,
    onProblem: () => undefined,
  });

test('an order has what the hold lasts from the place on, and the grace', (t) => {
  const limited = times();
  limited.committed('a', { state: 'Placed', limited: true });
  t.is(limited.secondsOf(attemptAt('1.00')), 60 - 10 + 900);
  limited.note('a', NOW + 5_000);
  t.is(limited.secondsOf(attemptAt('1.00')), 905, 'what the ledger has said last');
});

test('work that nothing limits has no end, and neither has what costs nothing', (t) => {
  const free = times();
  free.committed('a', { state: 'Placed', limited: false });
  t.is(free.secondsOf(attemptAt('1.00')), undefined);
  t.is(times().secondsOf(attemptAt('0.00')), undefined);
});

test('where it is not known any more whether something limits work, its order has an end', (t) => {
  t.is(times().secondsOf(attemptAt('1.00')), 950);
});
