import test from 'ava';
import fc from 'fast-check';
import { admit, available, emptyAccount, limit, release, type Accounts } from '../../src/money/account.js';
import { post, sumOf, UnbalancedPostingError } from '../../src/money/post.js';
import type { Hold } from '../../src/money/posting.js';
import { showUSD, USD } from '../../src/money/usd.js';

/** Nine decimals, as the ledger keeps them. */
const usd = (max: number) => fc.integer({ min: 0, max }).map((nano) => new USD(nano).div(1e9).toFixed());
const account = fc.constantFrom('a', 'b', 'c');
/** Few, so that releases and charges meet the holds of their keys. */
const key = fc.constantFrom('j', 'k', 'l', 'm');

type Act =
  | { readonly act: 'hold'; readonly key: string; readonly amountUSD: string; readonly accounts: readonly string[] }
  | { readonly act: 'release'; readonly key: string }
  | { readonly act: 'charge'; readonly key: string; readonly part: number };

const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({
    act: fc.constant('hold' as const),
    key,
    amountUSD: usd(5_000_000_000),
    accounts: fc.array(account, { minLength: 1, maxLength: 4 }),
  }),
  fc.record({ act: fc.constant('release' as const), key }),
  fc.record({
    act: fc.constant('charge' as const),
    key,
    part: fc.integer({ min: 0, max: 100 }),
  }),
);

test('in any order of holds, charges and releases, spent + held never passes a blocking limit, and held is the sum of the holds', (t) => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 80 }), usd(10_000_000_000), usd(10_000_000_000), (acts, la, lb) => {
      let accounts: Accounts = new Map();
      accounts = limit(accounts, { account: 'a', policy: 'Block', limitUSD: la });
      accounts = limit(accounts, { account: 'b', policy: 'Block', limitUSD: lb });
      accounts = limit(accounts, { account: 'c', policy: 'Observe', limitUSD: '0' });
      const holds = new Map<string, Hold>();
      for (const [i, step] of acts.entries()) {
        switch (step.act) {
          case 'hold': {
            if (holds.has(step.key)) break;
            const admission = admit(accounts, step);
            if (admission.outcome === 'Refused') {
              const by = accounts.get(admission.by);
              t.truthy(by && available(by)?.lessThan(step.amountUSD), 'refused only by one with too little');
              break;
            }
            accounts = admission.accounts;
            holds.set(step.key, step);
            break;
          }
          // Work is charged at most what it holds, and the hold ends with it.
          case 'charge': {
            const hold = holds.get(step.key);
            if (hold === undefined) break;
            holds.delete(step.key);
            accounts = release(accounts, hold);
            const amount = new USD(hold.amountUSD).times(step.part).div(100).toDecimalPlaces(9, USD.ROUND_DOWN);
            for (const name of new Set(hold.accounts))
              accounts = post(accounts, {
                key: `${i}-${name}`,
                reason: 'use',
                lines: [
                  { account: name, amountUSD: amount.toFixed() },
                  { account: 'revenue', amountUSD: amount.negated().toFixed() },
                ],
              });
            break;
          }
          case 'release': {
            const hold = holds.get(step.key);
            if (hold === undefined) break;
            holds.delete(step.key);
            accounts = release(accounts, hold);
          }
        }
        for (const [name, max] of [
          ['a', la],
          ['b', lb],
        ] as const) {
          const { spentUSD, heldUSD } = accounts.get(name) ?? emptyAccount(name);
          if (spentUSD.plus(heldUSD).greaterThan(max)) return false;
        }
        for (const [name, { heldUSD }] of accounts) {
          const sum = [...holds.values()]
            .filter((hold) => hold.accounts.includes(name))
            .reduce((total, hold) => total.plus(hold.amountUSD), new USD(0));
          if (!sum.equals(heldUSD)) return false;
        }
      }
      const spent = [...accounts.values()].reduce((total, { spentUSD }) => total.plus(spentUSD), new USD(0));
      return spent.isZero();
    }),
  );
  t.pass();
});

