/** The rules of grants and of the wallet, each by a scenario on the pure book. */
import test from 'ava';
import { balanceOf } from '../../src/money/book.js';
import { fundedUntil, renewAt } from '../../src/money/renewal.js';
import { applyAfter } from './replay.js';
import { begin, bill, budgetOf, credit, HOUR, MINUTE, NOON, place, PREPAID, TERMS } from './scenario.js';

const MONTH = 30 * 24 * HOUR;

test('without payments charges are unbilled, and switching payments on makes no arrears', (t) => {
  const s = begin();
  s.applied(NOON, place('j'), bill('j', NOON));
  s.applied(NOON + MINUTE, { op: 'Release', key: 'j' });
  s.at(NOON + MINUTE, PREPAID);
  t.is(balanceOf(s.book).toFixed(), '0');
  t.deepEqual(
    s.book.postings[0]?.lines.map(({ account, amountUSD }) => [account, amountUSD.toFixed()]),
    [
      ['unbilled', '-0.01'],
      ['revenue', '0.01'],
    ],
  );
  t.like(s.at(NOON + MINUTE, place('k')), { outcome: 'Refused', by: 'Wallet', availableUSD: '0.00' });
});

test('a charge takes from grants, soonest expiry first, one line each, and what none covers is owed', (t) => {
  const s = begin(
    PREPAID,
    credit('late', '0.005', { expires: NOON + 9 * HOUR }),
    credit('soon', '0.005', { expires: NOON + 8 * HOUR }),
  );
  s.at(NOON, credit('never', '0.015'));
  s.applied(NOON, place('j'), bill('j', NOON));
  s.applied(NOON + 2 * MINUTE, { op: 'Release', key: 'j' });
  const lines = s.book.postings.at(-1)?.lines.map(({ account, amountUSD }) => `${account} ${amountUSD.toFixed()}`);
  t.deepEqual(lines, ['grants/soon -0.005', 'grants/late -0.005', 'grants/never -0.01', 'revenue 0.02']);
  t.is(balanceOf(s.book).toFixed(), '0.005');
});

test('what was held before payments, or with another wallet in between, stays unbilled until it is renewed', (t) => {
  const s = begin(credit('g', '1'));
  const left = () => s.book.grants.get('g')?.remainingUSD.toFixed();
  s.applied(NOON, place('j'), bill('j', NOON));
  s.at(NOON, PREPAID, PREPAID);
  s.applied(NOON + MINUTE, { op: 'Renew', key: 'j' });
  t.is(left(), '1', 'the minute before it');
  s.at(NOON + 2 * MINUTE, { op: 'Renew', key: 'j' });
  t.is(left(), '0.99', 'the minute that the wallet paid for');
  s.at(NOON + 2 * MINUTE, { op: 'SetMode', mode: 'Unlimited' });
  s.at(NOON + 2 * MINUTE, PREPAID);
  s.applied(NOON + 3 * MINUTE, { op: 'Release', key: 'j', covered: ['Running'] });
  t.is(left(), '0.99');
  t.is(s.book.walletUSD.toFixed(), '0.01', 'only what was taken from credits is given back as such');
  t.is(s.spent('wallet'), '0');
});

test('running work that the wallet cannot fund after the switch ends, and owes nothing', (t) => {
  const s = begin();
  s.applied(NOON, place('j'), bill('j', NOON), { op: 'Renew', key: 'j' }, PREPAID);
  const { funding, refusal } = s.applied(NOON + MINUTE, { op: 'Renew', key: 'j' });
  t.is(funding, 'Refused');
  t.like(refusal, { by: 'Wallet', availableUSD: '0.00', arrearsUSD: undefined });
  s.applied(NOON + 2 * HOUR, { op: 'Release', key: 'j' });
  t.is(balanceOf(s.book).toFixed(), '0');
});

test('a correction is posted where its use counts, once, gives back no more than was charged, and may leave arrears, which a credit pays first', (t) => {
  const s = begin(PREPAID, credit('f', '0.02'), budgetOf('b', '9'));
  s.applied(NOON, place('j'), bill('j', NOON));
  s.applied(NOON + MINUTE, { op: 'Release', key: 'j' });
  const posting = s.book.postings.at(-1)?.key ?? '';
  const correct = (amountUSD: string, once: string) =>
    applyAfter(s.book, { op: 'Correct', posting, amountUSD, once }, NOON + MONTH);
  t.is(correct('-0.004', 'one').outcome, 'Applied');
  t.deepEqual(correct('-0.004', 'one'), { outcome: 'Nothing', why: 'Once' });
  t.deepEqual(correct('-0.006000001', 'two'), { outcome: 'Nothing', why: 'TooMuch' });
  t.is(s.spent('budget/b/2026-11'), '0.006');
  t.is(balanceOf(s.book).toFixed(), '0.014');
  t.like(s.book.postings.at(-1), { reason: 'Correction', period: '2026-11', owner: 'j', segment: 'Running' });
  t.is(correct('0.024', 'three').outcome, 'Applied');
  t.is(s.book.walletUSD.toFixed(), '-0.01');
  t.like(s.at(NOON + MONTH, place('k')), { by: 'Wallet', availableUSD: '0.00', arrearsUSD: '0.01' });
  t.deepEqual(
    applyAfter(s.book, { op: 'Correct', posting: 'credit/f', amountUSD: '1', once: 'four' }, NOON),
    { outcome: 'Nothing', why: 'Gone' },
    'only use is corrected',
  );
  s.at(NOON + MINUTE, credit('g', '0.05', { once: 'topup/1' }));
  t.deepEqual(
    s.book.postings.at(-1)?.lines.map(({ account, amountUSD }) => [account, amountUSD.toFixed()]),
    [
      ['funding', '-0.05'],
      ['wallet', '0.01'],
      ['grants/g', '0.04'],
    ],
    'what is owed is paid first',
  );
  t.is(s.book.walletUSD.toFixed(), '0');
  t.is(s.book.grants.get('g')?.remainingUSD.toFixed(), '0.04');
  t.deepEqual(s.at(NOON, credit('h', '0.05', { once: 'topup/1' })), { outcome: 'Nothing', why: 'Once' });
  t.deepEqual(s.at(NOON, credit('g', '0.05')), { outcome: 'DuplicateKey', key: 'g' });
});

