/**
 * What money has to survive, by name, through real commits on real Postgres with a clock that is moved: each decision is proved by the plain
 * model, in both wallet modes (design of money, "How to prove it").
 */
import test, { type ExecutionContext } from 'ava';
import { periodEnd } from '../../src/money/counters.js';
import type { WalletMode } from '../../src/money/limits.js';
import type { MoneyOperation, OperationResult } from '../../src/money/operation.js';
import { USD } from '../../src/money/usd.js';
import { openLedgerReads } from '../../storage/ledger/reads.js';
import { address, insert, remove, update } from './fixtures.js';
import { openArena, type Arena } from './money-arena.js';
import { budget } from './money.js';

const never = new AbortController().signal;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** A cent a minute: a first hold of 0.02. */
const TERMS = { rateUSDPerHour: '0.6', incrementMs: 1_000, minimumUSD: '0', unitMs: MINUTE, reserveMs: MINUTE };

const owner = (uid: string) => ({ uid, kind: 'Job', project: 'default', name: uid.replace('uid-', '') });
function place(key: string, costs: readonly string[] = []): MoneyOperation {
  const uids = [`uid-${key}`, ...costs];
  const payer = { project: 'default', labels: {}, costs: uids.map(owner) };
  return { op: 'Place', key, owner: owner(`uid-${key}`), payer, terms: TERMS };
}
const bill = (key: string): MoneyOperation => ({
  ...{ op: 'Bill', key, segment: 'Running', from: Number.MAX_SAFE_INTEGER },
});
const renew = (key: string): MoneyOperation => ({ op: 'Renew', key });
const credit = (grant: string, amountUSD: string, expires?: number): MoneyOperation => ({
  ...{ op: 'Credit', grant, amountUSD, expires },
});

interface Scene {
  readonly arena: Arena;
  readonly org: string;
  /** Results of operations without an object. */
  ask(...operations: MoneyOperation[]): Promise<readonly OperationResult[]>;
  /** An object that holds, and whether there was money for it. */
  work(name: string, ...more: MoneyOperation[]): Promise<string>;
  end(name: string): Promise<string>;
  spent(counter: string): Promise<string>;
  held(counter: string): Promise<string>;
}

let arena: Arena | undefined;
const closing: (() => Promise<void>)[] = [];
test.before(async () => {
  arena = await openArena({ teardown: (release) => void closing.push(release) });
});
test.after.always(async () => {
  for (const close of closing.toReversed()) await close();
});

let scenes = 0;
function sceneOf(of: Arena): Scene {
  const org = `o-${(scenes += 1)}`;
  const reads = openLedgerReads(of.postgres);
  const counter = (name: string) => reads.counter(org, name);
  return {
    ...{ arena: of, org },
    async ask(...operations) {
      const answer = await of.ledger(org, operations);
      if (answer.outcome !== 'Committed') throw new Error(JSON.stringify(answer));
      return answer.results;
    },
    async work(name, ...more) {
      const at = address(name, { org });
      const made = await of.commit(insert(name, { address: at, uid: `uid-${name}`, money: [place(name), ...more] }));
      return made.outcome;
    },
    async end(name) {
      const at = address(name, { org });
      const [row] = await of.postgres.readRows<[number]>(
        { name: 'version', text: 'SELECT version FROM objects WHERE org = $1 AND name = $2' },
        [org, name],
      );
      const gone = await of.commit(remove(name, row?.[0] ?? 0, { address: at, uid: `uid-${name}` }));
      return gone.outcome;
    },
    spent: async (name) => (await counter(name)).spentUSD.toFixed(),
    held: async (name) => (await counter(name)).heldUSD.toFixed(),
  };
}

/** In both modes, one after the other: they share the clock. Where the wallet is not what the scenario is about, it has enough. */
function scenario(
  title: string,
  play: (t: ExecutionContext, scene: Scene, mode: WalletMode) => Promise<void>,
  modes: readonly WalletMode[] = ['Unlimited', 'Prepaid'],
): void {
  for (const mode of modes)
    test.serial(`${title} (${mode})`, async (t) => {
      if (arena === undefined) throw new Error('no arena');
      const scene = sceneOf(arena);
      await scene.ask({ op: 'SetMode', mode });
      await play(t, scene, mode);
      await arena.settle();
      await arena.log.prove(scene.org, { transactions: 0, operations: 0, outcomes: new Map() });
      arena.log.forget();
    });
}

const RICH = credit('rich', '1000');

scenario(
  'a month ends while work runs, and the timer is late: each part counts in its month, and the new one is bound',
  async (t, scene) => {
    const {
      ask,
      work,
      spent,
      arena: { move, now },
    } = scene;
    await ask(RICH, budget('b', '0.05', { period: 'Monthly' }));
    await move(periodEnd(now()) - now() - 90_000);
    t.is(await work('a', bill('a'), renew('a')), 'Committed');
    const [month, next] = [
      new Date(now()).toISOString().slice(0, 7),
      new Date(periodEnd(now())).toISOString().slice(0, 7),
    ];
    await move(2 * MINUTE);
    t.is(await work('b'), 'Committed', 'the new month has nothing spent, whatever no timer has said');
    t.is(await work('c'), 'HoldRefused', 'and binds');
    await ask(renew('a'));
    t.is(Number(await spent(`budget/b/${month}`)).toFixed(3), '0.015');
    t.true(new USD(await spent(`budget/b/${next}`)).gt(0));
  },
);

