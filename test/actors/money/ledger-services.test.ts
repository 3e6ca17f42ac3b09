/** What keeps money going beside the objects' own commits, over a real Postgres: renewals, figures in statuses, notices to Budgets. */
import test, { type ExecutionContext } from 'ava';
import { decodeObject } from '../../../src/api/encode.js';
import type { Address } from '../../../src/api/address.js';
import { creditGrantKind } from '../../../src/kinds/creditgrant/index.js';
import type { Cost } from '../../../src/kinds/shapes/status.js';
import type { Terms } from '../../../src/money/hold.js';
import type { MoneyOperation } from '../../../src/money/operation.js';
import { openTestDatabase } from '../../support/postgres.js';
import { openRuntime, ORG, until, type RuntimeFixture } from '../runtime-fixture.js';
import { toldKind } from '../toy-kinds.js';

const KINDS = [toldKind('Worker'), toldKind('Budget'), creditGrantKind];
/** A cent a second, in units of a second. */
const TERMS: Terms = { rateUSDPerHour: '36', incrementMs: 1, minimumUSD: '0', unitMs: 1_000, reserveMs: 1_000 };

interface Seen {
  readonly uid: string;
  readonly cost?: Cost | undefined;
  readonly messages?: readonly string[] | undefined;
  readonly phase?: string | undefined;
  readonly remainingUSD?: string | undefined;
}

const at = (kind: string, name: string): Address => ({
  ...{ org: ORG, kind, name },
  project: kind === 'Worker' ? 'default' : '',
});

async function seen(runtime: RuntimeFixture, kind: string, name: string): Promise<Seen> {
  const body = await runtime.actors.resources.read(at(kind, name), AbortSignal.timeout(20_000));
  if (body === undefined) throw new Error(`${name} is not there`);
  const { metadata, status } = decodeObject<unknown, Omit<Seen, 'uid'>>(body);
  return { ...status, uid: metadata.uid };
}

async function make(runtime: RuntimeFixture, kind: string, name: string, spec: object = {}): Promise<string> {
  await runtime.write(at(kind, name), { verb: 'create', body: { metadata: { name }, spec } });
  return (await seen(runtime, kind, name)).uid;
}

const end = (runtime: RuntimeFixture, name: string) =>
  runtime.write(at('Worker', name), { verb: 'patch', patch: { type: 'merge', patch: { spec: { done: true } } } });

const owner = (name: string, uid: string) => ({ uid, kind: 'Worker', project: 'default', name });

/** Places for the first of these and begins to bill; it costs for all of them. */
function begin(owners: readonly ReturnType<typeof owner>[], terms = TERMS): MoneyOperation[] {
  const [holder] = owners;
  if (holder === undefined) throw new Error('nobody holds');
  const payer = { project: 'default', labels: {}, costs: owners };
  return [
    { op: 'Place', key: holder.uid, owner: holder, payer, terms },
    { op: 'Bill', key: holder.uid, segment: 'Running', from: Number.MAX_SAFE_INTEGER },
  ];
}

async function countOf(runtime: RuntimeFixture, what: string): Promise<number> {
  const [row] = await runtime.store.postgres.readRows<[number]>({ name: what, text: `SELECT count(*) FROM ${what}` });
  return row?.[0] ?? 0;
}

const open = async (t: ExecutionContext, url: string): Promise<RuntimeFixture> => {
  const runtime = await openRuntime(url, { kinds: KINDS });
  t.teardown(() => runtime.drop());
  return runtime;
};

test('a status shows what its object costs with everything that it controls, and that it is final when it has ended and nothing is held', async (t) => {
  const runtime = await open(t, (await openTestDatabase(t)).url);
  const parent = owner('parent', await make(runtime, 'Worker', 'parent', { maxCostUSD: '5' }));
  const child = owner('child', await make(runtime, 'Worker', 'child'));
  const early = owner('early', await make(runtime, 'Worker', 'early'));
  const gone = owner('gone', 'uid-of-none');
  await runtime.ledger(
    ...begin([child, parent], { ...TERMS, minimumUSD: '0.25' }),
    ...begin([early]),
    ...begin([gone]),
  );
  const costOf = async (name: string): Promise<Cost> => (await seen(runtime, 'Worker', name)).cost ?? {};
  await until(async () => (await costOf('parent')).rateUSDPerHour !== undefined, 'the parent shows a rate');
  t.like(await costOf('parent'), { rateUSDPerHour: '36.00', limitUSD: '5.00', final: false });
  t.truthy((await costOf('parent')).fundedUntilTime);

  await runtime.ledger({ op: 'Release', key: early.uid }, { op: 'Release', key: gone.uid });
  await until(async () => (await costOf('early')).heldUSD === '0.00', 'an end is shown');
  t.is((await costOf('early')).final, false, 'it goes on, and may cost more');

  await end(runtime, 'child');
  await end(runtime, 'early');
  await until(async () => (await costOf('early')).final === true, 'what ended after its last charge is final');
  t.not((await costOf('child')).final, true, 'something is held for it');
  await runtime.ledger({ op: 'Release', key: child.uid });
  await until(async () => (await costOf('child')).final === true, 'the last charge is final');
  const last = await costOf('child');
  t.deepEqual(last, { ...last, heldUSD: '0.00', totalUSD: '0.25', final: true, bySegment: last.bySegment ?? {} });
  t.is(last.rateUSDPerHour, undefined);
  t.is(last.fundedUntilTime, undefined);
  await until(async () => (await costOf('parent')).heldUSD === '0.00', 'the parent shows it');
  t.like(await costOf('parent'), { totalUSD: '0.25', final: false });
  await until(
    async () => (await countOf(runtime, `counters WHERE revision <> shown AND counter <> 'wallet'`)) === 0,
    'everything is shown, and what is of no object too',
  );
  t.deepEqual((await seen(runtime, 'Worker', 'child')).messages, undefined, 'no machine has seen the figures');
});

