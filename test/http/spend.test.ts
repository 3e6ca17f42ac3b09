/** Spending, the runway and FOCUS over HTTP: which requests are good, which are refused, and what the answers say. */
import test from 'ava';
import type { HttpDeps } from '../../http/deps.js';
import { runwayOf } from '../../http/routes/runway.js';
import { USD } from '../../src/money/usd.js';
import type { LedgerEntry } from '../../storage/ledger/entries.js';
import type { SpendQuery, SpendRow } from '../../storage/ledger/spend.js';
import { at, json, list } from './support/json.js';
import { BASE, bearer, KEYS, NO_MONTHS, openTestApi } from './support/test-api.js';

const NOW = Date.parse('2026-11-27T12:00:00Z');
const row = (day: string, project: string, label: string, amount: string): SpendRow => ({
  ...{ day, project, label, amountUSD: new USD(amount), coveredUSD: new USD('0.1') },
});

interface Fake {
  readonly rows?: readonly SpendRow[];
  readonly entries?: readonly LedgerEntry[];
  readonly wallet?: { readonly mode: 'Unlimited' | 'Prepaid'; readonly balance: string; readonly held: string };
  readonly rate?: readonly [perHour: string, lastDay: string, lastWeek: string];
  readonly asked?: (SpendQuery & { readonly org: string })[];
}

function ledgerOf({ rows = [], entries = [], wallet, rate = ['0', '0', '0'], asked = [] }: Fake): HttpDeps['ledger'] {
  const [perHour, lastDay, lastWeek] = rate;
  return {
    wallet: async () => ({
      mode: wallet?.mode ?? 'Prepaid',
      ...{ balanceUSD: new USD(wallet?.balance ?? 0), heldUSD: new USD(wallet?.held ?? 0) },
    }),
    entries: async (_org, after, limit) => entries.filter(({ position }) => position > after).slice(0, limit),
    months: {
      ...NO_MONTHS,
      list: async () => [
        { month: '2026-08', state: 'Detached' },
        { month: '2026-09', state: 'Closed' },
        { month: '2026-10', state: 'Detached' },
        { month: '2026-11', state: 'Open' },
      ],
    },
    spend: {
      async rows(org, query, most) {
        asked.push({ org, ...query });
        return rows.slice(0, most);
      },
      rate: async () => ({
        perHourUSD: new USD(perHour),
        lastDayUSD: new USD(lastDay),
        lastWeekUSD: new USD(lastWeek),
      }),
    },
  };
}

const clock = (): number => NOW;

test('spending has its times and groups from the request, of this month without them, and its rows add up to the total', async (t) => {
  const asked: (SpendQuery & { readonly org: string })[] = [];
  const rows = [row('2026-11-01', 'a', 'x', '1.5'), row('2026-11-02', '', '', '-0.25')];
  const api = await openTestApi(t, { clock, ledger: ledgerOf({ rows, asked }) });
  t.deepEqual(await json(api.call(`${BASE}/wallet/spend`)), {
    ...{ from: '2026-11-01T00:00:00.000Z', to: '2026-11-27T12:00:00.000Z', by: ['day'] },
    items: [
      { day: '2026-11-01', amountUSD: '1.50', coveredUSD: '0.10' },
      { day: '2026-11-02', amountUSD: '-0.25', coveredUSD: '0.10' },
    ],
    ...{ total: { amountUSD: '1.25', coveredUSD: '0.20' }, missingMonths: [] },
  });
  const all = await json(
    api.call(`${BASE}/wallet/spend?from=2026-08-31&to=2026-11-01T00:00:00Z&by=project,label:x.org/team`),
  );
  t.deepEqual(at(all, 'missingMonths'), ['2026-08', '2026-10'], 'and November is not in it');
  t.deepEqual(list(all, 'items')[0], { project: 'a', label: 'x', amountUSD: '1.50', coveredUSD: '0.10' });
  t.deepEqual(asked[1], {
    ...{ org: 'acme', from: Date.parse('2026-08-31T00:00:00Z'), to: Date.parse('2026-11-01T00:00:00Z') },
    ...{ by: ['project', 'label:x.org/team'], day: false, project: true, label: 'x.org/team' },
  } as object as (typeof asked)[0]);
  await api.call(`${BASE}/wallet/spend`, { headers: bearer(KEYS.other) });
  t.is(asked[2]?.org, 'globex', 'each sees its own');
});

