/** A wallet that is paid in advance, as a client sees it; and everything that Budgets do, beside it. */
import test from 'ava';
import { showUSD, USD } from '../../src/money/usd.js';
import { client, listAt, objectOf, path, textAt, valueAt, type Client } from '../e2e/client.js';
import { openRunning, shareRunning, type Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';

// Its tests are this file's as well, at the same service, once those here have given back all that they held.
process.env['TEST_WALLET'] = 'Prepaid';
await import('./budgets.test.js');

const CREDITS = '3.00';
const WALLET = path('wallet', '');
const JOBS = path('jobs', 'default');
const BIG = { command: ['true'], resources: { cpu: '60' } };

let service: Running;
let owner: Client;
test.before(async () => {
  service = await shareRunning(undefined, {
    env: { TROUPE_COMPUTE: 'off', TROUPE_WALLET: 'Prepaid', TROUPE_BOOTSTRAP_CREDITS: CREDITS },
  });
  owner = service.client();
});
test.after.always(async () => service?.close());

test.serial(
  'work is admitted for exactly what the wallet has, in every org for itself, and each refusal says what is left and what to do',
  async (t) => {
    const job = (i: number | string) => objectOf('Job', `paid-${i}`, BIG);
    const rehearsed = await owner.post(`${JOBS}?dryRun=All`, job('dry'));
    t.is(valueAt(rehearsed.body, 'status', 'estimate', 'blockingReasons'), undefined);
    const hold = new USD(textAt(rehearsed.body, 'status', 'estimate', 'holdUSD'));
    const before = new USD(textAt((await owner.get(WALLET)).body, 'availableUSD'));
    const fit = before.wholeTimes(hold);
    t.true(fit > 10 && fit < 190, `${fit}`);
    const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => owner.post(JOBS, job(i))));
    t.is(answers.filter(({ status }) => status === 201).length, fit);
    const left = showUSD(before.minus(hold.times(fit)));
    for (const { status, body } of answers.filter((answer) => answer.status !== 201)) {
      t.is(`${status} ${textAt(body, 'reason')}`, '402 InsufficientCredits');
      t.is(
        textAt(body, 'message'),
        `the wallet refuses the hold: ${left} USD are left and ${showUSD(hold)} USD are needed`,
      );
      t.regex(textAt(body, 'fix'), /^Add credits with a TopUp, ask for less, or wait/);
    }
    const wallet = (await owner.get(WALLET)).body;
    t.deepEqual([textAt(wallet, 'availableUSD'), textAt(wallet, 'balanceUSD')], [left, CREDITS]);
    const blocked = await owner.post(`${JOBS}?dryRun=All`, job('dry'));
    t.is(textAt(listAt(blocked.body, 'status', 'estimate', 'blockingReasons')[0], 'code'), 'InsufficientCredits');

    const [made] = answers.filter(({ status }) => status === 201);
    const name = textAt(made?.body, 'metadata', 'name');
    await owner.merge(`${JOBS}/${name}`, { spec: { state: 'Suspended' } });
    t.is((await owner.post(JOBS, job('after'))).status, 201, 'what was held can be held again');
    const resumed = await owner.merge(`${JOBS}/${name}`, { spec: { state: 'Running' } });
    t.is(`${resumed.status} ${textAt(resumed.body, 'reason')}`, '402 InsufficientCredits');
    t.is(textAt((await owner.get(`${JOBS}/${name}`)).body, 'spec', 'state'), 'Suspended');

    const second = await owner.post('/ops/v1/orgs', { name: 'second' });
    const other = client(service.url, textAt(second.body, 'key'));
    t.is(textAt((await other.get(WALLET)).body, 'mode'), 'Prepaid');
    t.is(textAt((await other.post(JOBS, job('poor'))).body, 'reason'), 'InsufficientCredits', 'nobody gave it credits');

    const jobs = listAt((await owner.get(`${JOBS}?limit=500`)).body, 'items');
    await Promise.all(jobs.map((one) => owner.remove(`${JOBS}/${textAt(one, 'metadata', 'name')}`)));
    await until('all is given back', async () => {
      return textAt((await owner.get(WALLET)).body, 'availableUSD') === CREDITS;
    });
  },
);

test.serial(
  'what one wallet mode has used is not owed in the other, and the deployment changes its mode at any start',
  async (t) => {
    const prepaid = await openRunning(t, {
      env: { TROUPE_COMPUTE: 'off', TROUPE_WALLET: 'Prepaid', TROUPE_BOOTSTRAP_CREDITS: '0.01' },
    });
    await prepaid.start();
    const job = (name: string) => objectOf('Job', name, BIG);
    t.is(textAt((await prepaid.client().post(JOBS, job('a'))).body, 'reason'), 'InsufficientCredits');
    prepaid.signal('SIGTERM');
    await until('it has ended', async () => !prepaid.alive());
    const unlimited = await openRunning(t, {
      beside: prepaid,
      env: { TROUPE_COMPUTE: 'off', TROUPE_WALLET: 'Unlimited' },
    });
    await unlimited.start();
    const asked = unlimited.client();
    t.is((await asked.post(JOBS, job('a'))).status, 201);
    const wallet = (await asked.get(WALLET)).body;
    t.deepEqual([textAt(wallet, 'mode'), textAt(wallet, 'arrearsUSD')], ['Unlimited', '0.00']);
  },
);
