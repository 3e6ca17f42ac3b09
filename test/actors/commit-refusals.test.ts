/** What a client reads when money refuses its write. */
import test from 'ava';
import { refusalOf } from '../../actors/resource/commit-refusals.js';
import type { HoldRefusal } from '../../src/money/operation.js';

const JOB = { org: 'o-1', kind: 'Job', project: 'default', name: 'train' };
const NEEDED = { key: 'u/first', availableUSD: '0.10', neededUSD: '0.25', counter: 'wallet', limitUSD: '1.00' };

const refused = (refusal: Omit<HoldRefusal, keyof typeof NEEDED>) =>
  refusalOf({ outcome: 'HoldRefused', ...NEEDED, ...refusal }, JOB, 'u');

test('a Budget that refuses is named, with what is left, what is needed, when it is reset, and what to do', (t) => {
  const resetTime = Date.parse('2026-12-01T00:00:00Z');
  t.deepEqual(refused({ by: 'Budget', uid: 'b', name: 'team-a', resetTime }), {
    code: 'BudgetExceeded',
    message:
      'Budget "team-a" refuses the hold: 0.10 USD are left and 0.25 USD are needed; it is reset at 2026-12-01T00:00:00Z',
    fix: 'Raise spec.limitUSD of Budget "team-a", ask for less, or try again after 2026-12-01T00:00:00Z.',
    target: { kind: 'Job', name: 'train' },
  });
  const forEver = refused({ by: 'Budget', uid: 'b', name: 'team-a' });
  t.true(forEver.message.endsWith('it is never reset'));
  t.is(forEver.fix, 'Raise spec.limitUSD of Budget "team-a", ask for less.');
});

test('an own cap below the first hold is a fault of that field; one of the owner is a limit that is reached', (t) => {
  const own = refused({ by: 'Cap', uid: 'u' });
  t.is(own.code, 'Invalid');
  t.deepEqual(own.causes, [
    {
      ...{ field: 'spec.maxCostUSD', reason: 'FieldValueInvalid' },
      message: 'must leave at least 0.25 USD for the first hold, and leaves 0.10',
    },
  ]);
  t.is(refused({ by: 'Cap', uid: 'parent' }).code, 'BudgetExceeded');
});

test('a wallet without the money says what is missing', (t) => {
  const { fix = '', ...refusal } = refused({ by: 'Wallet' });
  t.like(refusal, {
    code: 'InsufficientCredits',
    message: 'the wallet refuses the hold: 0.10 USD are left and 0.25 USD are needed',
  });
  t.regex(fix, /Add credits with a TopUp, ask for less/);
  t.like(refused({ by: 'Wallet', arrearsUSD: '1.50' }), {
    code: 'ArrearsOutstanding',
    message: 'the wallet refuses the hold of 0.25 USD: 1.50 USD are owed and have to be paid first',
  });
});
