/**
 * The book of one org as a commit has it under its lock: limits, counters, grants, holds, and what was posted since it was read. Operations change
 * it step by step; `undo` takes back everything after a mark, so a refused member leaves no trace (I7).
 */
import { parseCounter, WALLET } from './counters.js';
import type { Hold, Part, Segment } from './hold.js';
import type { StandingBudget, WalletMode } from './limits.js';
import type { ModelUse } from './operation.js';
import type { Usage } from './payer.js';
import { readUSD, sumUSD, type USD, ZERO } from './usd.js';

export interface Counter {
  readonly counter: string;
  readonly spentUSD: USD;
  readonly heldUSD: USD;
  /** Of that: what a new monthly Budget began with. */
  readonly openingUSD: USD;
  /** Holds with a part on it. */
  readonly holders: number;
  readonly segments: Readonly<Partial<Record<Segment, USD>>>;
  /** Segments of which the service paid some. */
  readonly covered: readonly Segment[];
}

export interface Grant {
  readonly uid: string;
  /** Of the CreditGrant. */
  readonly name?: string | undefined;
  readonly amountUSD: USD;
  readonly remainingUSD: USD;
  /** ms. */
  readonly expires?: number | undefined;
}

/** One line of double entry. */
export interface Line {
  /** `grants/<uid>`, `wallet`, `unbilled`, `revenue`, `funding` (where credits come from) or `expired`. */
  readonly account: string;
  readonly amountUSD: USD;
}

/** Clawback: credits that were bought, and whose payment was paid back or lost. */
export type PostingReason = 'Use' | 'Refund' | 'Correction' | 'Credit' | 'Clawback' | 'Expiry';

/** Something that was spent, given back, corrected, credited, or has expired; its lines add up to zero. */
export interface Posting {
  /** Unique within the org. */
  readonly key: string;
  readonly reason: PostingReason;
  /** Month in which it counts. */
  readonly period: string;
  readonly usage?: Usage | undefined;
  /** uid of the object. */
  readonly owner?: string | undefined;
  readonly segment?: Segment | undefined;
  readonly counters: readonly string[];
  readonly amountUSD: USD;
  readonly coveredUSD: USD;
  readonly lines: readonly Line[];
}

/** What requests through an InferenceEndpoint came to in one minute of Postgres's clock. */
export interface CountedUse extends ModelUse {
  /** Its first ms. */
  readonly minute: number;
  readonly costUSD: USD;
}

/** What one project and set of labels used in this month. */
export interface MonthUsage extends Usage {
  readonly spentUSD: USD;
}

/** Use that was posted in an earlier commit. */
export interface CorrectedPosting {
  readonly usage: Usage;
  readonly owner: string;
  readonly segment: Segment;
  readonly period: string;
  readonly counters: readonly string[];
  /** With all corrections so far. */
  readonly amountUSD: USD;
  /** From credits; else it is unbilled. */
  readonly paid: boolean;
}

/** What is read before operations are applied. Everything that the operations may touch has to be in it; what is absent is zero or not there. */
export interface BookState {
  readonly mode: WalletMode;
  /** Grows with each change of the mode. */
  readonly modeSequence: number;
  /** Balance of the account `wallet`: below zero, arrears; above it, what was given back. */
  readonly walletUSD: USD;
  /** A payment is disputed: see `SetDisputed`. */
  readonly disputed: boolean;
  readonly budgets: ReadonlyMap<string, StandingBudget>;
  /** By uid. */
  readonly caps: ReadonlyMap<string, USD>;
  readonly counters: ReadonlyMap<string, Counter>;
  readonly grants: ReadonlyMap<string, Grant>;
  readonly holds: ReadonlyMap<string, Hold>;
  /** Keys of the outside world. */
  readonly once: ReadonlySet<string>;
  /** Of this month, for Budgets that begin in it. */
  readonly monthUsage: readonly MonthUsage[];
  /** Those that may be corrected, by key. */
  readonly corrected: ReadonlyMap<string, CorrectedPosting>;
}

export const EMPTY_BOOK: BookState = {
  mode: 'Unlimited',
  modeSequence: 0,
  walletUSD: ZERO,
  disputed: false,
  budgets: new Map(),
  caps: new Map(),
  counters: new Map(),
  grants: new Map(),
  holds: new Map(),
  once: new Set(),
  monthUsage: [],
  corrected: new Map(),
};

export class UnbalancedPostingError extends Error {
  constructor(key: string, sum: USD) {
    super(`posting ${key} adds up to ${sum.toFixed()}, not to zero`);
    this.name = 'UnbalancedPostingError';
  }
}

export interface Book extends BookState {
  readonly postings: readonly Posting[];
  /** Of requests to models, since the book was read. */
  readonly uses: readonly CountedUse[];
  counter(name: string): Counter;
  setMode(mode: WalletMode): void;
  setWallet(balance: USD): void;
  setDisputed(disputed: boolean): void;
  setCorrected(key: string, posting: CorrectedPosting): void;
  setBudget(uid: string, budget: StandingBudget | undefined): void;
  setCap(uid: string, limit: USD | undefined): void;
  setCounter(counter: Counter): void;
  setGrant(grant: Grant): void;
  /** Puts the hold, or takes it away, and sets what its counters hold. */
  setHold(key: string, hold: Hold | undefined): void;
  addOnce(key: string): void;
  /** I7: throws `UnbalancedPostingError` when the lines do not add up to zero. Does not touch counters. */
  post(posting: Posting): void;
  addUse(use: CountedUse): void;
  mark(): number;
  /** Takes back everything since the mark. */
  undo(mark: number): void;
  /** Nothing of what was done so far will be taken back: forgets how, so that it does not stay in memory with what was there before. */
  keep(): void;
}