scenario(
  'a renewal and the end of its work come together: whichever is first, it is charged once and nothing is held',
  async (t, scene) => {
    const {
      ask,
      work,
      end,
      spent,
      held,
      arena: { move },
    } = scene;
    await ask(RICH);
    for (let round = 0; round < 4; round++) {
      const name = `w-${round}`;
      await work(name, bill(name));
      await move(MINUTE);
      const both = [() => ask(renew(name), renew(name)), () => end(name)];
      await Promise.all((round % 2 === 0 ? both : both.toReversed()).map((one) => one()));
      t.is(Number(await spent(`cost/uid-${name}`)).toFixed(2), '0.01');
      t.is(await held(`cost/uid-${name}`), '0');
    }
    t.is(await held('wallet'), '0');
  },
);

scenario(
  "a parent's cap is met by 256 cells at once: exactly those that fit hold, and one more when one ends",
  async (t, scene) => {
    const {
      ask,
      held,
      org,
      arena: { commit },
    } = scene;
    await ask(RICH, { op: 'SetCap', uid: 'sweep', limitUSD: '1.01' });
    const cell = (i: number) =>
      commit(
        insert(`c-${i}`, {
          address: address(`c-${i}`, { org }),
          uid: `uid-c-${i}`,
          money: [place(`c-${i}`, ['sweep'])],
        }),
      );
    const cells = await Promise.all(Array.from({ length: 256 }, (_, i) => cell(i)));
    t.is(cells.filter(({ outcome }) => outcome === 'Committed').length, 50);
    for (const one of cells)
      if (one.outcome !== 'Committed') t.like(one, { outcome: 'HoldRefused', by: 'Cap', uid: 'sweep' });
    t.is(await held('cost/sweep'), '1');
    const first = cells.findIndex(({ outcome }) => outcome === 'Committed');
    await scene.end(`c-${first}`);
    t.is((await cell(999)).outcome, 'Committed');
  },
);

scenario(
  'the service is away for two hours: what was not funded is covered, and no limit is passed',
  async (t, scene) => {
    const {
      ask,
      work,
      end,
      spent,
      held,
      arena: { move },
    } = scene;
    await ask(RICH, budget('b', '0.10'));
    await work('a', bill('a'), renew('a'));
    const had = new USD(await held('budget/b/total'));
    await move(2 * HOUR);
    const [result] = await ask(renew('a'));
    t.is(await spent('budget/b/total'), had.toFixed(), 'all that it had');
    t.true(new USD(await spent('budget/b/total')).plus(await held('budget/b/total')).lte('0.10'));
    t.is(result?.outcome, 'Applied');
    await end('a');
    t.true(new USD(await spent('budget/b/total')).lte('0.10'));
  },
);

scenario(
  'a Budget is made, lowered and deleted while work runs: it counts and binds that work at once, and then no more',
  async (t, scene) => {
    const {
      ask,
      work,
      spent,
      held,
      arena: { move, now },
    } = scene;
    await ask(RICH);
    await work('a', bill('a'), renew('a'));
    const counter = `budget/b/${new Date(now()).toISOString().slice(0, 7)}`;
    await move(MINUTE);
    await ask(renew('a'), budget('b', '1', { period: 'Monthly' }));
    t.is(Number(await spent(counter)).toFixed(2), '0.01', 'what the month had used');
    await move(MINUTE);
    await ask(renew('a'));
    t.is(Number(await spent(counter)).toFixed(2), '0.02');
    t.true(new USD(await held(counter)).gt('0.1'), 'far ahead');
    await ask(budget('b', '0.02', { period: 'Monthly' }));
    t.like((await ask(renew('a')))[0], { outcome: 'Applied', funding: undefined });
    t.is(Number(await held(counter)).toFixed(2), '0.03', 'given back but for two units and the reserve');
    t.like((await ask(renew('a')))[0], { outcome: 'Applied', funding: 'Refused' });
    t.is(Number(await held(counter)).toFixed(2), '0.01', 'the reserve');
    t.is(await work('b'), 'HoldRefused');
    await ask({ op: 'DropBudget', uid: 'b' });
    t.like((await ask(renew('a')))[0], { outcome: 'Applied', funding: 'Restored' });
    t.is(await work('b'), 'Committed');
  },
);

