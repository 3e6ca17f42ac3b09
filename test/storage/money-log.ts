/**
 * The log of what real commits decided about money, and its proof: everything is done again, one operation at a time, on a book that is
 * never read from Postgres and by the plain model. Each answer has to be the same, each yes and no right by the model, and what Postgres
 * holds at the end what the book holds.
 */
import { balanceOf, EMPTY_BOOK, openBook, type Book } from '../../src/money/book.js';
import { lateBudgets } from '../../src/money/late-budgets.js';
import type { MoneyOperation, OperationResult } from '../../src/money/operation.js';
import type { USD } from '../../src/money/usd.js';
import type { DecidedMoney } from '../../storage/commit/transaction.js';
import { auditLedger } from '../../storage/ledger/audit.js';
import type { Postgres } from '../../storage/postgres.js';
import { nano } from '../money/billionths.js';
import { openModel, type Model } from '../money/model.js';
import { applyAfter, foundIn, usesOf } from '../money/replay.js';
import { stateOf, storedState } from './money-state.js';

/** Members that a failure shows. */
const LAST = 12;

/** One member of a transaction. */
interface Member {
  readonly org: string;
  readonly operations: readonly MoneyOperation[];
  readonly deleted: string | undefined;
  /** Of a commit: why it was refused, or nothing. Of operations without an object: each result. */
  readonly refusal?: unknown;
  readonly results?: readonly OperationResult[] | undefined;
}

export interface Tally {
  transactions: number;
  operations: number;
  /** By operation and outcome. */
  readonly outcomes: Map<string, number>;
}

export interface MoneyLog {
  readonly note: (decided: DecidedMoney) => void;
  /** How often these operations took effect. Precondition: `settle` has resolved. */
  timesApplied(operations: readonly MoneyOperation[]): number;
  /** What they were answered last. */
  lastAnswer(operations: readonly MoneyOperation[]): Pick<Member, 'refusal' | 'results'> | undefined;
  /** Learns which transactions have committed. Precondition: nothing is under way. */
  settle(): Promise<void>;
  /** Throws what is wrong with this org. Precondition: nothing of it was forgotten. */
  prove(org: string, tally: Tally): Promise<void>;
  forget(): void;
}

export function openMoneyLog(postgres: Postgres): MoneyLog {
  let decided: (DecidedMoney & { stands?: boolean })[] = [];
  let applied = new Map<readonly MoneyOperation[], number>();
  let answers = new Map<readonly MoneyOperation[], Member>();

  return {
    note: (one) => void decided.push({ ...one }),
    timesApplied: (operations) => applied.get(operations) ?? 0,
    lastAnswer: (operations) => answers.get(operations),
    async settle() {
      const ids = decided.map(({ transaction }) => transaction);
      const fates = new Map(await postgres.readRows<[string, string]>(FATES, [ids]));
      const isOver = (id: string): boolean => fates.get(id) === 'committed' || fates.get(id) === 'aborted';
      if (!ids.every(isOver)) throw new Error('a transaction is under way still');
      decided = decided.filter((one) => {
        one.stands = fates.get(one.transaction) === 'committed';
        return one.stands || !one.writes;
      });
      applied = new Map();
      answers = new Map();
      for (const one of decided)
        for (const member of membersOf(one)) {
          answers.set(member.operations, member);
          if (one.stands && member.refusal === undefined)
            applied.set(member.operations, (applied.get(member.operations) ?? 0) + 1);
        }
    },
    forget() {
      decided = [];
    },
    async prove(org, tally) {
      const book = openBook(EMPTY_BOOK);
      const model = openModel();
      const history: string[] = [];
      try {
        for (const one of decided) {
          const members = membersOf(one).filter((member) => member.org === org);
          if (members.length === 0) continue;
          tally.transactions++;
          orderBudgets(book);
          for (const member of members) {
            history.push(JSON.stringify({ now: one.now, ...member }));
            replay(member, one.now, { book, model, tally });
            compareSums(book, model);
          }
        }
        const last = decided.findLast((one) => membersOf(one).some((member) => member.org === org));
        const [stored, expected] = [await storedState(postgres, org), stateOf(book, last?.now ?? 0)];
        for (const what of Object.keys(expected) as (keyof typeof expected)[])
          same(`what is stored of ${what}`, ...without(stored[what], expected[what]));
        same('holds that no Budget will bind', await unbound(postgres, org, book), []);
        // Holds without an object are of owners that were never made.
        const wrong = (await auditLedger(postgres, org)).filter(
          (finding) => finding.type !== 'OrphanHold' || finding.owner.uid.startsWith('uid-'),
        );
        same('the auditor', wrong, []);
      } catch (error) {
        throw new Error(
          `${org}: ${error instanceof Error ? error.message : 'failed'}\n${history.slice(-LAST).join('\n')}`,
          {
            cause: error,
          },
        );
      }
    },
  };
}

