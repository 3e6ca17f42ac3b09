/** Random schedules of money: what so many callers of one org ask for at once, from a seed. */
import { BLOCK_TERMS } from '../../src/money/draw.js';
import type { Segment, Terms } from '../../src/money/hold.js';
import type { BudgetLimit } from '../../src/money/limits.js';
import { periodEnd } from '../../src/money/counters.js';
import { openReboundHolds } from '../../storage/ledger/rebound-holds.js';
import type { ModelUse, MoneyOperation } from '../../src/money/operation.js';
import type { Payer } from '../../src/money/payer.js';
import { USD } from '../../src/money/usd.js';
import { address, insert, remove, update } from './fixtures.js';
import type { Arena } from './money-arena.js';

export interface Random {
  /** Below `most`, whole. */
  below(most: number): number;
  chance(share: number): boolean;
  of<T>(all: readonly T[]): T;
}

/** mulberry32 */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 15), z | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return ((z ^ (z >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    below: (most) => Math.floor(next() * most),
    chance: (share) => next() < share,
    of<T>(all: readonly T[]): T {
      const found = all[Math.floor(next() * all.length)];
      if (found === undefined) throw new Error('nothing to choose from');
      return found;
    },
  };
}

const SEGMENTS: readonly Segment[] = ['Boot', 'Running', 'Restore', 'Teardown'];
const RATES = ['0', '1', '0.333333333', '12.000000007', '60'];
const BUDGETS: readonly Omit<BudgetLimit, 'limitUSD'>[] = [
  { uid: 'b-1', name: 'all', action: 'Block', period: 'Monthly', thresholds: [50] },
  { uid: 'b-2', name: 'team', action: 'Block', period: 'Total', selector: 'team=x', thresholds: [100] },
  { uid: 'b-3', name: 'seen', action: 'Notify', period: 'Monthly', thresholds: [] },
  { uid: 'b-4', name: 'project', action: 'Block', period: 'Monthly', project: 'q', thresholds: [] },
];

interface Work {
  version: number | undefined;
  uid: string;
}

export interface Schedule {
  readonly org: string;
  readonly seed: number;
  readonly operations: number;
}

const BLOCKS = ['block/1/free-a/1', 'block/1/free-c/1'];
const HOUR = 3_600_000;
/** At most so many operations are asked for in a schedule, and so many callers ask. */
export const MOST_OPERATIONS = 50;
export const MOST_CALLERS = 64;

/** Resolves when all its callers have their answers. */
export async function runSchedule({ org, seed, operations }: Schedule, arena: Arena): Promise<void> {
  const random = randomOf(seed);
  const works = new Map<string, Work>();
  const drawn = new Map<string, number>();
  let made = 0;

  const amount = (most: number): string =>
    new USD(BigInt(random.below(Math.round(most * 1e6))) * 1000n + BigInt(random.below(1000))).toFixed();
  const key = (): string => random.of(['j', 'k', 'l']);
  const anyKey = (): string => {
    const uids = [...works.values()].flatMap(({ uid }) => [uid, `${uid}/first`]);
    if (random.chance(0.15)) return random.of(BLOCKS);
    return uids.length > 0 && random.chance(0.5) ? random.of(uids) : key();
  };
  const owner = (uid: string) => ({ uid, kind: 'Job', project: 'default', name: uid.replace(/^uid-/, '') });
  const terms = (): Terms => ({
    rateUSDPerHour: random.of(RATES),
    incrementMs: random.of([1, 1_000, 60_000]),
    minimumUSD: random.of(['0', '0', '0.01', '2.5']),
    unitMs: 60_000,
    reserveMs: random.of([0, 60_000]),
  });
  const payer = (uid: string): Payer => ({
    project: random.of(['p', 'q']),
    labels: random.of<Record<string, string>>([{}, { team: 'x' }, { team: 'y' }]),
    costs: random.of([[owner(uid)], [owner(uid), owner('b')], [owner(uid), owner('c'), owner('b')]]),
  });
  const place = (of: string, uid: string, replaces?: string): MoneyOperation => ({
    ...{ op: 'Place', key: of, owner: owner(uid), terms: terms(), replaces },
    payer: payer(uid),
  });
  const bill = (of: string): MoneyOperation => ({
    ...{ op: 'Bill', key: of, segment: random.of(SEGMENTS), from: arena.now() + random.below(95_000) - 90_000 },
    rateUSDPerHour: random.chance(0.2) ? random.of(RATES) : undefined,
  });

  const placeBlock = (): MoneyOperation => {
    const of = random.of(BLOCKS);
    const uid = of.split('/')[2] ?? '';
    return { op: 'Place', key: of, owner: owner(uid), payer: payer(uid), terms: BLOCK_TERMS, amountUSD: amount(2) };
  };
  const use = (uid: string): ModelUse => ({
    ...{ uid, requests: 1 + random.below(9), errors: random.below(2) },
    ...{ inputTokens: random.below(1_000), outputTokens: random.below(1_000) },
  });
  /** The numbers of a hold's draws begin anew with it, so some are wrong. */
  function draws(): MoneyOperation[] {
    const of = random.chance(0.95) ? random.of(BLOCKS) : key();
    const next = (drawn.get(of) ?? 0) + 1;
    const number = random.chance(0.85) ? next : 1 + random.below(3);
    const counted = random.chance(0.7) ? use(of.split('/')[2] ?? of) : undefined;
    const drawing = (draw: number): MoneyOperation => ({
      ...{ op: 'Draw', key: of, draw, usedUSD: amount(random.of([0.3, 1, 3])), holdUSD: amount(2), use: counted },
    });
    return random.chance(0.3) ? [drawing(number), drawing(number + 1)] : [drawing(number)];
  }

  async function operation(): Promise<MoneyOperation> {
    const dice = random.below(100);
    if (dice < 17) return place(key(), `free-${random.of(['a', 'c'])}`);
    if (dice < 22) return placeBlock();
    if (dice < 38) return bill(anyKey());
    if (dice < 60) return { op: 'Renew', key: anyKey() };
    if (dice < 68)
      return {
        ...{ op: 'Release', key: key(), until: arena.now() - random.below(90_000) },
        covered: random.of<Segment[]>([[], [], ['Boot'], ['Running', 'Teardown']]),
      };
    if (dice < 76) return { op: 'SetBudget', budget: { ...random.of(BUDGETS), limitUSD: amount(8) } };
    if (dice < 79) return { op: 'DropBudget', uid: random.of(BUDGETS).uid };
    if (dice < 84)
      return {
        op: 'SetCap',
        uid: random.of(['free-a', 'b', 'c']),
        limitUSD: random.chance(0.3) ? undefined : amount(5),
      };
    if (dice < 86) return { op: 'SetMode', mode: random.of(['Prepaid', 'Prepaid', 'Unlimited']) };
    if (dice < 93) {
      const grant = random.of(['g', 'h', 'i', 'o', 'r']);
      const expires = random.chance(0.5) ? undefined : arena.now() + random.below(600_000) - 1_000;
      return { op: 'Credit', grant, amountUSD: amount(9), once: `topup/${grant}/${random.below(2)}`, expires };
    }
    if (dice < 94) return { op: 'Expire' };
    if (dice < 95) return { op: 'Count', use: use(`free-${random.of(['a', 'c'])}`) };
    if (dice < 97) {
      const grant = random.of(['g', 'h', 'never']);
      return { op: 'Clawback', grant, amountUSD: amount(3), once: `refund/${random.below(6)}` };
    }
    if (dice < 98) return { op: 'SetDisputed', disputed: random.chance(0.3) };
    const [posting = 'none'] = await uses();
    const less = random.chance(0.5) ? '-' : '';
    return { op: 'Correct', posting, amountUSD: `${less}${amount(1)}`, once: `${random.below(8)}` };
  }

  async function uses(): Promise<readonly string[]> {
    const statement = {
      name: 'uses',
      text: `SELECT key FROM postings WHERE org = $1 AND reason = 'Use' ORDER BY position`,
    };
    const keys = (await arena.postgres.readRows<[string]>(statement, [org])).map(([one]) => one);
    return keys.length === 0 ? [] : [random.of(keys)];
  }

  async function object(): Promise<void> {
    const name = `${org}-w-${random.below(3)}`;
    const of = address(name, { org });
    const work = works.get(name);
    if (work === undefined || (work.version === undefined && random.chance(0.5))) {
      // The same name may be made twice at once; only one of them is.
      const uid = `uid-${name}`;
      made += 1;
      const cap: MoneyOperation[] = random.chance(0.4) ? [{ op: 'SetCap', uid, limitUSD: amount(4) }] : [];
      const money = [...cap, place(`${uid}/first`, uid)];
      works.set(name, { version: undefined, uid });
      const result = await arena.commit(insert(name, { address: of, uid, money }));
      if (result.outcome === 'Committed') works.set(name, { version: result.version, uid });
      return;
    }
    const { uid, version = 1 } = work;
    const expected = random.chance(0.1) ? version - 1 : version;
    if (random.chance(0.6)) {
      const money = [place(uid, uid, `${uid}/first`), ...(random.chance(0.7) ? [bill(uid)] : [])];
      const result = await arena.commit(update(name, expected, { address: of, uid, money }));
      if (result.outcome === 'Committed') works.set(name, { version: result.version, uid });
      return;
    }
    const money: MoneyOperation[] = random.chance(0.5) ? [{ op: 'Release', key: uid }] : [];
    const result = await arena.commit(remove(name, expected, { address: of, uid, money }));
    if (result.outcome === 'Committed') works.delete(name);
  }

  const findRebound = openReboundHolds(arena.postgres);
  /** As the process that holds the lease does, for all orgs. */
  async function rebind(): Promise<void> {
    const { due, done } = await findRebound(20);
    for (const [of, holds] of due) {
      const renewals = holds.map(({ key: held }): MoneyOperation => ({ op: 'Renew', key: held }));
      if ((await arena.ledger(of, renewals)).outcome !== 'Committed') return;
    }
    await done();
  }

  /** As the process does that serves requests: it goes by the answers. */
  async function drawOn(): Promise<void> {
    const group = draws();
    const answer = await arena.ledger(org, random.chance(0.3) ? [placeBlock(), ...group] : group);
    if (answer.outcome !== 'Committed') return;
    for (const [i, result] of answer.results.slice(-group.length).entries()) {
      const one = group[i];
      if (one?.op !== 'Draw' || result.outcome === 'Refused') continue;
      if (result.outcome === 'Applied') drawn.set(one.key, one.draw);
      else if (result.outcome === 'Nothing') drawn.set(one.key, result.why === 'Gone' ? 0 : random.below(3));
    }
  }

  async function step(): Promise<void> {
    const dice = random.below(125);
    if (dice >= 110) return drawOn();
    if (dice >= 100) return rebind();
    if (dice < 26) return object();
    if (dice < 38) return arena.move(random.below(90_000));
    if (dice === 38) return arena.move(random.of([2 * HOUR, 33 * 24 * HOUR]));
    // Shortly before a month ends.
    if (dice === 39) return arena.move(Math.max(0, periodEnd(arena.now()) - arena.now() - random.below(120_000)));
    const group: MoneyOperation[] = [];
    for (let left = 1 + random.below(3); left > 0; left--) group.push(await operation());
    await arena.ledger(org, group);
  }

  const first: MoneyOperation[] = [
    { op: 'SetMode', mode: random.of(['Prepaid', 'Unlimited']) },
    { op: 'Credit', grant: 'first', amountUSD: amount(20) },
    { op: 'SetBudget', budget: { ...random.of(BUDGETS), limitUSD: amount(8) } },
  ];
  await arena.ledger(org, first);
  const callers = random.of([1, 2, 4, 8, 16, 32, MOST_CALLERS]);
  let left = operations;
  const caller = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await step();
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
}
