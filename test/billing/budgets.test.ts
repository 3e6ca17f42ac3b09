/** Budgets, the wallet and its ledger as a client sees them, at a service that runs no work. */
import test from 'ava';
import { openPostgres } from '../../storage/postgres.js';
import { listAt, numberAt, objectOf, path, textAt, valueAt, type Client } from '../e2e/client.js';
import { shareRunning, type Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';

const BUDGETS = path('budgets', '');
const GRANTS = path('creditgrants', '');
const WALLET = path('wallet', '');

let service: Running;
let owner: Client;
test.before(async () => {
  service = await shareRunning(undefined, { env: { TROUPE_COMPUTE: 'off' } });
  owner = service.client();
});
test.after.always(async () => service?.close());

/** Names of the Budgets that the ledger has. */
async function inLedger(): Promise<readonly string[]> {
  const postgres = openPostgres({ url: service.databaseUrl });
  try {
    const rows = await postgres.readRows<[string]>({ name: 'budgets', text: 'SELECT name FROM budgets ORDER BY name' });
    return rows.map(([name]) => name);
  } finally {
    await postgres.close();
  }
}

test('the first org has its credits from the start, as a grant, in its wallet and as an entry of its ledger', async (t) => {
  const grant = await owner.get(`${GRANTS}/bootstrap`);
  t.deepEqual(valueAt(grant.body, 'status'), { phase: 'Active', remainingUSD: '100.00' });
  const wallet = await owner.get(WALLET);
  t.is(textAt(wallet.body, 'mode'), 'Unlimited');
  t.is(textAt(wallet.body, 'balanceUSD'), '100.00');
  const entries = listAt((await owner.get(`${WALLET}/entries?limit=1`)).body, 'items');
  t.is(textAt(entries[0], 'reason'), 'Credit');
  t.deepEqual(valueAt(entries[0], 'lines'), [
    { account: 'funding', amountUSD: '-100.00' },
    { account: `grants/${textAt(grant.body, 'metadata', 'uid')}`, amountUSD: '100.00' },
  ]);
  const made = await owner.post(GRANTS, objectOf('CreditGrant', 'mine', { amountUSD: '5.00', source: 'Promo' }));
  t.is(made.status, 405, 'only the service gives credits');
});

test('a Budget stands in the ledger from its create to its end, however it ends', async (t) => {
  const made = await owner.post(BUDGETS, objectOf('Budget', 'plain', { limitUSD: '5' }));
  t.is(made.status, 201, made.text);
  t.is(textAt(made.body, 'status', 'remainingUSD'), '5.00');
  t.is(numberAt(made.body, 'status', 'percentUsed'), 0);
  t.regex(textAt(made.body, 'status', 'currentPeriod', 'endTime'), /^\d{4}-\d\d-01T00:00:00Z$/);
  await owner.post(BUDGETS, objectOf('Budget', 'foreground', { limitUSD: '5' }));
  await owner.post(BUDGETS, objectOf('Budget', 'finalized', { limitUSD: '5' }, { finalizers: ['example.org/keep'] }));
  t.true((await inLedger()).join().includes('finalized,foreground,plain'));
  await owner.merge(`${BUDGETS}/plain`, { spec: { limitUSD: '7.50' } });
  t.is(textAt((await owner.get(`${BUDGETS}/plain`)).body, 'status', 'remainingUSD'), '7.50');

  await owner.remove(`${BUDGETS}/plain`);
  await owner.remove(`${BUDGETS}/foreground?propagationPolicy=Foreground`);
  await owner.remove(`${BUDGETS}/finalized`);
  await until('the one in the foreground is gone', async () => {
    return (await owner.get(`${BUDGETS}/foreground`)).status === 404;
  });
  const left = await inLedger();
  t.true(left.includes('finalized'), 'what a finalizer holds binds on');
  t.false(left.includes('plain') || left.includes('foreground'));
  await owner.merge(`${BUDGETS}/finalized`, { metadata: { finalizers: null } });
  t.false((await inLedger()).includes('finalized'));
});

test('recipients of mail and changes of the wallet are refused by their fields, since nothing sends or recharges', async (t) => {
  const mailed = objectOf('Budget', 'mailed', { limitUSD: '5', notify: { emails: ['ada@example.org'] } });
  const refused = await owner.post(BUDGETS, mailed);
  t.is(refused.status, 501);
  t.true(refused.text.includes('spec.notify.emails'), refused.text);
  const wallet = await owner.merge(WALLET, { warnBelowUSD: '5.00' });
  t.is(wallet.status, 501);
  t.true(wallet.text.includes('warnBelowUSD'), wallet.text);
});