/** I7: a hold without a part on a Budget that covers it is renewed soon. */
async function unbound(postgres: Postgres, org: string, book: Book): Promise<readonly string[]> {
  const marked = new Set((await postgres.readRows<[string]>(MARKED, [org])).map(([uid]) => uid));
  const unmarked = [...book.budgets.values()].filter(({ uid }) => !marked.has(uid));
  return [...book.holds.values()].flatMap((hold) =>
    lateBudgets(hold, unmarked).map(({ uid }) => `${hold.key} without ${uid}`),
  );
}

/** Commits in the order of their versions, then operations without an object. */
function membersOf({ commits, ledgers, ledger }: DecidedMoney): readonly Member[] {
  return [
    ...commits.map<Member>((queued) => ({
      org: queued.request.address.org,
      operations: queued.request.money,
      deleted: queued.request.write.op === 'delete' ? queued.request.uid : undefined,
      refusal: ledger.refused.get(queued),
    })),
    ...ledgers.map<Member>((queued) => ({
      ...{ org: queued.org, operations: queued.operations, deleted: undefined, results: ledger.results.get(queued) },
    })),
  ];
}

interface Replayed {
  readonly book: Book;
  readonly model: Model;
  readonly tally: Tally;
}

function replay({ operations, deleted, refusal, results }: Member, now: number, to: Replayed): void {
  const { book, model } = to;
  if (results !== undefined) {
    operations.forEach((operation, i) => same(operation.op, results[i], carryOut(operation, now, to)));
    return;
  }
  const mark = book.mark();
  const takeBack = model.mark();
  for (const operation of operations) {
    const answer = carryOut(operation, now, to);
    if (answer.outcome !== 'Refused' && answer.outcome !== 'DuplicateKey') continue;
    same(`the refusal of ${operation.op}`, refusal, {
      ...answer,
      outcome: answer.outcome === 'Refused' ? 'HoldRefused' : answer.outcome,
    });
    book.undo(mark);
    takeBack();
    return;
  }
  same('a refusal', refusal, undefined);
  if (deleted === undefined) return;
  const left = [...book.holds.values()].filter(({ owner }) => owner.uid === deleted);
  for (const { key } of left) carryOut({ op: 'Release', key }, now, to);
  // Its cap goes with it.
  carryOut({ op: 'SetCap', uid: deleted, limitUSD: undefined }, now, to);
}

/** On the book and by the model. */
function carryOut(operation: MoneyOperation, now: number, { book, model, tally }: Replayed): OperationResult {
  const answer = applyAfter(book, operation, now);
  const wrong = model.apply(operation, now, answer, foundIn(book, operation));
  if (wrong !== undefined) throw new Error(`${wrong}: ${JSON.stringify(operation)} at ${now}`);
  tally.operations++;
  const refused = answer.outcome === 'Applied' && answer.refusal !== undefined ? ' without money' : '';
  const by =
    answer.outcome === 'Refused' ? ` by ${answer.by}${answer.arrearsUSD === undefined ? '' : ' in arrears'}` : '';
  const name = `${operation.op} ${answer.outcome}${by}${refused}`;
  tally.outcomes.set(name, (tally.outcomes.get(name) ?? 0) + 1);
  return answer;
}

const signed = (amount: USD): bigint => nano(amount.toFixed());

function compareSums(book: Book, model: Model): void {
  for (const name of new Set([...book.counters.keys(), ...model.counters()])) {
    const { spentUSD, heldUSD } = book.counter(name);
    same(name, [signed(spentUSD), signed(heldUSD)].join(), [model.spent(name), model.held(name)].join());
    if (heldUSD.lt(0)) throw new Error(`${name} holds less than nothing`);
  }
  const used = usesOf(book);
  for (const uid of new Set([...used.keys(), ...model.endpoints()]))
    same(`the use of ${uid}`, (used.get(uid) ?? []).join(), model.use(uid).join());
  same('the balance', String(signed(balanceOf(book))), String(model.balance()));
}

function same(what: string, found: unknown, expected: unknown): void {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${what}: ${a}\n  expected ${b}`);
}

/** As they are read, so that of two Budgets that lack the same amount the same one is named. */
function orderBudgets(book: Book): void {
  const budgets = [...book.budgets].toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const [uid] of budgets) book.setBudget(uid, undefined);
  for (const [uid, budget] of budgets) book.setBudget(uid, budget);
}

/** Only what differs. */
function without(found: readonly string[], expected: readonly string[]): [readonly string[], readonly string[]] {
  return [found.filter((line) => !expected.includes(line)), expected.filter((line) => !found.includes(line))];
}

const MARKED = {
  name: 'marked Budgets',
  text: 'SELECT uid FROM budgets WHERE org = $1 AND rebind_at IS NOT NULL',
};
const FATES = {
  name: 'fates of transactions',
  text: 'SELECT id, pg_xact_status(id::xid8) FROM (SELECT DISTINCT id FROM unnest($1::text[]) AS g(id)) g',
};
