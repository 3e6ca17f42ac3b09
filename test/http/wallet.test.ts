/** The wallet and its ledger over HTTP, as JSON and as CSV. */
import test from 'ava';
import type { HttpDeps } from '../../http/deps.js';
import { USD } from '../../src/money/usd.js';
import type { LedgerEntry } from '../../storage/ledger/entries.js';
import { at, json, list } from './support/json.js';
import { BASE, bearer, KEYS, object, openTestApi, NO_MONTHS, NO_SPEND } from './support/test-api.js';

const line = (account: string, amountUSD: string) => ({ account, amountUSD });
const CREDIT: LedgerEntry = {
  ...{ position: 1, time: Date.parse('2026-10-31T23:59:59.5Z'), key: 'credit/g', reason: 'Credit', period: '2026-10' },
  ...{
    amountUSD: '100.000000000',
    coveredUSD: '0',
    counters: [],
    lines: [line('funding', '-100'), line('grants/g', '100')],
  },
};
const use = (position: number): LedgerEntry => ({
  ...{ position, time: Date.parse('2026-11-02T00:00:00Z'), key: `u/${position}`, reason: 'Use', period: '2026-11' },
  ...{ project: 'default', labels: { team: 'a', 'x.org/b': '' }, owner: 'uid-a', segment: 'Running' },
  ...{ amountUSD: '0.500000000', coveredUSD: '0.100000000' },
  counters: ['cost/uid-job', 'budget/b/2026-11', 'cost/uid-a'],
  lines: [line('grants/g', '-0.300000000'), line('wallet', '-0.200000000'), line('revenue', '0.500000000')],
});

function ledgerOf(entries: readonly LedgerEntry[], pages: number[] = []): HttpDeps['ledger'] {
  return {
    wallet: async () => ({ mode: 'Prepaid', balanceUSD: new USD('-0.5'), heldUSD: new USD('0.25') }),
    entries: async (org, after, limit, _signal, month) => {
      pages.push(limit);
      return entries
        .filter(({ position, period }) => org === 'acme' && position > after && (month ?? period) === period)
        .slice(0, limit);
    },
    spend: NO_SPEND,
    months: {
      ...NO_MONTHS,
      find: async (month) => (month === '2026-08' ? { month, state: 'Detached' } : undefined),
    },
  };
}

test('the wallet shows what there is, what is held, and what is owed, and never less than nothing to spend', async (t) => {
  const api = await openTestApi(t, { ledger: ledgerOf([]) });
  const shown = { mode: 'Prepaid', balanceUSD: '-0.50', heldUSD: '0.25', availableUSD: '0.00', arrearsUSD: '0.50' };
  t.deepEqual(await json(api.call(`${BASE}/wallet`)), { ...shown, autoRecharge: { enabled: false } });
  t.is((await api.call(`${BASE}/wallet?limit=1`)).status, 400);
  t.is((await api.call(`${BASE}/wallet/spend?month=2026-11`)).status, 400);
  t.is((await api.call(`${BASE}/wallet/runway?by=day`)).status, 400);
  t.is((await api.call(`${BASE}/wallet?month=x&what=1`)).status, 400);
});

test('entries come oldest first, page by page, with their lines and what they change the balance by', async (t) => {
  const api = await openTestApi(t, { ledger: ledgerOf([CREDIT, use(2), use(4)]) });
  const page = await json(api.call(`${BASE}/wallet/entries?limit=2`));
  t.deepEqual(
    list(page, 'items').map((item) => [at(item, 'id'), at(item, 'balanceChangeUSD')]),
    [
      ['1', '100.00'],
      ['2', '-0.50'],
    ],
  );
  t.is(at(page, 'continue'), '2');
  const rest = await json(api.call(`${BASE}/wallet/entries?after=2`));
  t.deepEqual(list(rest, 'items'), [
    {
      ...{
        id: '4',
        key: 'u/4',
        time: '2026-11-02T00:00:00.000Z',
        reason: 'Use',
        period: '2026-11',
        project: 'default',
      },
      ...{ labels: { team: 'a', 'x.org/b': '' }, owner: 'uid-a', segment: 'Running' },
      costOf: ['uid-job', 'uid-a'],
      ...{ amountUSD: '0.50', coveredUSD: '0.10', balanceChangeUSD: '-0.50' },
      lines: [line('grants/g', '-0.30'), line('wallet', '-0.20'), line('revenue', '0.50')],
    },
  ]);
  t.deepEqual(await json(api.call(`${BASE}/wallet/entries?after=4`)), { items: [] });
  t.is(list(await json(api.call(`${BASE}/wallet/entries?month=2026-10`)), 'items').length, 1);
  const gone = await api.call(`${BASE}/wallet/entries?month=2026-08&format=csv`);
  t.is(gone.status, 404);
  t.regex(await gone.text(), /the entries of 2026-08 were exported by the operator/);
  const others = await json(api.call(`${BASE}/wallet/entries`, { headers: bearer(KEYS.other) }));
  t.deepEqual(others, { items: [] });
  for (const bad of ['after=x', 'month=2026-13', 'format=xml', 'limit=-1', 'mont=2026-11'])
    t.is((await api.call(`${BASE}/wallet/entries?${bad}`)).status, 400, bad);
});

