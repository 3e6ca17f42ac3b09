/** What an Attempt is billed, whether the ledger heard of its beginnings before its end or with it, on the pure book. */
import test from 'ava';
import fc from 'fast-check';
import { rfc3339Millis } from '../../../src/api/time.js';
import { beginningsOf, firstFundedUntil, settleHold } from '../../../src/kinds/attempt/billing.js';
import { attemptKind } from '../../../src/kinds/attempt/index.js';
import type { AttemptStatus } from '../../../src/kinds/attempt/schema.js';
import type { Attempt } from '../../../src/kinds/attempt/state.js';
import { payerAnnotations } from '../../../src/kinds/attempts/payer.js';
import { readTerms, termsAnnotations } from '../../../src/kinds/attempts/terms.js';
import type { MoneyOperation } from '../../../src/money/operation.js';
import { begin, budgetOf, NOON, owner } from '../../money/scenario.js';
import { objectOf } from '../decide.js';
import { tries } from '../../support/extent.js';

type Timings = NonNullable<AttemptStatus['timings']>;

function attempt(
  phase: AttemptStatus['phase'],
  timings: Timings,
  terms = 'rate=1.2,increment=1s,minimum=0.00',
): Attempt {
  const annotations = {
    ...termsAnnotations(`pricebook=2026-01,offering=cpu-local,${terms}`),
    ...payerAnnotations({ project: 'p', labels: {}, costs: [] }),
  };
  const object = objectOf(attemptKind, { epoch: 1, slot: 0 }, { namespace: 'p', annotations }) as unknown as Attempt;
  return { ...object, status: { ...object.status, phase, timings } };
}

const at = (ms: number): string => rfc3339Millis(NOON + ms);

/** The last commit of an Attempt that began at NOON, as operations. */
function lastBill(started: number | undefined, ended: number, removed: number): readonly MoneyOperation[] {
  const timings = { acquiredTime: at(0), ...(started !== undefined && { commandStartedTime: at(started) }) };
  const object = attempt('Succeeded', timings);
  const current = { address: { org: 'o', kind: 'Attempt', project: 'p', name: 'x' }, object, private: undefined };
  const effects = settleHold(current, object.status, {
    ...{ teardownFrom: NOON + ended, until: NOON + removed, covered: [] },
  });
  return effects.flatMap((effect) => (effect.type === 'Money' ? [effect.operation] : []));
}

/** The book after a whole life; `told`: when the ledger hears of it before the last commit, `renewed`: when its hold is renewed. */
function life(
  { boot, run, teardown }: { boot: number; run: number; teardown: number },
  told: readonly number[],
  renewed: readonly number[] = [],
) {
  const scenario = begin(budgetOf('b', '100'));
  const last = lastBill(boot, boot + run, boot + run + teardown);
  const key = last[0]?.op === 'Bill' ? last[0].key : '';
  const terms = readTerms(attempt('Queued', {}).metadata.annotations);
  if (terms === undefined) throw new Error('no terms');
  scenario.applied(NOON, {
    op: 'Place',
    key,
    owner: owner(key),
    terms,
    payer: { project: 'p', labels: {}, costs: [owner(key)] },
  });
  const steps = [...told.map((ms) => ({ ms, renew: false })), ...renewed.map((ms) => ({ ms, renew: true }))];
  for (const { ms, renew } of steps.filter((step) => step.ms < boot + run + teardown).toSorted((a, b) => a.ms - b.ms)) {
    if (renew) {
      scenario.applied(NOON + ms, { op: 'Renew', key });
      continue;
    }
    const timings = { acquiredTime: at(0), ...(ms >= boot && { commandStartedTime: at(boot) }) };
    for (const operation of beginningsOf(attempt('Running', timings))?.operations ?? [])
      scenario.applied(NOON + ms, operation);
  }
  for (const operation of last) scenario.applied(NOON + boot + run + teardown, operation);
  const { spentUSD, heldUSD, segments, covered } = scenario.book.counter(`cost/${key}`);
  const shown = Object.entries(segments).map(([segment, amount]) => [segment, amount.toFixed()]);
  return { spent: spentUSD.toFixed(), held: heldUSD.toFixed(), segments: Object.fromEntries(shown), covered };
}

const lives = fc.record({
  boot: fc.integer({ min: 0, max: 20_000 }),
  run: fc.integer({ min: 0, max: 30_000 }),
  teardown: fc.integer({ min: 0, max: 5_000 }),
});
const times = fc.array(fc.integer({ min: 0, max: 55_000 }), { maxLength: 4 });

test('an Attempt costs the same by segment whenever the ledger hears of its beginnings, how often so ever', (t) => {
  fc.assert(
    fc.property(lives, times, (of, told) => {
      t.deepEqual(life(of, told), life(of, []));
    }),
    { numRuns: tries(200) },
  );
  t.is(life({ boot: 500, run: 1_000, teardown: 100 }, []).spent, '0.000666667', 'two seconds at 1.20 an hour');
});

test('renewals between them change no sum either', (t) => {
  fc.assert(
    fc.property(lives, times, times, (of, told, renewed) => {
      const [alone, with_] = [life(of, []), life(of, told, renewed)];
      t.deepEqual([with_.spent, with_.held, with_.covered], [alone.spent, '0', alone.covered]);
    }),
    { numRuns: tries(200) },
  );
});

test('what is billed begins with the place, and is complete with the start, or the end without one', (t) => {
  t.is(beginningsOf(attempt('Queued', {})), undefined);
  const placed = beginningsOf(attempt('Provisioning', { acquiredTime: at(0) }));
  t.like(placed, { complete: false, operations: [{ op: 'Bill', segment: 'Boot', from: NOON }] });
  const started = beginningsOf(attempt('Running', { acquiredTime: at(0), commandStartedTime: at(7) }));
  t.true(started?.complete);
  t.like(started?.operations[1], { op: 'Bill', segment: 'Running', from: NOON + 7 });
  t.true(beginningsOf(attempt('Failed', { acquiredTime: at(0) }))?.complete);
  t.is(beginningsOf(attempt('Failed', { acquiredTime: at(0), deletionProvenTime: at(9) })), undefined);
  t.is(beginningsOf(attempt('Running', { acquiredTime: at(0) }, 'rate=0.00,increment=1s,minimum=0.00')), undefined);
});

test('what an Attempt took at its creation lasts as long from its place on as its hold says once it is billed', (t) => {
  for (const terms of [
    'rate=1.2,increment=1s,minimum=0.00',
    'rate=1.2,increment=7s,minimum=0.00',
    'rate=0.7,increment=1m,minimum=0.50',
  ]) {
    const one = attempt('Running', { acquiredTime: at(0), commandStartedTime: at(0) }, terms);
    const admitted = readTerms(one.metadata.annotations);
    if (admitted === undefined) throw new Error('no terms');
    const key = one.metadata.uid;
    const scenario = begin(budgetOf('b', '100'));
    scenario.applied(NOON, {
      op: 'Place',
      key,
      owner: owner(key),
      terms: admitted,
      payer: { project: 'p', labels: {}, costs: [owner(key)] },
    });
    const operations = beginningsOf(one)?.operations ?? [];
    const results = operations.map((operation) => scenario.applied(NOON, operation));
    t.is(results.at(-1)?.fundedUntil, firstFundedUntil(one), terms);
  }
  t.is(firstFundedUntil(attempt('Running', { acquiredTime: at(0) }, 'rate=0.00,increment=1s,minimum=0.00')), undefined);
});
