/** What a Sweep or Pipeline says when money refuses its children: events, a condition, and words that stay true. Pure. */
import test from 'ava';
import { pipelineKind } from '../../../src/kinds/pipeline/index.js';
import type { SweepStatus } from '../../../src/kinds/sweep/schema.js';
import { sweepKind } from '../../../src/kinds/sweep/index.js';
import { NOW } from '../decide.js';
import { Owner } from './owner.js';

const JOB = { command: ['true'] };
const BUDGET = { by: 'Budget', uid: 'b', name: 'team-a', counter: 'budget/b/total', limitUSD: '1.00' } as const;

function refuse(owner: Owner, index: number, now = NOW, from: object = BUDGET): void {
  owner.decide(
    {
      type: 'EffectFailed',
      effect: { type: 'CreateChild', kind: 'Job', name: owner.job(index), spec: {}, slot: index },
      ...{ reason: 'BudgetExceeded', message: 'Budget "team-a" refuses the hold: 0.10 USD are left' },
      shortfall: { key: 'a', ...BUDGET, availableUSD: '0.10', neededUSD: '0.50', ...from },
    },
    now,
  );
}

/** The ledger says that there is money for one of those that wait; it is made, and says so. */
function pay(owner: Owner, index: number, now = NOW): void {
  const from = { address: owner.address, uid: 'uid-0', version: 0 };
  const content = { type: 'MoneyFreed', counter: BUDGET.counter, stopped: false, count: 1 } as const;
  owner.decide({ type: 'MessageReceived', from, content }, now);
  owner.hear(index, 'Pending');
}

const events = (owner: Owner): readonly string[] =>
  owner.effects.flatMap((effect) => (effect.type === 'Emit' ? [`${effect.event}: ${effect.message}`] : []));

function funded(owner: Owner): string {
  const { conditions = [] } = owner.object.status as SweepStatus;
  const found = conditions.find(({ type }) => type === 'Funded');
  return found === undefined ? '' : `${found.status} ${found.reason}: ${found.message}`;
}

test('a Sweep whose cells money refuses has an event and a condition, and again when none of them waits any more', (t) => {
  const owner = new Owner(sweepKind, { template: { spec: JOB }, repetitions: 3, maxParallel: 3 }).note();
  refuse(owner, 1);
  t.deepEqual(events(owner), ['sweep.funding_lost: cell 1: Budget "team-a" refuses the hold: 0.10 USD are left']);
  const said = 'cell 1 waits until Budget "team-a" has 0.50 USD for it';
  t.is(funded(owner), `False BudgetExceeded: ${said}`);
  t.is((owner.object.status as SweepStatus).message, said.replace('cell 1', 'cell 1:'));
  refuse(owner, 2);
  t.deepEqual(events(owner), [], 'it was said');
  pay(owner, 1);
  t.deepEqual(events(owner), [], 'another still waits');
  t.regex(funded(owner), /^False BudgetExceeded: cell 2 /);
  pay(owner, 2);
  t.deepEqual(events(owner), ['sweep.funding_restored: there is money for its Jobs again']);
  t.is(funded(owner), 'True Funded: there is money for its Jobs again');
});

test('children that money had refused are tried again when their owner is resumed, also when nothing has woken them', (t) => {
  const owner = new Owner(sweepKind, { template: { spec: JOB }, repetitions: 3, maxParallel: 3 }).note();
  refuse(owner, 1);
  refuse(owner, 2);
  owner.change({ state: 'Suspended' });
  owner.change({ state: 'Running' });
  t.deepEqual(
    owner.asked('CreateChild').map(({ name }) => name),
    [owner.job(1), owner.job(2)],
  );
  refuse(owner, 1);
  t.is(owner.volatile.filter(({ type }) => type === 'AwaitMoney').length, 1, 'and wait anew');
});

test('an owner whose children are refused again and again says so once a minute', (t) => {
  const owner = new Owner(sweepKind, { template: { spec: JOB }, repetitions: 3, maxParallel: 3 }).note();
  refuse(owner, 0);
  pay(owner, 0);
  refuse(owner, 1, NOW + 59_999);
  t.deepEqual(events(owner), []);
  t.regex(funded(owner), /^False/);
  pay(owner, 1, NOW + 59_999);
  t.deepEqual(events(owner), [], 'nothing was said that is over now');
  t.regex(funded(owner), /^True/);
  refuse(owner, 2, NOW + 60_000);
  t.is(events(owner).length, 1);
});

test('a Pipeline has the same events, and a cap that leaves too little for another child has none before it is reached', (t) => {
  const stages = ['a', 'b'].map((name) => ({ name, template: JOB }));
  const owner = new Owner(pipelineKind, { stages, maxCostUSD: '1.00' }).note();
  refuse(owner, 0, NOW, { by: 'Cap', uid: 'uid-0', name: undefined, counter: 'cost/uid-0' });
  t.deepEqual(events(owner), []);
  t.is(funded(owner), '');
  refuse(owner, 1);
  t.regex(events(owner).join(), /^pipeline\.funding_lost: /);
  pay(owner, 1);
  t.regex(events(owner).join(), /^pipeline\.funding_restored: /);
});

test('nothing of a Pipeline that is suspended or cancelled waits for money, and its condition says so', (t) => {
  for (const state of ['Suspended', 'Cancelled']) {
    const owner = new Owner(pipelineKind, { stages: [{ name: 'a', template: JOB }] }).note();
    refuse(owner, 0);
    t.regex(funded(owner), /^False/, state);
    owner.change({ state });
    t.regex(funded(owner), /^True .*none of its Jobs waits for money now/, state);
  }
});
