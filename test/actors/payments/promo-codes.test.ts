/** Redemptions of promo codes on real rows, with a service that fails behind the claim. */
import test from 'ava';
import { openPromotions, type PromoDeps } from '../../../actors/payments/promo-codes.js';
import { encodeObject } from '../../../src/api/encode.js';
import { refuse } from '../../../src/api/refusal.js';
import { openPromoCodes } from '../../../storage/payments/promo-codes.js';
import { openFixture } from '../../storage/fixtures.js';

const CODE = { code: 'A-CODE', amountUSD: '5' };

/** CreditGrants that were made, by org and name; `failing` orgs get none. */
function grants(failing: ReadonlySet<string>): {
  readonly made: Map<string, unknown>;
  readonly write: PromoDeps['write'];
} {
  const made = new Map<string, unknown>();
  const write: PromoDeps['write'] = async ({ org, name }, asked) => {
    if (failing.has(org)) throw refuse('Unavailable', 'the service ends here');
    const key = `${org}/${name}`;
    if (asked.verb === 'create') {
      if (made.has(key)) return { outcome: 'Refused', refusal: { code: 'AlreadyExists', message: 'it is there' } };
      made.set(key, asked.body['spec']);
    }
    const metadata = { name, uid: key, generation: 1, creationTimestamp: '2026-11-01T00:00:00Z' };
    const object = { apiVersion: 'svc.dev/v1', kind: 'CreditGrant', metadata, spec: made.get(key), status: {} };
    return { outcome: 'Done', status: 200, body: encodeObject(object), etag: '1', warnings: [] };
  };
  return { made, write };
}

const answers: PromoDeps['answers'] = {
  find: async () => undefined,
  keep: async () => ({ outcome: 'Kept' }) as never,
};

test('a service that ends between claim and CreditGrant leaves what the next try finishes, and counts one redemption', async (t) => {
  const { store } = await openFixture(t);
  const rows = openPromoCodes(store.postgres);
  const failing = new Set(['o-1']);
  const { made, write } = grants(failing);
  const promotions = openPromotions({ rows, write, answers });
  await promotions.make({ ...CODE, maxRedemptions: 1 }, undefined);
  await t.throwsAsync(promotions.redeem('o-1', 'A-CODE', undefined), { message: /Unavailable/ });
  t.is((await promotions.redeem('o-2', 'A-CODE', undefined)).outcome, 'UsedUp', 'it is claimed');
  failing.clear();
  t.is((await promotions.redeem('o-1', 'A-CODE', undefined)).outcome, 'Granted');
  t.deepEqual(made.get('o-1/promo-a-code'), { amountUSD: '5.00', source: 'Promo' });
  t.is((await promotions.redeem('o-1', 'A-CODE', undefined)).outcome, 'Redeemed');
  t.is((await rows.find('A-CODE'))?.redemptions, 1);
});

test('a service that ends between CreditGrant and its mark answers the CreditGrant that is there, and makes no second one', async (t) => {
  const { store } = await openFixture(t);
  const rows = openPromoCodes(store.postgres);
  const { made, write } = grants(new Set());
  let ends = true;
  const cut = {
    ...rows,
    granted: async (org: string, code: string) => {
      if (ends) throw refuse('Unavailable', 'the service ends here');
      await rows.granted(org, code);
    },
  };
  const promotions = openPromotions({ rows: cut, write, answers });
  await promotions.make(CODE, undefined);
  await t.throwsAsync(promotions.redeem('o-1', 'A-CODE', undefined));
  ends = false;
  t.is((await promotions.redeem('o-1', 'A-CODE', undefined)).outcome, 'Granted');
  t.is((await promotions.redeem('o-1', 'A-CODE', undefined)).outcome, 'Redeemed');
  t.is(made.size, 1);
});

test('claims are finished a minute after the last try, and one that fails keeps none of the others waiting', async (t) => {
  const { store } = await openFixture(t);
  const rows = openPromoCodes(store.postgres);
  const failing = new Set(['o-1', 'o-2', 'o-3']);
  const { made, write } = grants(failing);
  const promotions = openPromotions({ rows, write, answers });
  await promotions.make(CODE, undefined);
  for (const org of failing) await t.throwsAsync(promotions.redeem(org, 'A-CODE', undefined));
  failing.delete('o-2');
  failing.delete('o-3');
  await promotions.finish(10);
  t.is(made.size, 0, 'they are young');
  const age = { name: 'age', text: `UPDATE promo_redemptions SET tried = tried - interval '61 seconds'` };
  await store.postgres.write(age);
  await t.throwsAsync(promotions.finish(10), { message: /the service ends here/ });
  t.deepEqual([...made.keys()].toSorted(), ['o-2/promo-a-code', 'o-3/promo-a-code']);
  await promotions.finish(10);
  failing.clear();
  await store.postgres.write(age);
  await promotions.finish(10);
  t.is(made.size, 3);
});

test('many statements at once claim a code no more often than it may be, and an org claims it once', async (t) => {
  const { store } = await openFixture(t);
  const rows = openPromoCodes(store.postgres);
  await rows.make({ ...CODE, maxRedemptions: 5 }, undefined);
  const claims = await Promise.all(Array.from({ length: 60 }, (_, i) => rows.claim(`o-${i % 12}`, 'A-CODE')));
  const claimed = claims.flatMap((claim) => (claim === undefined ? [] : [claim.org]));
  t.is(claimed.length, 5);
  t.is(new Set(claimed).size, 5);
  t.is((await rows.find('A-CODE'))?.redemptions, 5);
});

test('a code whose making was cut off before its answer was kept is made by the same keyed request, and taken for another', async (t) => {
  const { store } = await openFixture(t);
  const rows = openPromoCodes(store.postgres);
  const keyed = { holder: 'h', key: 'k', fingerprint: 'f' };
  t.is(await rows.make(CODE, keyed), 'Made');
  t.is(await rows.make(CODE, keyed), 'Known');
  t.is(await rows.make(CODE, { ...keyed, key: 'l' }), 'Taken');
  t.is(await rows.make(CODE, undefined), 'Taken');
});
