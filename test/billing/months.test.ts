/** What an operator does with a month of the ledger that is over: exports it, and removes its postings from here. */
import { createHash } from 'node:crypto';
import test from 'ava';
import { objectOf, path, textAt, valueAt } from '../e2e/client.js';
import { startRunning } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { JOBS, sh, SMALL } from '../jobs/jobs.js';
import { openPostgres } from '../../storage/postgres.js';
import { postedMonthsAgo } from '../support/ledger-months.js';

const MONTHS = '/ops/v1/ledger/months';
const ENTRIES = path('wallet/entries', '');

test('a month is exported whole with its hash, goes by that hash alone, and costs and audits stay right', async (t) => {
  t.timeout(180_000);
  const service = await startRunning(t, { env: { TROUPE_LEDGER_AUDIT_SECONDS: '60' } });
  const owner = service.client();
  const work = { command: sh('exit 0'), resources: SMALL };
  t.is((await owner.post(JOBS, objectOf('Job', 'old', work))).status, 201);
  const costOf = async (): Promise<unknown> => valueAt((await owner.get(`${JOBS}/old`)).body, 'status', 'cost');
  const before = await until('it is charged', async () => {
    const cost = await costOf();
    return valueAt(cost, 'final') === true && cost;
  });
  const csv = (await owner.get(`${ENTRIES}?format=csv`)).text.trim().split('\r\n').slice(1);

  await service.kill();
  const postgres = openPostgres({ url: service.databaseUrl });
  const month = await postedMonthsAgo(postgres.pool, 1);
  await postgres.close();
  await service.start();
  await until('the month is closed', async () => {
    const months = valueAt((await owner.get(MONTHS)).body, 'items') as readonly unknown[];
    return months.some((one) => textAt(one, 'month') === month && textAt(one, 'state') === 'Closed');
  });

  const early = await owner.ask('DELETE', `${MONTHS}/${month}?sha256=${'0'.repeat(64)}`);
  t.is(early.status, 409, early.text);
  t.is((await owner.ask('DELETE', `${MONTHS}/${month}`)).status, 400);
  t.is((await owner.get(`${MONTHS}/2020-13`)).status, 404);
  const current = textAt(((await owner.get(MONTHS)).body as { items: unknown[] }).items.at(-1), 'month');
  t.is((await owner.get(`${MONTHS}/${current}`)).status, 409, 'the present month is open');

  const answer = await owner.get(`${MONTHS}/${month}`);
  t.is(answer.status, 200);
  const lines = answer.text.trimEnd().split('\n');
  const last = JSON.parse(lines.pop() ?? '') as { sha256: string; postings: number; sumUSD: string; accounts: object };
  t.is(
    createHash('sha256')
      .update(`${lines.join('\n')}\n`)
      .digest('hex'),
    last.sha256,
  );
  t.is(last.postings, lines.length);
  t.is(last.sumUSD, '0');
  t.deepEqual(
    lines.map((line) => textAt(JSON.parse(line), 'id')),
    csv.map((line) => line.split(',')[0]),
  );
  t.is((await owner.get(`${MONTHS}/${month}`)).text, answer.text, 'and again the same');

  t.is((await owner.ask('DELETE', `${MONTHS}/${month}?sha256=${last.sha256}`)).status, 200);
  t.is((await owner.get(`${MONTHS}/${month}`)).status, 404);
  t.is((await owner.get(`${ENTRIES}?month=${month}`)).status, 404);
  t.deepEqual(valueAt((await owner.get(ENTRIES)).body, 'items'), []);
  t.deepEqual(await costOf(), before);
  t.is((await owner.post('/ops/v1/ledger/audits', {})).status, 202);
  const pass = await until('an audit ends', async () => {
    const { body } = await owner.get('/ops/v1/ledger');
    return valueAt(body, 'running') === false && valueAt(body, 'lastPass') !== undefined && body;
  });
  t.deepEqual(valueAt(pass, 'findings'), []);
});
