/** The birth of an org: a name is never taken without a key that somebody was shown. */
import test from 'ava';
import { randomBytes } from 'node:crypto';
import { openKeyedAnswers } from '../../actors/keyed-answers.js';
import { createOrg, ensureBootstrapOrg, type OrgDeps } from '../../actors/orgs.js';
import { refuse } from '../../src/api/refusal.js';
import { openOrgs } from '../../storage/orgs.js';
import { openTestDatabase } from '../support/postgres.js';
import { openRuntime, type RuntimeFixture } from './runtime-fixture.js';

const answersOf = ({ store, actors }: RuntimeFixture): OrgDeps['answers'] => openKeyedAnswers(store.responses, actors);

const setWallet: OrgDeps['setWallet'] = async () => {};

test('an org whose making was cut off at any step is made when it is asked for again, with one key', async (t) => {
  const runtime = await openRuntime((await openTestDatabase(t)).url);
  const rows = openOrgs(runtime.store.postgres);
  let left = 0;
  const mayBreak = (): void => {
    left -= 1;
    if (left < 0) throw refuse('Unavailable', 'cut off', { retryAfterSeconds: 1 });
  };
  const deps: OrgDeps = {
    rows: {
      list: rows.list,
      find: rows.find,
      claim: rows.claim,
      async ready(org) {
        mayBreak();
        await rows.ready(org);
      },
    },
    making: new Set(),
    setWallet: async () => mayBreak(),
    answers: answersOf(runtime),
    randomBytes: (length) => randomBytes(length),
    async write(address, write) {
      mayBreak();
      return runtime.actors.write(address, write);
    },
  };
  const ask = async (steps: number): Promise<string> => {
    left = steps;
    return createOrg('acme', deps).then(
      ({ outcome }) => outcome,
      () => 'cut off',
    );
  };
  let steps = 0;
  while ((await ask(steps)) === 'cut off') steps += 1;
  t.is(steps, 8, 'the mode, two projects, a member, the Wallet, the old key, the new key, the mark');
  t.is(await ask(100), 'Taken');
  const [made] = await rows.list();
  t.is((await rows.list()).length, 1);
  const { keys } = await runtime.store.objects.keys({ org: made?.org ?? '', kind: 'APIKey', limit: 100 });
  t.is(keys.length, 1);
  await runtime.drop();
});

test('two who ask for one org at the same time do not both get its key', async (t) => {
  const runtime = await openRuntime((await openTestDatabase(t)).url);
  const rows = openOrgs(runtime.store.postgres);
  const deps: OrgDeps = {
    ...{ rows, making: new Set(), write: runtime.actors.write, answers: answersOf(runtime), setWallet },
    randomBytes: (length) => randomBytes(length),
  };
  const outcomes = await Promise.all(
    [1, 2].map(() =>
      createOrg('acme', deps).then(
        ({ outcome }) => outcome,
        () => 'refused',
      ),
    ),
  );
  t.deepEqual(outcomes.toSorted(), ['Created', 'refused']);
  await runtime.drop();
});

test('a request that is sent again under its Idempotency-Key is shown the same key, also when it was cut off', async (t) => {
  const runtime = await openRuntime((await openTestDatabase(t)).url);
  const rows = openOrgs(runtime.store.postgres);
  let cut = true;
  const deps: OrgDeps = {
    ...{ making: new Set(), write: runtime.actors.write, answers: answersOf(runtime), setWallet },
    rows: {
      list: rows.list,
      find: rows.find,
      claim: rows.claim,
      async ready(org) {
        if (cut) throw refuse('Unavailable', 'cut off', { retryAfterSeconds: 1 });
        await rows.ready(org);
      },
    },
    randomBytes: (length) => randomBytes(length),
  };
  const keyed = { holder: 'h', key: 'once', fingerprint: 'f' };
  await t.throwsAsync(createOrg('acme', deps, keyed));
  cut = false;
  const second = await createOrg('acme', deps, keyed);
  const third = await createOrg('acme', deps, keyed);
  t.like(second, { outcome: 'Created', replayed: true });
  t.deepEqual(third, second);
  t.is((await createOrg('acme', deps)).outcome, 'Taken');
  await t.throwsAsync(createOrg('other', deps, { ...keyed, fingerprint: 'g' }), { message: /different request/ });
  t.is((await rows.list()).length, 1);
  await runtime.drop();
});

test('the credits of the first org are given at its first start alone, also when that gave none', async (t) => {
  const runtime = await openRuntime((await openTestDatabase(t)).url);
  const deps: OrgDeps = {
    ...{ rows: openOrgs(runtime.store.postgres), making: new Set(), write: runtime.actors.write, setWallet },
    ...{ answers: answersOf(runtime), randomBytes: (length) => randomBytes(length) },
  };
  const grants = async () =>
    (await runtime.store.objects.keys({ org: 'bootstrap', kind: 'CreditGrant', limit: 10 })).keys.length;
  await ensureBootstrapOrg(deps, '0');
  await ensureBootstrapOrg(deps, '100.00');
  t.is(await grants(), 0);
  await runtime.drop();
  const other = await openRuntime((await openTestDatabase(t)).url);
  const there = { ...deps, rows: openOrgs(other.store.postgres), write: other.actors.write };
  await ensureBootstrapOrg(there, '5.00');
  await ensureBootstrapOrg(there, '100.00');
  const { keys } = await other.store.objects.keys({ org: 'bootstrap', kind: 'CreditGrant', limit: 10 });
  t.deepEqual(
    keys.map(({ name }) => name),
    ['bootstrap'],
  );
  await other.drop();
});