scenario(
  'a Budget is deleted and made again under work that is paid far ahead: each counts all that the month used',
  async (t, scene) => {
    const {
      ask,
      work,
      end,
      spent,
      arena: { move, now },
    } = scene;
    await ask(RICH, budget('b-0', '5', { period: 'Monthly' }));
    if (periodEnd(now()) - now() < HOUR) await move(HOUR);
    await work('a', bill('a'), renew('a'));
    for (let i = 1; i <= 3; i++) {
      await move(10 * MINUTE);
      const again = budget(`b-${i}`, '5', { period: 'Monthly' });
      await ask({ op: 'DropBudget', uid: `b-${i - 1}` }, again, budget(`t-${i}`, '5'));
    }
    await move(10 * MINUTE);
    await end('a');
    const month = new Date(now()).toISOString().slice(0, 7);
    t.is(Number(await spent(`budget/b-3/${month}`)).toFixed(2), '0.40');
    t.is(Number(await spent('budget/t-2/total')).toFixed(2), '0.20', 'since it was made');
  },
);

scenario(
  'a grant expires while it is held: the work is paid to its end, and nothing new is',
  async (t, scene) => {
    const {
      ask,
      work,
      end,
      spent,
      arena: { move, now, postgres },
      org,
    } = scene;
    await ask(credit('g', '1', now() + MINUTE));
    await work('a', bill('a'));
    await move(MINUTE);
    t.is(await work('b'), 'HoldRefused');
    const { balanceUSD, heldUSD } = await openLedgerReads(postgres).wallet(org);
    t.is(balanceUSD.toFixed(), '1', 'a refused hold writes nothing, so what is over stands until the next operation');
    await ask({ op: 'Expire' });
    t.is((await openLedgerReads(postgres).wallet(org)).balanceUSD.toFixed(), heldUSD.toFixed());
    await end('a');
    t.is(Number(await spent('cost/uid-a')).toFixed(2), '0.01');
    t.is((await openLedgerReads(postgres).wallet(org)).balanceUSD.toFixed(), '0');
  },
  ['Prepaid'],
);

scenario(
  'the balance is below nothing: no new work but what is free, running work ends paid, and a credit pays what is owed first',
  async (t, scene) => {
    const {
      ask,
      work,
      end,
      org,
      arena: { move, postgres },
    } = scene;
    await ask(credit('g', '0.05'));
    await work('a', bill('a'));
    await move(MINUTE);
    await end('a');
    await work('b', bill('b'));
    const [use] = await openLedgerReads(postgres)
      .entries(org, 0, 10, never)
      .then((all) => all.filter(({ reason }) => reason === 'Use'));
    t.like(await ask({ op: 'Correct', posting: use?.key ?? '', amountUSD: '0.50', once: 'meter/1' }), [
      { outcome: 'Applied' },
    ]);
    const refused = await scene.arena.ledger(org, [place('c')]);
    t.like(refused, { results: [{ by: 'Wallet', availableUSD: '0.00' }] });
    t.true(JSON.stringify(refused).includes('arrearsUSD'));
    t.like((await ask(renew('b')))[0], { outcome: 'Applied', funding: 'Refused' });
    await end('b');
    await ask(credit('h', '1'));
    t.is(await work('d'), 'Committed');
    const { balanceUSD } = await openLedgerReads(postgres).wallet(org);
    t.true(balanceUSD.gt('0.5') && balanceUSD.lt('0.55'), balanceUSD.toFixed());
  },
  ['Prepaid'],
);

scenario(
  'another process takes over while blocks are held and used: they go on, and end, in the new epoch',
  async (t, scene) => {
    const {
      ask,
      work,
      end,
      spent,
      held,
      org,
      arena: { move, takeOver, commit },
    } = scene;
    await ask(RICH, budget('b', '1'));
    const names = Array.from({ length: 20 }, (_, i) => `w-${i}`);
    await Promise.all(names.map((name) => work(name, bill(name))));
    await move(MINUTE);
    // Some of these are the old process's, which may end as it likes.
    const under = names.map((name) =>
      commit(update(name, 1, { address: address(name, { org }), uid: `uid-${name}`, money: [renew(name)] })),
    );
    await takeOver();
    await Promise.all(under);
    await ask(...names.map(renew));
    await Promise.all(names.map((name) => end(name)));
    t.is(await held('budget/b/total'), '0');
    t.is(Number(await spent('budget/b/total')).toFixed(1), '0.2');
  },
);

scenario(
  'a process is killed between COMMIT and its answer: what was written stands, once, and nothing else',
  async (t, scene) => {
    const {
      ask,
      work,
      held,
      org,
      arena: { die, ledger, commit },
    } = scene;
    await ask(RICH, budget('b', '0.04'));
    const dead = die();
    const answers = await Promise.all([
      ledger(org, [{ op: 'SetCap', uid: 'x', limitUSD: '1' }]),
      commit(insert('a', { address: address('a', { org }), uid: 'uid-a', money: [place('a')] })),
    ]);
    await dead;
    t.true(
      answers.some(({ outcome }) => outcome === 'Unknown'),
      JSON.stringify(answers),
    );
    t.is(await held('budget/b/total'), '0.02', 'it was written');
    const again = insert('a', { address: address('a', { org }), uid: 'uid-again', money: [place('again')] });
    t.is((await commit(again)).outcome, 'AlreadyExists', 'the client asks again');
    t.is(await work('b'), 'Committed');
    t.is(await work('c'), 'HoldRefused');
    t.is(await held('budget/b/total'), '0.04');
  },
);
