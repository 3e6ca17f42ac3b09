/**
 * Measures money without HTTP: holds and settlements through the committer, on one wallet that all of them touch and five Budgets; what a first
 * hold adds to a create; what it takes to keep many running objects funded; and the audit of a large ledger. Beside them, on
 * the same Postgres, the same transfers in transactions of their own.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { encodeObject } from '../../../src/api/encode.js';
import type { MoneyOperation } from '../../../src/money/operation.js';
import type { CommitRequest } from '../../../storage/commit/request.js';
import { auditLedger } from '../../../storage/ledger/audit.js';
import { readDueHolds } from '../../../storage/ledger/due-holds.js';
import type { Figure, Part, PartContext } from '../figure.js';
import { BUDGETS, openLedgerFixture, ORG, placeOf, settleOf, type LedgerFixture } from '../ledger-fixture.js';
import { round, Sample } from '../numbers.js';
import { measureOneByOne } from '../one-by-one.js';

/** Callers of the committer at once. Each waits for its answer, as an object's actor does. */
const CALLERS = 128;
const RUNNING = 10_000;
/** As the renewals of the service go: in one member of a commit. */
const RENEWED_AT_ONCE = 100;
const RENEWALS = 5_000;
const CREATES = 400;
const LINES = 1_000_000;

export const ledger: Part = {
  name: 'ledger',
  about: `holds and settlements on one wallet with ${BUDGETS.length} Budgets; ${RUNNING} funded objects; an audit of ${LINES} lines`,
  async run(context) {
    const fixture = await openLedgerFixture();
    try {
      const figures: Figure[] = [];
      const add = (some: readonly Figure[]): void => {
        figures.push(...some);
        for (const { name, value, unit } of some) context.log(`${name}: ${value} ${unit}`);
      };
      const pairs = await pairsOf(fixture, context);
      add(pairs.figures);
      const reference = await measureOneByOne(fixture.postgres, context.seconds);
      add([
        { name: 'the same one by one', value: round(reference.pairsPerSecond), unit: 'per second' },
        { name: 'the same one by one, p99 of a transaction', value: round(reference.p99, 2), unit: 'ms' },
        { name: 'over one by one', value: round(pairs.perSecond / reference.pairsPerSecond, 2), unit: 'ratio' },
      ]);
      add(await admission(fixture));
      add(await keptFunded(fixture));
      add(await audit(fixture));
      return figures;
    } finally {
      await fixture.close();
    }
  },
};

let made = 0;
const newUid = (): string => `pair-${(made += 1)}`;

/** One pair; the time of each call to the committer. */
async function pair(fixture: LedgerFixture, took: Sample | undefined): Promise<void> {
  const uid = newUid();
  for (const operations of [[placeOf(uid)], settleOf(uid)]) {
    const begun = performance.now();
    await fixture.apply(...operations);
    took?.add(performance.now() - begun);
  }
}

async function pairsOf(
  fixture: LedgerFixture,
  { warmUpSeconds, seconds }: PartContext,
): Promise<{ readonly perSecond: number; readonly figures: readonly Figure[] }> {
  await atOnce(fixture, warmUpSeconds);
  const before = await fixture.processor();
  const full = await atOnce(fixture, seconds);
  const after = await fixture.processor();
  const perSecond = full.pairs / full.seconds;
  const half = await atRate(fixture, perSecond / 2, seconds);
  const each = (of: 'own' | 'postgres'): number => round(((after[of] - before[of]) / full.pairs) * 1e6);
  const [p50 = Number.NaN, p99 = Number.NaN] = half.quantiles(0.5, 0.99);
  return {
    perSecond,
    figures: [
      { name: 'hold and settle, pairs', value: Math.round(perSecond), unit: 'per second', atLeast: 3_000 },
      { name: 'a pair, processor time of this process', value: each('own'), unit: 'µs' },
      { name: 'a pair, that of Postgres', value: each('postgres'), unit: 'µs' },
      { name: 'a hold or settlement at half that rate, p50', value: round(p50, 2), unit: 'ms' },
      { name: 'a hold or settlement at half that rate, p99', value: round(p99, 2), unit: 'ms', atMost: 25 },
    ],
  };
}