export function openBook(state: BookState): Book {
  const undoes: (() => void)[] = [];
  let { mode, modeSequence, walletUSD, disputed } = state;
  const budgets = new Map(state.budgets);
  const caps = new Map(state.caps);
  const counters = new Map(state.counters);
  const grants = new Map(state.grants);
  const holds = new Map(state.holds);
  const once = new Set(state.once);
  const corrected = new Map(state.corrected);
  const postings: Posting[] = [];
  const uses: CountedUse[] = [];

  function put<Value>(map: Map<string, Value>, key: string, value: Value | undefined): void {
    const before = map.get(key);
    undoes.push(() => (before === undefined ? map.delete(key) : map.set(key, before)));
    if (value === undefined) map.delete(key);
    else map.set(key, value);
  }

  const counter = (name: string): Counter => counters.get(name) ?? emptyCounter(name);

  function addHeld(name: string, amount: USD, holders: number): void {
    if (holders === 0 && amount.isZero()) return;
    const before = counter(name);
    put(counters, name, { ...before, heldUSD: before.heldUSD.plus(amount), holders: before.holders + holders });
  }

  /** A counter of which the hold has as much as before is not touched. */
  function exchangeParts(before: readonly Part[], after: readonly Part[]): void {
    if (before === after) return;
    const left = new Map(before.map((part) => [part.counter, part.amountUSD]));
    for (const { counter: name, amountUSD } of after) {
      const had = left.get(name);
      left.delete(name);
      if (had === undefined) addHeld(name, readUSD(amountUSD), 1);
      else if (had !== amountUSD) addHeld(name, readUSD(amountUSD).minus(readUSD(had)), 0);
    }
    for (const [name, had] of left) addHeld(name, readUSD(had).negated(), -1);
  }

  return {
    get mode() {
      return mode;
    },
    get modeSequence() {
      return modeSequence;
    },
    get walletUSD() {
      return walletUSD;
    },
    get disputed() {
      return disputed;
    },
    ...{ budgets, caps, counters, grants, holds, once, corrected, postings, uses, counter },
    monthUsage: state.monthUsage,
    setMode(next) {
      if (mode === next) return;
      const before = mode;
      undoes.push(() => {
        mode = before;
        modeSequence--;
      });
      mode = next;
      modeSequence++;
    },
    setWallet(balance) {
      const before = walletUSD;
      undoes.push(() => (walletUSD = before));
      walletUSD = balance;
    },
    setDisputed(next) {
      const before = disputed;
      undoes.push(() => (disputed = before));
      disputed = next;
    },
    setCorrected: (key, posting) => put(corrected, key, posting),
    setBudget: (uid, budget) => put(budgets, uid, budget),
    setCap: (uid, limit) => put(caps, uid, limit),
    setCounter: (next) => put(counters, next.counter, next),
    setGrant: (grant) => put(grants, grant.uid, grant),
    setHold(key, hold) {
      exchangeParts(holds.get(key)?.parts ?? [], hold?.parts ?? []);
      put(holds, key, hold);
    },
    addOnce(key) {
      if (once.has(key)) return;
      undoes.push(() => once.delete(key));
      once.add(key);
    },
    post(posting) {
      const sum = sumUSD(posting.lines.map(({ amountUSD }) => amountUSD));
      if (!sum.isZero()) throw new UnbalancedPostingError(posting.key, sum);
      undoes.push(() => postings.pop());
      postings.push(posting);
    },
    addUse(use) {
      undoes.push(() => uses.pop());
      uses.push(use);
    },
    mark: () => undoes.length,
    undo(mark) {
      while (undoes.length > mark) undoes.pop()?.();
    },
    keep() {
      undoes.length = 0;
    },
  };
}

export function emptyCounter(counter: string): Counter {
  return { counter, spentUSD: ZERO, heldUSD: ZERO, openingUSD: ZERO, holders: 0, segments: {}, covered: [] };
}

/** What can still be held on a counter; below zero when more is spent and held than its limit. Undefined: nothing limits it. */
export function availableOn(
  book: Pick<Book, 'mode' | 'budgets' | 'caps' | 'walletUSD' | 'grants' | 'counter'>,
  name: string,
): USD | undefined {
  const { spentUSD, heldUSD } = book.counter(name);
  if (name === WALLET) return book.mode === 'Prepaid' ? balanceOf(book).minus(heldUSD) : undefined;
  const limit = limitOf(book, name);
  return limit?.minus(spentUSD).minus(heldUSD);
}

/** What all grants still have and what the account `wallet` adds or owes. */
export function balanceOf({ grants, walletUSD }: Pick<Book, 'grants' | 'walletUSD'>): USD {
  return sumUSD([...grants.values()].map(({ remainingUSD }) => remainingUSD)).plus(walletUSD);
}

function limitOf({ budgets, caps }: Pick<Book, 'budgets' | 'caps'>, name: string): USD | undefined {
  const parsed = parseCounter(name);
  if (parsed.of === 'Cost') return caps.get(parsed.uid);
  if (parsed.of === 'Wallet') return undefined;
  const budget = budgets.get(parsed.uid);
  return budget?.action === 'Block' ? readUSD(budget.limitUSD) : undefined;
}