test('a grant that expires while it is held loses what is free at once, and what is held when it is given back', (t) => {
  const s = begin(PREPAID, credit('g', '0.05', { expires: NOON + MINUTE }));
  s.applied(NOON, place('j'), bill('j', NOON));
  s.applied(NOON + MINUTE, { op: 'Expire' });
  t.is(s.book.grants.get('g')?.remainingUSD.toFixed(), '0.02', 'what is held');
  t.like(s.at(NOON + MINUTE, place('k', { amountUSD: '0.000000001' })), { outcome: 'Refused', by: 'Wallet' });
  s.applied(NOON + 90_000, { op: 'Release', key: 'j' });
  t.is(s.spent('cost/j'), '0.015', 'the work is charged from the expired grant');
  t.is(s.book.grants.get('g')?.remainingUSD.toFixed(), '0');
  t.is(balanceOf(s.book).toFixed(), '0');
  const expired = s.book.postings
    .filter(({ reason }) => reason === 'Expiry')
    .map(({ amountUSD }) => amountUSD.toFixed());
  t.deepEqual(expired, ['-0.03', '-0.005']);
});

test('a grant whose time is over funds no hold, though no timer has said so', (t) => {
  const s = begin(PREPAID, credit('g', '5', { expires: NOON + MINUTE }));
  t.like(s.at(NOON + MINUTE, place('j')), { outcome: 'Refused', by: 'Wallet', availableUSD: '0.00' });
  t.is(s.at(NOON + MINUTE - 1, place('j')).outcome, 'Applied');
});

test('what costs nothing is admitted, also where nothing is left', (t) => {
  const s = begin(PREPAID, budgetOf('b', '0.02'), credit('g', '0.02'));
  s.applied(NOON, place('j'), bill('j', NOON));
  s.at(NOON, budgetOf('b', '0.01'));
  const free = { ...TERMS, rateUSDPerHour: '0' };
  s.applied(NOON, place('k', { terms: free }), bill('k', NOON));
  t.is(fundedUntil(s.hold('k')), undefined);
  t.is(renewAt(s.hold('k'), NOON), undefined);
});

test('a clawback takes of its own grant first, then of others, and what is spent already is owed', (t) => {
  const s = begin(PREPAID, credit('bought', '0.03'), credit('given', '0.01', { expires: NOON + 9 * HOUR }));
  s.applied(NOON, place('j'), bill('j', NOON));
  s.applied(NOON + 2 * MINUTE, { op: 'Release', key: 'j' });
  t.is(balanceOf(s.book).toFixed(), '0.02', 'the given one expires, so it was spent first');
  s.at(NOON + 2 * MINUTE, credit('other', '0.005'));
  const clawback = { op: 'Clawback', grant: 'bought', amountUSD: '0.03', once: 'refund/1' } as const;
  s.applied(NOON + 2 * MINUTE, clawback);
  const lines = s.book.postings.at(-1)?.lines.map(({ account, amountUSD }) => `${account} ${amountUSD.toFixed()}`);
  t.deepEqual(lines, ['grants/bought -0.02', 'grants/other -0.005', 'wallet -0.005', 'funding 0.03']);
  t.is(balanceOf(s.book).toFixed(), '-0.005');
  t.like(s.at(NOON + 2 * MINUTE, clawback), { outcome: 'Nothing', why: 'Once' });
  t.like(s.at(NOON + 2 * MINUTE, place('k')), { outcome: 'Refused', by: 'Wallet', arrearsUSD: '0.005' });
  s.applied(NOON + 2 * MINUTE, credit('again', '1'));
  t.is(s.book.grants.get('again')?.remainingUSD.toFixed(), '0.995', 'what is owed is paid first');
});

test('while a payment is disputed nothing new begins, what runs goes on, and what costs nothing begins', (t) => {
  const s = begin(PREPAID, credit('g', '5'));
  s.applied(NOON, place('j'), bill('j', NOON), { op: 'SetDisputed', disputed: true });
  t.like(s.at(NOON, place('k')), { outcome: 'Refused', by: 'Wallet', disputed: true });
  t.is(s.applied(NOON + MINUTE, { op: 'Renew', key: 'j' }).refusal, undefined);
  s.applied(NOON + MINUTE, place('free', { terms: { ...TERMS, rateUSDPerHour: '0', minimumUSD: '0' } }));
  s.applied(NOON + MINUTE, { op: 'SetDisputed', disputed: false }, place('k'));
  s.applied(NOON + MINUTE, { op: 'SetDisputed', disputed: true }, { op: 'SetMode', mode: 'Unlimited' }, place('l'));
});
