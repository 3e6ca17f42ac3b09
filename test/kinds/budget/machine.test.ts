/** What a Budget puts into the ledger, and what its status and events make of what the ledger tells. */
import test from 'ava';
import { findCondition } from '../../../src/api/conditions.js';
import { parseLabelSelector } from '../../../src/api/selectors/label.js';
import { budgetKind } from '../../../src/kinds/budget/index.js';
import { selectorText } from '../../../src/kinds/budget/limit.js';
import type { BudgetStatus } from '../../../src/kinds/budget/schema.js';
import type { Effect } from '../../../src/kinds/effect.js';
import type { Message } from '../../../src/kinds/machine.js';
import type { ObjectMessage } from '../../../src/kinds/object-message.js';
import { ask, at, contextAt, decided, NOW, objectOf, type Next, type Stored } from '../decide.js';

const kind = budgetKind;
const FEBRUARY = Date.parse('2026-02-01T00:00:00Z');

const created = (spec: object = {}): Next =>
  decided(kind, at(objectOf(kind, { limitUSD: '10.00', ...spec })), { type: 'Created' });

function message(content: ObjectMessage): Message {
  const from = { address: { org: 'o-1', kind: 'Budget', project: '', name: 'one' }, uid: 'uid-0', version: 0 };
  return { type: 'MessageReceived', from, content };
}

const spend = (spentUSD: string, heldUSD: string, revision: number, more: object = {}): Message =>
  message({ type: 'SpendChanged', period: '2026-01', spentUSD, heldUSD, refusing: false, revision, ...more });
const refusals = (count: number, ago = 0): Message => {
  const last = { availableUSD: '0.50', neededUSD: '0.75', limitUSD: '10.00' };
  return message({ type: 'HoldsRefused', count, last, ago });
};

const put = (stored: Stored, one: Message, now = NOW): Next => decided(kind, stored, one, contextAt(now));
const statusOf = ({ object }: Stored): BudgetStatus => object.status as BudgetStatus;
const exceeded = (stored: Stored): string => {
  const { status = '', reason = '' } = findCondition(statusOf(stored).conditions, 'Exceeded') ?? {};
  return `${status} ${reason}`;
};
const eventsOf = ({ effects }: Next): string[] =>
  effects.flatMap((effect) => (effect.type === 'Emit' ? [`${effect.event}: ${effect.message}`] : []));
const operationsOf = (effects: readonly Effect[]): unknown[] =>
  effects.flatMap((effect) => (effect.type === 'Money' ? [effect.operation] : []));

test('at birth it stands in the ledger, and its status is that of an unused month', (t) => {
  const one = created({
    scope: { project: 'default', selector: { matchLabels: { team: 'a' } } },
    thresholds: [90, 50],
  });
  const budget = { uid: 'uid-0', name: 'one', limitUSD: '10.00', action: 'Block', period: 'Monthly' };
  const scope = { project: 'default', selector: 'team=a', thresholds: [50, 90] };
  t.deepEqual(operationsOf(one.effects), [{ op: 'SetBudget', budget: { ...budget, ...scope } }]);
  t.deepEqual(one.effects[1], { type: 'ArmTimer', timer: 'period-ends', at: FEBRUARY });
  const { conditions: _, ...status } = statusOf(one);
  t.deepEqual(status, {
    currentPeriod: { startTime: '2026-01-01T00:00:00Z', endTime: '2026-02-01T00:00:00Z' },
    ...{ heldUSD: '0.00', notifiedThresholds: [], percentUsed: 0, remainingUSD: '10.00', spentUSD: '0.00' },
  });
  t.is(exceeded(one), 'False WithinLimit');
});

test('a Budget over all time begins when it is made and has no end', (t) => {
  const one = created({ period: 'Total' });
  t.deepEqual(statusOf(one).currentPeriod, { startTime: '2026-01-01T00:00:00Z' });
  t.false(one.effects.some(({ type }) => type === 'ArmTimer'));
});

test('each selector that can be written can be read by the ledger, and equal ones have equal texts', (t) => {
  const selector = {
    matchLabels: { 'example.com/team': 'a', empty: '' },
    matchExpressions: [
      { key: 'tier', operator: 'In' as const, values: ['web', '', 'db'] },
      { key: 'stage', operator: 'NotIn' as const, values: ['test'] },
      { key: 'owner', operator: 'Exists' as const },
      { key: 'free', operator: 'DoesNotExist' as const },
    ],
  };
  const text = selectorText(selector) ?? '';
  t.is(text, '!free,empty=,example.com/team=a,owner,stage notin (test),tier in (,db,web)');
  t.is(selectorText({ ...selector, matchExpressions: selector.matchExpressions.toReversed() }), text);
  const parsed = parseLabelSelector(text);
  if (parsed.outcome !== 'Selector') return t.fail(text);
  const labels = { 'example.com/team': 'a', empty: '', tier: 'db', owner: 'ada' };
  t.true(parsed.selector.matches(labels));
  t.true(parsed.selector.matches({ ...labels, tier: '' }));
  for (const other of [{ stage: 'test' }, { free: 'x' }, { tier: 'other' }, { empty: 'x' }])
    t.false(parsed.selector.matches({ ...labels, ...other }), JSON.stringify(other));
  t.is(selectorText({ matchLabels: {}, matchExpressions: [] }), undefined);
});