test('a hold on several accounts binds all of them or none, and names the one that has too little', (t) => {
  let accounts: Accounts = limit(new Map(), { account: 'a', policy: 'Block', limitUSD: '5' });
  accounts = limit(accounts, { account: 'b', policy: 'Block', limitUSD: '1.250' });
  t.deepEqual(admit(accounts, { key: 'k', amountUSD: '2', accounts: ['a', 'b'] }), {
    outcome: 'Refused',
    by: 'b',
    availableUSD: '1.25',
  });
  const exact = admit(accounts, { key: 'k', amountUSD: '1.25', accounts: ['a', 'b'] });
  t.is(exact.outcome, 'Admitted');
  if (exact.outcome === 'Admitted') t.is(exact.accounts.get('b')?.heldUSD.toFixed(), '1.25');
});

test('an account without a limit refuses nothing, and a lowered limit leaves what is there and admits no more', (t) => {
  const open = admit(new Map(), { key: 'k', amountUSD: '1000000', accounts: ['x'] });
  t.is(open.outcome, 'Admitted');
  if (open.outcome !== 'Admitted') return;
  const lowered = limit(open.accounts, { account: 'x', policy: 'Block', limitUSD: '1' });
  t.deepEqual(admit(lowered, { key: 'l', amountUSD: '0.000000001', accounts: ['x'] }), {
    outcome: 'Refused',
    by: 'x',
    availableUSD: '0.00',
  });
});

test('a posting whose lines do not add up to zero is refused, however small the difference', (t) => {
  const posting = {
    key: 'p',
    reason: 'r',
    lines: [
      { account: 'a', amountUSD: '99999999999.000000001' },
      { account: 'b', amountUSD: '-99999999999' },
    ],
  };
  t.is(sumOf(posting).toFixed(), '0.000000001');
  t.throws(() => post(new Map(), posting), { instanceOf: UnbalancedPostingError });
  t.throws(() => admit(new Map(), { key: 'k', amountUSD: '-1', accounts: ['a'] }), { instanceOf: RangeError });
});

test('amounts are shown with two decimals and as many more as are not zero', (t) => {
  const shown = ['0', '1.5', '1.250', '0.000000001', '1234567890.1'].map((amount) => showUSD(new USD(amount)));
  t.deepEqual(shown, ['0.00', '1.50', '1.25', '0.000000001', '1234567890.10']);
});

test('releasing what is not held leaves nothing below zero, and a hold that names an account twice binds it once', (t) => {
  const hold = { key: 'k', amountUSD: '2', accounts: ['a', 'a'] };
  const admitted = admit(limit(new Map(), { account: 'a', policy: 'Block', limitUSD: '3' }), hold);
  t.is(admitted.outcome, 'Admitted');
  if (admitted.outcome !== 'Admitted') return;
  t.is(admitted.accounts.get('a')?.heldUSD.toFixed(), '2');
  const once = release(admitted.accounts, hold);
  t.is(once.get('a')?.heldUSD.toFixed(), '0');
  t.is(release(once, hold).get('a')?.heldUSD.toFixed(), '0');
  t.is(
    release(admitted.accounts, { ...hold, amountUSD: '0.5' })
      .get('a')
      ?.heldUSD.toFixed(),
    '1.5',
  );
  t.throws(() => admit(new Map(), { ...hold, amountUSD: 'Infinity' }), { instanceOf: RangeError });
});

test('a posting moves what is spent on each of its accounts, and a grant is spent below zero', (t) => {
  const line = (name: string, amountUSD: string) => ({ account: name, amountUSD });
  const spent = (accounts: Accounts, name: string): string | undefined => accounts.get(name)?.spentUSD.toFixed();
  let accounts = post(new Map(), { key: 'p', reason: 'use', lines: [line('a', '1.5'), line('revenue', '-1.5')] });
  accounts = post(accounts, { key: 'q', reason: 'use', lines: [line('a', '1'), line('a', '-4'), line('grants', '3')] });
  t.is(spent(accounts, 'a'), '-1.5');
  t.is(spent(accounts, 'revenue'), '-1.5');
  t.is(spent(accounts, 'grants'), '3');
  const capped = limit(accounts, { account: 'a', policy: 'Block', limitUSD: '1' });
  t.is(available(capped.get('a') ?? emptyAccount('a'))?.toFixed(), '2.5', 'the grant can be held');
});
