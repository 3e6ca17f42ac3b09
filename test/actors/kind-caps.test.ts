/** An org has no more objects of a kind than it may, however many are made at once. */
import test from 'ava';
import { openKindCaps } from '../../actors/admission/kind-caps.js';

test('creates that come together pass no bound, and those of other kinds and orgs have none of it', async (t) => {
  let stored = 1;
  const caps = openKindCaps(new Map([['Budget', 3]]), async (org) => (org === 'o-1' ? stored : 0));
  const entered = await Promise.all(Array.from({ length: 5 }, () => caps.enter('Budget', 'o-1')));
  const admitted = entered.filter(({ refusal }) => refusal === undefined);
  t.is(admitted.length, 2);
  t.like(entered.at(-1)?.refusal, { code: 'QuotaExceeded', retryAfterSeconds: 1 });
  t.is((await caps.enter('Budget', 'o-2')).refusal, undefined);
  t.is((await caps.enter('Job', 'o-1')).refusal, undefined);
  stored += admitted.length;
  for (const one of entered) one.leave();
  t.like((await caps.enter('Budget', 'o-1')).refusal, { code: 'QuotaExceeded', retryAfterSeconds: 'Never' });
});

test('a count that fails leaves no place taken', async (t) => {
  let fails = true;
  const caps = openKindCaps(new Map([['Budget', 1]]), async () => {
    if (fails) throw new Error('storage is away');
    return 0;
  });
  await t.throwsAsync(caps.enter('Budget', 'o-1'), { message: 'storage is away' });
  fails = false;
  t.is((await caps.enter('Budget', 'o-1')).refusal, undefined);
});