test('only a change of the spec is put into the ledger again', (t) => {
  const one = created();
  const relabelled = { ...one.object, metadata: { ...one.object.metadata, labels: { a: 'b' } } };
  t.deepEqual(put(at(relabelled, one.private), { type: 'Updated', before: one.object }).effects, []);
  const raised = { ...one.object, spec: { ...(one.object.spec as object), limitUSD: '20.00' } };
  const after = put(at(raised, one.private), { type: 'Updated', before: one.object });
  t.like(operationsOf(after.effects), [{ op: 'SetBudget', budget: { limitUSD: '20.00' } }]);
  t.is(statusOf(after).remainingUSD, '20.00');
});

test('whatever removes it takes it out of the ledger in the same commit', (t) => {
  t.deepEqual(operationsOf(budgetKind.atRemoval?.(created().object) ?? []), [{ op: 'DropBudget', uid: 'uid-0' }]);
});

test('the status shows what is spent and held, percent cut, and never less than nothing left', (t) => {
  const some = put(created(), spend('1.99', '0.5', 2));
  t.like(statusOf(some), { spentUSD: '1.99', heldUSD: '0.50', remainingUSD: '7.51', percentUsed: 19 });
  t.is(exceeded(some), 'False WithinLimit');
  t.is(ask(kind, some, spend('1.00', '0.00', 1)).outcome, 'Ignored', 'older figures');
  const full = put(some, spend('9.50', '0.50', 3));
  t.is(exceeded(full), 'True LimitReached');
  const over = put(full, spend('25.00', '0.00', 4));
  t.like(statusOf(over), { remainingUSD: '0.00', percentUsed: 250 });
  t.is(exceeded(put(over, spend('2.00', '0.00', 5))), 'False WithinLimit');
  t.is(exceeded(put(over, spend('2.00', '0.00', 5, { refusing: true }))), 'True LimitReached');
  const tiny = put(created({ limitUSD: '0.000000001' }), spend('99999999.00', '0.00', 1));
  t.is(statusOf(tiny).percentUsed, 2 ** 31 - 1);
});

test('at the end of the month the status begins anew, with what is held over it already', (t) => {
  let one = put(created(), spend('9.00', '1.00', 7));
  one = put(one, message({ type: 'ThresholdReached', period: '2026-01', threshold: 80 }));
  one = put(one, spend('0.00', '0.25', 1, { period: '2026-02' }));
  t.like(statusOf(one), { spentUSD: '9.00', notifiedThresholds: [80] }, 'next month is kept for its time');
  t.is(put(one, { type: 'TimerFired', timer: 'period-ends', generation: 1 }).effects[0]?.type, 'ArmTimer', 'too early');
  const next = put(one, { type: 'TimerFired', timer: 'period-ends', generation: 1 }, FEBRUARY);
  t.deepEqual(next.effects, [{ type: 'ArmTimer', timer: 'period-ends', at: Date.parse('2026-03-01T00:00:00Z') }]);
  t.like(statusOf(next), { spentUSD: '0.00', heldUSD: '0.25', remainingUSD: '9.75', notifiedThresholds: [] });
  t.is(statusOf(next).currentPeriod?.startTime, '2026-02-01T00:00:00Z');
  t.is(exceeded(next), 'False WithinLimit');
  const late = put(next, spend('9.10', '0.00', 8), FEBRUARY);
  t.is(statusOf(late).spentUSD, '0.00', 'late figures of January');
});

test('each threshold has one event in each period', (t) => {
  const reached = (period: string, threshold: number): Message =>
    message({ type: 'ThresholdReached', period, threshold });
  const one = put(created(), reached('2026-01', 50));
  t.deepEqual(eventsOf(one), ['budget.threshold: 50% of the limit were spent in 2026-01']);
  t.deepEqual(statusOf(one).notifiedThresholds, [50]);
  t.is(ask(kind, one, reached('2026-01', 50)).outcome, 'Ignored');
  const two = put(one, reached('2026-02', 50), FEBRUARY);
  t.is(eventsOf(two).length, 1);
  t.is(ask(kind, two, reached('2026-01', 50)).outcome, 'Ignored');
});