test('what cannot be summed up is refused with what to change', async (t) => {
  const many = Array.from({ length: 10_001 }, (_, i) => row('2026-11-01', `p${i}`, '', '1'));
  const api = await openTestApi(t, { clock, ledger: ledgerOf({ rows: many }) });
  const over = await api.call(`${BASE}/wallet/spend?by=day,project`);
  t.is(over.status, 422);
  t.regex(String(at(await json(over), 'fix')), /shorter time by from and to, or for fewer words in by/);
  for (const bad of [
    ...['by=week', 'by=day,day', 'by=label:a,label:b', 'by=label:', 'by=label:a b', 'from=yesterday', 'to=2026-13-01'],
    ...['from=2026-11-02&to=2026-11-01', 'from=2025-10-01&to=2026-11-27', 'format=xml', 'what=1', 'from=2026-02-30'],
  ])
    t.is((await api.call(`${BASE}/wallet/spend?${bad}`)).status, 400, bad);
  const fits = await openTestApi(t, { clock, ledger: ledgerOf({ rows: many.slice(1) }) });
  t.is(list(await json(fits.call(`${BASE}/wallet/spend?from=2025-10-24&to=2026-11-27`)), 'items').length, 10_000);
  t.is((await api.call(`${BASE}/wallet/spend`, { method: 'POST', body: '{}' })).status, 405);
  t.is((await api.call(`${BASE}/wallet/spend/more`)).status, 404);
  t.is((await api.call(`${BASE}/wallet/spend`, { headers: bearer(KEYS.viewer) })).status, 403, 'held to one project');
  t.is((await api.call(`${BASE}/wallet/runway`, { headers: bearer(KEYS.viewer) })).status, 403);
});

test('spending comes as CSV, in which no cell is a formula', async (t) => {
  const rows = [
    row('2026-11-01', 'a', '=1+1', '1'),
    row('2026-11-01', 'a', '@x', '-1'),
    row('2026-11-01', 'a', '-5', '1'),
    row('2026-11-01', 'a', '+a,"b"', '1'),
  ];
  const api = await openTestApi(t, { clock, ledger: ledgerOf({ rows }) });
  const answer = await api.call(`${BASE}/wallet/spend?by=day,project,label:team&from=2026-10-30&format=csv`);
  t.is(answer.headers.get('content-type'), 'text/csv; charset=utf-8');
  t.regex(answer.headers.get('warning') ?? '', /2026-10 are not kept here any more/);
  t.deepEqual((await answer.text()).split('\r\n'), [
    'day,project,label:team,amountUSD,coveredUSD',
    `2026-11-01,a,'=1+1,1.00,0.10`,
    `2026-11-01,a,'@x,-1.00,0.10`,
    '2026-11-01,a,-5,1.00,0.10',
    `2026-11-01,a,"'+a,""b""",1.00,0.10`,
    '',
  ]);
  const accepted = await api.call(`${BASE}/wallet/spend`, { headers: { ...bearer(KEYS.owner), accept: 'text/csv' } });
  t.is(accepted.headers.get('content-type'), 'text/csv; charset=utf-8');
});

test('the runway is that of what is available, at the faster of the rates of now and of the last day', async (t) => {
  const wallet = { mode: 'Prepaid', balance: '10', held: '4' } as const;
  const api = await openTestApi(t, { clock, ledger: ledgerOf({ wallet, rate: ['0.01', '2', '5'] }) });
  t.deepEqual(await json(api.call(`${BASE}/wallet/runway`)), {
    ...{ mode: 'Prepaid', availableUSD: '6.00', heldUSD: '4.00', rateUSDPerHour: '0.01' },
    ...{ spentLast24hUSD: '2.00', spentLast7dUSD: '5.00', emptyTime: '2026-11-30T12:00:00Z' },
    message: 'empty in 3 days at the rate of the last 24 hours',
  });
  t.is((await api.call(`${BASE}/wallet/runway`, { method: 'DELETE' })).status, 405);
  const of = (mode: 'Unlimited' | 'Prepaid', available: string, perHour: string, lastDay: string): unknown =>
    runwayOf(mode, new USD(available), { perHourUSD: new USD(perHour), lastDayUSD: new USD(lastDay) }, NOW);
  t.deepEqual(of('Prepaid', '6', '1', '2'), {
    emptyTime: '2026-11-27T18:00:00Z',
    message: 'empty in 6 hours at the rate of what bills now',
  });
  t.deepEqual(of('Unlimited', '6', '1', '2'), {
    message: 'the wallet limits nothing: it is Unlimited, and only Budgets bind',
  });
  t.deepEqual(of('Prepaid', '6', '0', '-1'), {
    message: 'not emptied: nothing bills now, and nothing was spent in the last 24 hours',
  });
  t.deepEqual(of('Prepaid', '1000', '0', '0.000000001'), {
    message: 'lasts for more than a year at the rate of the last 24 hours',
  });
  t.deepEqual(of('Prepaid', '0', '1', '1'), {
    emptyTime: '2026-11-27T12:00:00Z',
    message: 'empty: nothing is available for new work until credits are added',
  });
});

