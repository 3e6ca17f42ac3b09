/** Budgets, the wallet and its ledger as a client sees them, at a service that runs no work. `prepaid.test.ts` runs them in the other wallet mode. */
import test from 'ava';
import { showUSD, sumUSD, USD } from '../../src/money/usd.js';
import { openPostgres } from '../../storage/postgres.js';
import { listAt, numberAt, objectOf, path, textAt, valueAt, type Client } from '../e2e/client.js';
import { shareRunning, type Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';

const BUDGETS = path('budgets', '');
const GRANTS = path('creditgrants', '');
const WALLET = path('wallet', '');
const JOBS = path('jobs', 'default');

const MODE = process.env['TEST_WALLET'] ?? 'Unlimited';
const CREDITS = '3.00';

let service: Running;
let owner: Client;
test.before(async () => {
  service = await shareRunning(undefined, {
    env: { TROUPE_COMPUTE: 'off', TROUPE_WALLET: MODE, TROUPE_BOOTSTRAP_CREDITS: CREDITS },
  });
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
  t.deepEqual(valueAt(grant.body, 'status'), { phase: 'Active', remainingUSD: CREDITS });
  const wallet = await owner.get(WALLET);
  t.is(textAt(wallet.body, 'mode'), MODE);
  t.is(textAt(wallet.body, 'balanceUSD'), CREDITS);
  const entries = listAt((await owner.get(`${WALLET}/entries?limit=1`)).body, 'items');
  t.is(textAt(entries[0], 'reason'), 'Credit');
  t.deepEqual(valueAt(entries[0], 'lines'), [
    { account: 'funding', amountUSD: `-${CREDITS}` },
    { account: `grants/${textAt(grant.body, 'metadata', 'uid')}`, amountUSD: CREDITS },
  ]);
  const made = await owner.post(GRANTS, objectOf('CreditGrant', 'mine', { amountUSD: '5.00', source: 'Promo' }));
  t.is(made.status, 405, 'only the service gives credits');
});

test('the entries of the ledger add up: each to zero with its other side, and all of them to the balance', async (t) => {
  const items = listAt((await owner.get(`${WALLET}/entries?limit=1000`)).body, 'items');
  t.true(items.length > 0);
  for (const item of items)
    t.is(showUSD(sumUSD(listAt(item, 'lines').map((line) => textAt(line, 'amountUSD')))), '0.00', JSON.stringify(item));
  const changes = sumUSD(items.map((item) => textAt(item, 'balanceChangeUSD')));
  t.is(showUSD(changes), textAt((await owner.get(WALLET)).body, 'balanceUSD'));
});

test('a Budget stands in the ledger from its create to its end, however it ends', async (t) => {
  // Nothing else that is tested here counts in it.
  const spec = { limitUSD: '5', scope: { selector: { matchLabels: { test: 'stands' } } } };
  const made = await owner.post(BUDGETS, objectOf('Budget', 'plain', spec));
  t.is(made.status, 201, made.text);
  t.is(textAt(made.body, 'status', 'remainingUSD'), '5.00');
  t.is(numberAt(made.body, 'status', 'percentUsed'), 0);
  t.regex(textAt(made.body, 'status', 'currentPeriod', 'endTime'), /^\d{4}-\d\d-01T00:00:00Z$/);
  await owner.post(BUDGETS, objectOf('Budget', 'foreground', spec));
  await owner.post(BUDGETS, objectOf('Budget', 'finalized', spec, { finalizers: ['example.org/keep'] }));
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

const BIG = { command: ['true'], resources: { cpu: '60' } };

function budgetOf(team: string, limitUSD: string): Record<string, unknown> {
  return objectOf('Budget', team, { limitUSD, scope: { selector: { matchLabels: { team } } } });
}

test('of 200 Jobs that come at once against 1.00 USD exactly those that fit are made, and each other one is told why and what to do', async (t) => {
  await owner.post(BUDGETS, budgetOf('burst', '1.00'));
  const job = (i: number) => objectOf('Job', `burst-${i}`, BIG, { labels: { team: 'burst' } });
  const rehearsed = await owner.post(`${JOBS}?dryRun=All`, job(0));
  t.is(valueAt(rehearsed.body, 'status', 'estimate', 'blockingReasons'), undefined);
  const holdUSD = textAt(rehearsed.body, 'status', 'estimate', 'holdUSD');
  const fit = Math.floor(1 / Number(holdUSD));
  t.true(fit > 10 && fit < 190, holdUSD);

  const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => owner.post(JOBS, job(i))));
  const made = answers.filter(({ status }) => status === 201);
  t.is(made.length, fit, answers.find(({ status }) => status !== 201 && status !== 402)?.text);
  const left = new USD(1).minus(new USD(holdUSD).times(fit)).toFixed();
  for (const { status, body } of answers.filter((answer) => answer.status !== 201)) {
    t.is(status, 402);
    t.is(textAt(body, 'reason'), 'BudgetExceeded');
    const said = textAt(body, 'message');
    t.regex(
      said,
      /^Budget "burst" refuses the hold: [\d.]+ USD are left and [\d.]+ USD are needed; it is reset at \d{4}-\d\d-01T00:00:00Z$/,
    );
    t.true(said.includes(`${left} USD are left and ${holdUSD} USD`), said);
    t.regex(textAt(body, 'fix'), /^Raise spec.limitUSD of Budget "burst"/);
  }

  const again = await owner.post(
    `${JOBS}?dryRun=All`,
    objectOf('Job', 'burst-none', BIG, { labels: { team: 'burst' } }),
  );
  const [reason] = listAt(again.body, 'status', 'estimate', 'blockingReasons');
  t.is(textAt(reason, 'code'), 'BudgetExceeded', again.text);
  await until('the Budget tells of it', async () => {
    const events = await owner.get(`${path('events', '')}?object=Budget/burst&type=budget.exceeded`);
    return listAt(events.body, 'items').length === 1;
  });
  const [exceeded] = listAt((await owner.get(`${BUDGETS}/burst`)).body, 'status', 'conditions');
  t.is(`${textAt(exceeded, 'status')} ${textAt(exceeded, 'reason')}`, 'True LimitReached');

  await owner.merge(`${BUDGETS}/burst`, { spec: { limitUSD: '2.00' } });
  const raised = await owner.post(JOBS, objectOf('Job', 'burst-raised', BIG, { labels: { team: 'burst' } }));
  t.is(raised.status, 201, raised.text);
  const elsewhere = await owner.post(JOBS, objectOf('Job', 'burst-other', BIG, { labels: { team: 'other' } }));
  t.is(elsewhere.status, 201, 'out of its scope it refuses nothing');
});

test('a dry run names everything that stands against the create, each with what to do', async (t) => {
  await owner.post(BUDGETS, budgetOf('all', '0.000000001'));
  const spec = { ...BIG, placement: { maxRateUSDPerHour: '0.001' }, resources: { cpu: '60', gpu: { count: 1 } } };
  const rehearsed = await owner.post(`${JOBS}?dryRun=All`, objectOf('Job', 'all', spec, { labels: { team: 'all' } }));
  t.is(rehearsed.status, 201, rehearsed.text);
  const reasons = listAt(rehearsed.body, 'status', 'estimate', 'blockingReasons');
  t.deepEqual(
    reasons.map((reason) => textAt(reason, 'code')),
    ['Unsupported', 'PriceConsentRequired', 'BudgetExceeded'],
  );
  for (const reason of reasons) t.not(textAt(reason, 'fix'), '');
});

test('a Sweep or Pipeline whose first Job would get no money is refused like that Job, and a dry run says so before', async (t) => {
  await owner.post(BUDGETS, budgetOf('sweeping', '0.001'));
  const made = async (kind: 'Sweep' | 'Pipeline', name: string, more: object, team: string, query = '') => {
    const work =
      kind === 'Sweep' ? { template: { kind: 'Job', spec: BIG } } : { stages: [{ name: 'a', template: BIG }] };
    const body = objectOf(kind, name, { ...work, ...more }, { labels: { team } });
    return owner.post(`${path(`${kind.toLowerCase()}s`, 'default')}${query}`, body);
  };
  for (const kind of ['Sweep', 'Pipeline'] as const) {
    const rehearsed = await made(kind, 'refused', {}, 'sweeping', '?dryRun=All');
    t.is(rehearsed.status, 201, rehearsed.text);
    const [reason] = listAt(rehearsed.body, 'status', 'estimate', 'blockingReasons');
    t.is(textAt(reason, 'code'), 'BudgetExceeded');
    const refused = await made(kind, 'refused', {}, 'sweeping');
    t.is(refused.status, 402, refused.text);
    t.regex(refused.text, /Budget \\"sweeping\\" refuses the hold/);
    // Nothing would run yet.
    const rests = await made(kind, 'rests', { state: 'Suspended' }, 'sweeping', '?dryRun=All');
    t.is(valueAt(rests.body, 'status', 'estimate', 'blockingReasons'), undefined, rests.text);
    t.is((await made(kind, 'rests', { state: 'Suspended' }, 'sweeping')).status, 201);
    t.is((await made(kind, 'elsewhere', {}, 'none', '?dryRun=All')).status, 201);
  }
  const budget = await owner.get(`${BUDGETS}/sweeping`);
  t.is(textAt(budget.body, 'status', 'heldUSD'), '0.00', 'nothing stays held');
});

test('an own cap below the first hold is refused as that field, and a dry run says so before', async (t) => {
  const capped = objectOf('Job', 'capped', { ...BIG, maxCostUSD: '0.001' });
  const rehearsed = await owner.post(`${JOBS}?dryRun=All`, capped);
  t.is(textAt(listAt(rehearsed.body, 'status', 'estimate', 'blockingReasons')[0], 'code'), 'Invalid', rehearsed.text);
  const refused = await owner.post(JOBS, capped);
  t.is(refused.status, 422, refused.text);
  t.is(textAt(listAt(refused.body, 'details', 'causes')[0], 'field'), 'spec.maxCostUSD');
});

test('an owner of Jobs whose cap, or that of its template, leaves no room for a first hold is refused, and not made to wait for ever', async (t) => {
  const low = { maxCostUSD: '0.001' };
  const template = (more: object = {}) => ({ kind: 'Job', spec: { ...BIG, ...more } });
  const stages = [{ name: 'a', template: BIG }];
  for (const [kind, spec, field] of [
    ['Sweep', { template: template(), ...low }, 'spec.maxCostUSD'],
    ['Sweep', { template: template(low) }, 'spec.template.spec.maxCostUSD'],
    ['Pipeline', { stages, ...low }, 'spec.maxCostUSD'],
    ['Pipeline', { stages, defaults: low }, 'spec.defaults.maxCostUSD'],
    ['Pipeline', { stages: [{ name: 'a', template: { ...BIG, ...low } }] }, 'spec.stages[0].template.maxCostUSD'],
  ] as const) {
    const collection = path(`${kind.toLowerCase()}s`, 'default');
    const rehearsed = await owner.post(`${collection}?dryRun=All`, objectOf(kind, 'capped', spec));
    t.is(textAt(listAt(rehearsed.body, 'status', 'estimate', 'blockingReasons')[0], 'code'), 'Invalid', rehearsed.text);
    const refused = await owner.post(collection, objectOf(kind, 'capped', spec));
    t.is(refused.status, 422, refused.text);
    t.is(textAt(listAt(refused.body, 'details', 'causes')[0], 'field'), field);
    t.regex(refused.text, /first hold of a Job, and leaves 0.001/);
  }
});

test('without a mail server a Budget that names recipients says that they get nothing', async (t) => {
  const spec = { limitUSD: '5', notify: { emails: ['ada@example.org'] }, scope: { project: 'default' } };
  const made = await owner.post(BUDGETS, objectOf('Budget', 'mailed', spec));
  t.is(made.status, 201, made.text);
  const conditions = listAt(made.body, 'status', 'conditions');
  t.true(
    conditions.some((one) => textAt(one, 'reason') === 'MailNotConfigured'),
    made.text,
  );
  await owner.remove(`${BUDGETS}/mailed`);
});