test('CSV has all entries, however many pages of the ledger they are, or as many as are asked for', async (t) => {
  const pages: number[] = [];
  const many = [CREDIT, ...Array.from({ length: 2500 }, (_, i) => use(i + 2))];
  const api = await openTestApi(t, { ledger: ledgerOf(many, pages) });
  const answer = await api.call(`${BASE}/wallet/entries`, { headers: { ...bearer(KEYS.owner), accept: 'text/csv' } });
  t.is(answer.headers.get('content-type'), 'text/csv; charset=utf-8');
  const lines = (await answer.text()).split('\r\n');
  t.is(lines.length, 2503);
  t.is(lines[0], 'id,time,reason,period,project,labels,owner,segment,amountUSD,coveredUSD,balanceChangeUSD,key,costOf');
  t.is(lines[1], '1,2026-10-31T23:59:59.500Z,Credit,2026-10,,,,,100.00,0.00,100.00,credit/g,');
  t.is(
    lines[2],
    '2,2026-11-02T00:00:00.000Z,Use,2026-11,default,"team=a,x.org/b=",uid-a,Running,0.50,0.10,-0.50,u/2,uid-job uid-a',
  );
  t.deepEqual(
    pages,
    Array.from({ length: 11 }, () => 250),
    'other orgs have their turn between slices',
  );
  const some = await api.call(`${BASE}/wallet/entries?format=csv&month=2026-11&limit=3`);
  t.is((await some.text()).split('\r\n').length, 5);
  t.is(some.headers.get('content-disposition'), 'attachment; filename="wallet-2026-11.csv"');
});

test('the settings of the wallet are changed in part, unknown ones are named, and other paths and methods are not there', async (t) => {
  const api = await openTestApi(t, { ledger: ledgerOf([]) });
  await api.resources.put({ org: 'acme', kind: 'Wallet', project: '', name: 'wallet' }, object('Wallet', 'wallet', ''));
  const patch = (body: unknown, headers = {}) =>
    api.call(`${BASE}/wallet`, { method: 'PATCH', body: JSON.stringify(body), headers });
  const answer = await patch({ warnBelowUSD: '5.00' }, { 'content-type': 'application/merge-patch+json' });
  t.is(answer.status, 200);
  t.like(await json(answer), { warnBelowUSD: '5.00', balanceUSD: '-0.50', autoRecharge: { enabled: false } });
  t.is(at(await json(api.call(`${BASE}/wallet`)), 'warnBelowUSD'), '5.00');
  const unknown = await patch({ warnBelow: '5.00', mode: 'Unlimited' });
  t.is(unknown.status, 422);
  t.deepEqual(
    list(at(await json(unknown), 'details'), 'causes').map((cause) => at(cause, 'field')),
    ['warnBelow', 'mode'],
  );
  t.is((await patch({ warnBelowUSD: '5.00' }, bearer(KEYS.viewer))).status, 403);
  t.is((await patch({}, { 'content-type': 'text/plain' })).status, 415);
  t.is((await api.call(`${BASE}/wallet/entries`, { method: 'PATCH' })).status, 405);
  t.is((await api.call(`${BASE}/wallet`, { method: 'DELETE' })).headers.get('allow'), 'GET, PATCH');
});