test('refusals are told at most once a minute, with their count, and it stands exceeded until something is freed', (t) => {
  const used = put(created(), spend('9.00', '0.50', 1));
  const one = put(used, refusals(1));
  t.deepEqual(eventsOf(one), [
    'budget.exceeded: a hold was refused when 0.50 of 10.00 USD were left and it needed 0.75 USD',
  ]);
  t.is(exceeded(one), 'True LimitReached');
  const two = put(one, refusals(3), NOW + 59_999);
  t.deepEqual(eventsOf(two), []);
  const three = put(two, refusals(4), NOW + 60_000);
  t.deepEqual(eventsOf(three), [
    'budget.exceeded: 7 holds were refused, the last one when 0.50 of 10.00 USD were left and it needed 0.75 USD',
  ]);
  const same = put(three, spend('9.25', '0.25', 2));
  t.is(exceeded(same), 'True LimitReached');
  t.is(exceeded(put(same, spend('9.25', '0.00', 3))), 'False WithinLimit');
  t.is(exceeded(put(used, spend('9.25', '0.25', 2))), 'False WithinLimit');
  const freed = put(same, spend('9.25', '0.00', 3));
  t.is(
    exceeded(put(freed, spend('9.25', '0.25', 4))),
    'False WithinLimit',
    'as little is left as before, and nothing was refused',
  );
  const over = put(put(used, spend('9.00', '0.00', 2)), refusals(1, 30_000));
  t.is(exceeded(over), 'False WithinLimit', 'what was given back since is more than was left then');
});

test('a refusal whose figures come later is over when those show that more is left again, though nothing changes behind them', (t) => {
  const used = put(created(), spend('2.00', '0.00', 1));
  const refused = put(used, refusals(1));
  t.deepEqual(refused.effects[0], { type: 'ArmTimer', timer: 'refusal-known', at: NOW + 15_000 });
  t.is(exceeded(refused), 'True LimitReached', 'the figures of before show more than was left');
  const known: Message = { type: 'TimerFired', timer: 'refusal-known', generation: 1 };
  const freed = put(refused, spend('3.00', '0.00', 2));
  t.is(exceeded(freed), 'True LimitReached', 'they may still be of before');
  t.is(exceeded(put(freed, known)), 'False WithinLimit');
  t.is(exceeded(put(put(refused, spend('9.00', '0.50', 2)), known)), 'True LimitReached');
});

test('a Budget that is not exceeded promises no more than is left: what waits may need more', (t) => {
  const said = (stored: Stored): string =>
    statusOf(stored).conditions?.find(({ type }) => type === 'Exceeded')?.message ?? '';
  const refused = put(put(created(), spend('9.00', '0.50', 1)), refusals(1));
  const freed = put(refused, spend('9.00', '0.25', 2));
  t.is(exceeded(freed), 'False WithinLimit');
  t.is(said(freed), 'there is room for a hold of at most status.remainingUSD');
  t.is(said(put(freed, spend('9.00', '0.00', 3))), said(freed), 'no figure in it changes');
});

const mailed = (stored: Stored): string => {
  const {
    status = '',
    reason = '',
    message: said = '',
  } = findCondition(statusOf(stored).conditions, 'NoticesMailed') ?? {};
  return `${status} ${reason} ${said}`.trim();
};

test('a Budget that names recipients says that nobody mails them, and stops saying it when that has changed', (t) => {
  t.is(mailed(created()), '', 'it names none');
  const named = created({ notify: { emails: ['ada@example.org'] } });
  t.regex(mailed(named), /^False MailNotConfigured this service sends no mail, so notices are events only/);
  const mailing = { ...contextAt(NOW), mails: true };
  t.is(mailed(decided(kind, named, spend('1.00', '0.00', 1), mailing)), '');
  t.is(mailed(decided(kind, at(named.object), { type: 'Created' }, mailing)), '');
});

test('what became of the mails of a notice is shown, also when there are no recipients of its own', (t) => {
  const notice = { type: 'NoticeMailed', period: '2026-01', threshold: 80 } as const;
  const sent = put(created(), message({ ...notice, sent: 3, failed: 0 }));
  t.is(mailed(sent), 'True Mailed 3 of 3 mails of the notice that 80% are spent in 2026-01 were sent');
  const failed = put(
    sent,
    message({ ...notice, period: 'total', sent: 2, failed: 1, error: 'the mail server answers: 550 none' }),
  );
  t.is(
    mailed(failed),
    'False MailFailed 1 of 3 mails of the notice that 80% are spent could not be delivered: the mail server answers: 550 none',
  );
  t.is(mailed(put(failed, spend('1.00', '0.00', 1))), mailed(failed), 'figures change nothing of it');
});