async function atOnce(fixture: LedgerFixture, seconds: number): Promise<{ pairs: number; seconds: number }> {
  const begun = performance.now();
  const until = begun + seconds * 1_000;
  let pairs = 0;
  const caller = async (): Promise<void> => {
    for (; performance.now() < until; pairs += 1) await pair(fixture, undefined);
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return { pairs, seconds: (performance.now() - begun) / 1_000 };
}

/** Pairs begin when their time has come, whether or not those before have ended. */
async function atRate(fixture: LedgerFixture, perSecond: number, seconds: number): Promise<Sample> {
  const took = new Sample();
  const begun = performance.now();
  const running = new Set<Promise<void>>();
  for (let n = 0; n < perSecond * seconds;) {
    for (const due = ((performance.now() - begun) / 1_000) * perSecond; n < due; n += 1) {
      const one = pair(fixture, took).finally(() => running.delete(one));
      running.add(one);
    }
    await sleep(1);
  }
  await Promise.all(running);
  return took;
}

/** Creates with a first hold and without, in turns, one at a time. */
async function admission({ committer }: LedgerFixture): Promise<readonly Figure[]> {
  const [plain, paid] = [new Sample(), new Sample()];
  for (let n = 0; n < CREATES * 2; n += 1) {
    const isPaid = n % 2 === 0;
    const request = insertOf(`create-${n}`, isPaid ? [placeOf(`create-${n}`)] : []);
    const begun = performance.now();
    const { outcome } = await committer.commit(request, undefined);
    (isPaid ? paid : plain).add(performance.now() - begun);
    if (outcome !== 'Committed') throw new Error(outcome);
  }
  const [without = Number.NaN] = plain.quantiles(0.5);
  const [withHold = Number.NaN] = paid.quantiles(0.5);
  return [
    { name: 'commit of a create without a hold, p50', value: round(without, 2), unit: 'ms' },
    { name: 'what a hold adds to it, p50', value: round(withHold - without, 2), unit: 'ms', atMost: 3 },
  ];
}

/** How long after its last renewal a hold is due again, as its row says: the shortest, since some get more than two units. */
const SECONDS_APART = {
  name: 'bench apart',
  text: `
SELECT (min(renew_at - (body::json -> 'billing' ->> 'since')::bigint) / 1000)::float FROM holds
WHERE (body::json ->> 'sequence')::int > 2`,
};

/** All are billed, and money is so short that each is kept two units ahead: the most renewals that there may be. */
async function keptFunded(fixture: LedgerFixture): Promise<readonly Figure[]> {
  const uids = Array.from({ length: RUNNING }, (_, n) => `running-${n}`);
  for (let from = 0; from < RUNNING; from += RENEWED_AT_ONCE) {
    const some = uids.slice(from, from + RENEWED_AT_ONCE);
    const begin = (key: string): MoneyOperation => ({ op: 'Bill', key, segment: 'Running', from: Date.now() });
    await fixture.apply(...some.map((uid) => placeOf(uid)), ...some.map(begin));
  }
  const [all] = BUDGETS;
  if (all === undefined) throw new Error('no Budget');
  const [used] = await fixture.postgres.readRows<[number]>(
    { name: 'bench used', text: 'SELECT (spent_usd + held_usd)::float FROM counters WHERE counter LIKE $1' },
    [`budget/${all.uid}/%`],
  );
  // A minute for each costs 60 USD: half of what is free is enough for two units, and not for three.
  const free = RUNNING * 0.03;
  await fixture.apply({ op: 'SetBudget', budget: { ...all, limitUSD: ((used?.[0] ?? 0) + free).toFixed(6) } });
  const before = await fixture.processor();
  const begun = performance.now();
  let renewed = 0;
  while (renewed < RENEWALS) {
    const due = await readDueHolds(fixture.postgres, Date.now() + 3_600_000, RENEWED_AT_ONCE * 10);
    const holds = due.get(ORG) ?? [];
    for (let from = 0; from < holds.length; from += RENEWED_AT_ONCE) {
      const some = holds.slice(from, from + RENEWED_AT_ONCE);
      const renewals = some.map(({ key, sequence }): MoneyOperation => ({ op: 'Renew', key, sequence }));
      for (const result of await fixture.apply(...renewals))
        if (result.outcome === 'Applied' && result.refusal !== undefined) throw new Error(JSON.stringify(result));
      renewed += some.length;
    }
  }
  const ms = performance.now() - begun;
  const after = await fixture.processor();
  const [apart = []] = await fixture.postgres.readRows<[number]>(SECONDS_APART);
  const [secondsApart = Number.NaN] = apart;
  const each = (of: 'own' | 'postgres'): number => ((after[of] - before[of]) / renewed) * 1e6;
  const share = (µs: number): number => round((µs / 1e6) * (RUNNING / secondsApart) * 100, 2);
  return [
    { name: 'a renewal, processor time of this process', value: round(each('own')), unit: 'µs' },
    { name: 'a renewal, that of Postgres', value: round(each('postgres')), unit: 'µs' },
    { name: `renewals, at most`, value: Math.round((renewed / ms) * 1_000), unit: 'per second' },
    { name: 'from one renewal of a hold to the next', value: Math.round(secondsApart * 1_000), unit: 'ms' },
    {
      ...{ name: `${RUNNING} objects kept two units ahead, of a core`, unit: '%', atMost: 5 },
      value: share(each('own') + each('postgres')),
    },
  ];
}

/** Postings like those that were made above, until there are enough lines. */
async function audit({ postgres }: LedgerFixture): Promise<readonly Figure[]> {
  const client = await postgres.connect('bench', { statement_timeout: '300s' }, { answerWithin: 300_000 });
  try {
    const { rows } = await client.query<{ count: string }>(`SELECT count(*)::text AS count FROM lines`);
    await client.query(fillOf(Math.max(0, LINES - Number(rows[0]?.count)) / 2));
    await client.query('ANALYZE postings, lines, counters');
  } finally {
    await client.end();
  }
  const begun = performance.now();
  const findings = await auditLedger(postgres, ORG);
  const seconds = (performance.now() - begun) / 1_000;
  // What is held above is held by no object.
  const wrong = findings.filter(({ type }) => type !== 'OrphanHold');
  if (wrong.length > 0) throw new Error(`the audit finds ${JSON.stringify(wrong.slice(0, 3))}`);
  return [{ name: `an audit of ${LINES} lines`, value: round(seconds * 1_000), unit: 'ms', atMost: 5_000 }];
}

/** Beside what is there, so that it all still adds up. One transaction: a line has the time of its posting. */
function fillOf(postings: number): string {
  const counters = `ARRAY['cost/filled', 'budget/f-1/total', 'budget/f-2/total', 'budget/f-3/2020-01', 'budget/f-4/total', 'budget/f-5/total', 'filled']`;
  const spent = `${postings} * 0.000001`;
  return `
    INSERT INTO postings (org, key, reason, period, project, labels, owner, segment, counters, amount_usd, covered_usd)
    SELECT '${ORG}', 'filled-' || n, 'Use', '2020-01', 'default', '{"team":"search"}', 'filled', 'Running', ${counters}, 0.000001, 0
    FROM generate_series(1, ${postings}) AS n;
    INSERT INTO lines (org, posting, line, account, amount_usd)
    SELECT '${ORG}', 'filled-' || n, line, (ARRAY['unbilled', 'revenue'])[line + 1], (ARRAY[-0.000001, 0.000001])[line + 1]
    FROM generate_series(1, ${postings}) AS n, generate_series(0, 1) AS line;
    INSERT INTO counters (org, counter, spent_usd, held_usd, opening_usd, holders, boot_usd, running_usd, restore_usd, teardown_usd, covered, revision)
    SELECT '${ORG}', counter, ${spent}, 0, 0, 0, 0, ${spent}, 0, 0, '{}', 1 FROM unnest(${counters}) AS c(counter)`;
}

function insertOf(name: string, money: readonly MoneyOperation[]): CommitRequest {
  const object = {
    ...{ apiVersion: 'svc.dev/v1', kind: 'Job', spec: { text: 'x'.repeat(1_000) }, status: {} },
    metadata: { name, namespace: 'default', uid: name, generation: 1, creationTimestamp: '2026-01-02T03:04:05Z' },
  };
  return {
    address: { org: ORG, kind: 'Job', project: 'default', name },
    ...{ uid: name, write: { op: 'insert', body: encodeObject(object) }, private: null, active: false },
    ...{
      effects: [],
      events: [],
      timers: [],
      slots: [],
      secrets: [],
      credentials: [],
      revokeCredentials: false,
      money,
    },
  };
}