test('a hold whose renewal is refused tells its owner until when there is money, again after a restart, and when there is some again; its Budget hears of what is spent, and of each threshold', async (t) => {
  const url = (await openTestDatabase(t)).url;
  let runtime = await openRuntime(url, { kinds: KINDS });
  t.teardown(() => runtime.drop());
  const budget = await make(runtime, 'Budget', 'b');
  const worker = owner('w', await make(runtime, 'Worker', 'w'));
  const limit = (limitUSD: string): MoneyOperation => ({
    op: 'SetBudget',
    budget: { uid: budget, name: 'b', limitUSD, action: 'Block', period: 'Total', thresholds: [1, 50] },
  });
  const heard = async (kind: string, name: string, type: string): Promise<Record<string, unknown>[]> =>
    ((await seen(runtime, kind, name)).messages ?? [])
      .map((text) => JSON.parse(text) as Record<string, unknown>)
      .filter((message) => message['type'] === type);
  /** A refused hold is tried again some seconds later: not waited for here. */
  const renewNow = (): Promise<number> =>
    runtime.store.postgres.write({ name: 'due', text: 'UPDATE holds SET renew_at = 0' });

  const ended = owner('ended', await make(runtime, 'Worker', 'ended'));
  await runtime.ledger(...begin([ended]));
  await runtime.ledger({ op: 'Release', key: ended.uid });
  await until(
    async () => (await seen(runtime, 'Worker', 'ended')).cost?.heldUSD === '0.00',
    'its last charge is shown',
  );

  await runtime.ledger(limit('0.02'), ...begin([worker]));
  await until(async () => (await heard('Worker', 'w', 'FundingRefused')).length > 0, 'the refusal is told');
  const [refused] = await heard('Worker', 'w', 'FundingRefused');
  t.like(refused, { shortfall: { by: 'Budget', name: 'b', limitUSD: '0.02' } });
  t.true(Number(refused?.['until']) > 1e12);
  await until(async () => {
    await renewNow();
    return (await heard('Budget', 'b', 'ThresholdReached')).length === 2;
  }, 'both thresholds are told');
  await until(
    async () => (await heard('Budget', 'b', 'SpendChanged')).some(({ refusing }) => refusing === true),
    'the Budget hears that it refuses',
  );
  await until(async () => (await countOf(runtime, 'thresholds WHERE NOT noticed')) === 0, 'and never again');

  await end(runtime, 'ended');
  await runtime.drop();
  runtime = await openRuntime(url, { kinds: KINDS });
  await until(
    async () => (await seen(runtime, 'Worker', 'ended')).cost?.final === true,
    'a new process says that it is final, which the old one could not any more',
  );
  await renewNow();
  await until(async () => (await heard('Worker', 'w', 'FundingRefused')).length === 2, 'told again by a new process');
  t.true(Number((await heard('Worker', 'w', 'FundingRefused'))[1]?.['sequence']) > Number(refused?.['sequence']));
  t.is((await heard('Worker', 'w', 'FundingRestored')).length, 0);

  // The hold is not due for a minute: a raised limit wakes it.
  await runtime.ledger(limit('1000'));
  await until(async () => (await heard('Worker', 'w', 'FundingRestored')).length === 1, 'the money is there again');
  const [restored] = await heard('Worker', 'w', 'FundingRestored');
  await renewNow();
  await until(async () => {
    const hold = await runtime.store.postgres.readRows<[number]>({
      name: 'sequence',
      text: `SELECT (body::jsonb ->> 'sequence')::int FROM holds`,
    });
    return (hold[0]?.[0] ?? 0) > Number(restored?.['sequence']);
  }, 'it is renewed once more');
  t.is((await heard('Worker', 'w', 'FundingRefused')).length, 2);
  t.is((await heard('Worker', 'w', 'FundingRestored')).length, 1, 'each is told once');
  t.deepEqual(
    (await heard('Budget', 'b', 'ThresholdReached'))
      .map(({ threshold, period }) => `${String(threshold)} ${String(period)}`)
      .toSorted(),
    ['1 total', '50 total'],
  );
});

test('a CreditGrant shows what is left of it as use is paid from it, and that nothing is', async (t) => {
  const runtime = await open(t, (await openTestDatabase(t)).url);
  const uid = await make(runtime, 'CreditGrant', 'gift', { amountUSD: '0.20', source: 'Promo' });
  await runtime.ledger({ op: 'SetMode', mode: 'Prepaid' });
  const shown = async (remainingUSD: string, phase: string): Promise<void> => {
    await until(async () => {
      const status = await seen(runtime, 'CreditGrant', 'gift');
      return status.phase === phase && status.remainingUSD === remainingUSD;
    }, `${remainingUSD} USD are left`);
  };
  const use = (name: string, minimumUSD: string) => {
    const [held, ...rest] = begin([owner(name, name)], { ...TERMS, rateUSDPerHour: '0', minimumUSD });
    return held === undefined ? [] : [held, ...rest, { op: 'Release', key: name } as const];
  };
  await shown('0.20', 'Active');
  await runtime.ledger(...use('some', '0.05'));
  await shown('0.15', 'Active');
  await runtime.ledger(...use('all', '0.15'));
  await shown('0.00', 'Used');
  const [row] = await runtime.store.postgres.readRows<[string]>(
    { name: 'unshown', text: 'SELECT remaining_usd::text FROM grants WHERE uid = $1' },
    [uid],
  );
  t.is(Number(row?.[0]), 0);
});