test('entries come as FOCUS, a row for each, whose effective cost is what was spent and whose billed cost is what was paid for credits', async (t) => {
  const line = (account: string, amountUSD: string) => ({ account, amountUSD });
  const time = Date.parse('2026-11-27T10:00:00Z');
  const use = { reason: 'Use', project: 'default', owner: 'uid-a', segment: 'Running', period: '2026-11' } as const;
  const entries: readonly LedgerEntry[] = [
    {
      ...{ position: 1, time, key: 'credit/g', reason: 'Credit', period: '2026-11', amountUSD: '5', coveredUSD: '0' },
      ...{ grant: 'welcome', counters: [], lines: [line('funding', '-5'), line('grants/g', '5')] },
    },
    {
      ...{ ...use, position: 2, time, key: 'u', labels: { team: '=a' }, amountUSD: '0.5', coveredUSD: '0.1' },
      counters: [],
      lines: [line('grants/g', '-0.5'), line('revenue', '0.5')],
    },
    // Posted in the next month.
    {
      ...{ ...use, position: 3, time: time + 5 * 86_400_000, key: 'v', amountUSD: '0.25', coveredUSD: '0' },
      counters: [],
      lines: [line('unbilled', '-0.25'), line('revenue', '0.25')],
    },
    {
      ...{ ...use, reason: 'Correction', position: 4, time, key: 'u/c', amountUSD: '-0.5', coveredUSD: '0' },
      counters: [],
      lines: [line('wallet', '0.5'), line('revenue', '-0.5')],
    },
    {
      ...{ position: 5, time, key: 'credit/p', reason: 'Credit', period: '2026-11', amountUSD: '20', coveredUSD: '0' },
      ...{ grant: 'topup-first', counters: [], lines: [line('funding', '-20'), line('grants/p', '20')] },
    },
    {
      ...{ position: 6, time, key: 'p/r', reason: 'Clawback', period: '2026-11', amountUSD: '-7.5', coveredUSD: '0' },
      counters: [],
      lines: [line('grants/p', '-7.5'), line('funding', '7.5')],
    },
  ];
  const api = await openTestApi(t, { ledger: ledgerOf({ entries }) });
  const answer = await api.call(`${BASE}/wallet/entries?format=focus`);
  t.is(answer.headers.get('content-disposition'), 'attachment; filename="focus.csv"');
  const [header = '', ...lines] = (await answer.text()).trimEnd().split('\r\n');
  const columns = header.split(',');
  const cell = (i: number, name: string): string | undefined => lines[i]?.split(',')[columns.indexOf(name)];
  const all = (name: string): unknown => lines.map((_, i) => cell(i, name));
  t.is(columns.length, 35);
  t.deepEqual(all('x_EntryId'), ['1', '2', '3', '4', '5', '6']);
  t.deepEqual(all('x_Key'), ['credit/g', 'u', 'v', 'u/c', 'credit/p', 'p/r']);
  t.deepEqual(all('ChargeCategory'), ['Credit', 'Usage', 'Usage', 'Adjustment', 'Purchase', 'Purchase']);
  t.deepEqual(all('ChargeClass'), ['', '', '', 'Correction', '', '']);
  t.deepEqual(all('BilledCost'), ['0.00', '0.00', '0.00', '0.00', '20.00', '-7.50']);
  t.deepEqual(all('EffectiveCost'), ['0.00', '0.50', '0.25', '-0.50', '0.00', '0.00']);
  t.deepEqual(all('ListCost'), ['0.00', '0.60', '0.25', '-0.50', '0.00', '0.00']);
  t.deepEqual([cell(4, 'ResourceName'), cell(4, 'ResourceType')], ['topup-first', 'CreditGrant']);
  t.deepEqual(
    all('PricingQuantity'),
    ['', '0.60', '0.25', '', '20.00', '-7.50'],
    'FOCUS wants one of use and purchases',
  );
  t.deepEqual(all('PricingUnit'), ['', 'USD', 'USD', '', 'USD', 'USD']);
  for (const i of lines.keys()) t.is(cell(i, 'ResourceId') === '', cell(i, 'ResourceType') === '', 'both or neither');
  t.is(cell(1, 'BillingAccountId'), 'acme');
  t.is(cell(1, 'SubAccountId'), 'default');
  t.deepEqual(
    ['BillingPeriodStart', 'BillingPeriodEnd', 'ChargePeriodStart', 'ChargePeriodEnd'].map((name) => cell(1, name)),
    ['2026-11-01T00:00:00Z', '2026-12-01T00:00:00Z', '2026-11-27T00:00:00Z', '2026-11-28T00:00:00Z'],
  );
  t.deepEqual(
    [cell(2, 'ChargePeriodStart'), cell(2, 'ChargePeriodEnd')],
    ['2026-11-01T00:00:00Z', '2026-12-01T00:00:00Z'],
    'it counts in November',
  );
  t.true(lines[1]?.includes('"{""team"":""=a""}"'));
});

test('FOCUS has all entries, however many pages of the ledger they are', async (t) => {
  const entries = Array.from({ length: 2_500 }, (_, i): LedgerEntry => ({
    ...{ position: i + 1, time: NOW, key: `u/${i}`, reason: 'Use', period: '2026-11', amountUSD: '1', coveredUSD: '0' },
    counters: [],
    lines: [],
  }));
  const api = await openTestApi(t, { ledger: ledgerOf({ entries }) });
  const text = await (await api.call(`${BASE}/wallet/entries?format=focus`)).text();
  t.is(text.split('\r\n').length, 2_502);
});
