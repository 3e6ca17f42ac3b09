/**
 * What is known of blocks in this process: of each org an account with its blocks, and of each block what it holds and who claims it.
 *
 * I7: what running requests have reserved and what is used and not posted is never more than the block holds, so a posted use is charged whole.
 * `heldUSD` is the least that it can be: while a draw is under way that may leave less, it is that less already.
 */
import type { ModelUse, HoldRefusal } from '../../../src/money/operation.js';
import { USD, ZERO } from '../../../src/money/usd.js';
import type { RefusalError } from '../../../src/api/refusal.js';
import type { BlockPayer, Reservation } from '../blocks.js';

export type Use = Omit<ModelUse, 'uid'>;

export interface Unposted extends Use {
  readonly costUSD: USD;
}

export const NOTHING: Unposted = { costUSD: ZERO, requests: 0, errors: 0, inputTokens: 0, outputTokens: 0 };

/** A request that waits for the ledger. */
export interface Waiting {
  readonly amountUSD: USD;
  /** Monotonic ms. */
  readonly since: number;
  admit(reservation: Reservation): void;
  refuse(error: RefusalError): void;
}

export interface Block {
  readonly payer: BlockPayer;
  /** Another one for each hold. */
  key: string;
  /** Absent: the ledger has no hold of it now. Gone: nothing is charged to it any more. */
  state: 'Absent' | 'Standing' | 'Gone';
  /** Number of the last draw that was carried out. */
  draws: number;
  heldUSD: USD;
  reservedUSD: USD;
  /** Of what is reserved: what requests under way have used so far, by an estimate, and what of that the ledger knows. */
  underWayUSD: USD;
  toldUnderWayUSD: USD;
  /** Requests that have reserved. */
  running: number;
  unposted: Unposted;
  /** In the order in which they came. */
  readonly waiting: Set<Waiting>;
  /** Of them, those that fit into what the last refusal left: they are asked for alone. */
  fitting: readonly Waiting[] | undefined;
  /** The last refusal of this block, and how often others have given back for it since. */
  refusal: { readonly by: HoldRefusal; readonly at: number; readonly tries: number } | undefined;
  /** Nothing is held ahead until then. */
  shortUntil: number;
  /** A limit that it counts in is passed, since it was lowered: what its requests leave is given back first, and nobody draws on it. */
  short: boolean;
  /** What it holds ahead finds no room, and is to be given back. */
  tooMuch: boolean;
  /** Counters that it has a part on, as of `seenAt`. */
  counters: readonly string[] | undefined;
  seenAt: number;
  /** When what is unposted is to be posted. */
  postAt: number;
  postedAt: number;
  /** Since when nothing of it is in use. */
  idleSince: number;
  /** Recent spend (USD a second, as of `spendAt`), and the last amount that was drawn: for what is held ahead. */
  spendPerSecond: number;
  spendAt: number;
  lastAmountUSD: USD;
}

export function newBlock(payer: BlockPayer, key: string, now: number): Block {
  return {
    ...{ payer, key, state: 'Absent', draws: 0, heldUSD: ZERO, reservedUSD: ZERO, running: 0, unposted: NOTHING },
    ...{ underWayUSD: ZERO, toldUnderWayUSD: ZERO },
    ...{
      waiting: new Set(),
      fitting: undefined,
      refusal: undefined,
      shortUntil: 0,
      short: false,
      tooMuch: false,
      counters: undefined,
      seenAt: now,
    },
    ...{ postAt: Infinity, postedAt: now, idleSince: now, spendPerSecond: 0, spendAt: now, lastAmountUSD: ZERO },
  };
}

/** What nobody claims. */
export function freeOf({ heldUSD, reservedUSD, unposted }: Block): USD {
  return heldUSD.minus(reservedUSD).minus(unposted.costUSD);
}

/** The ledger is to hear something of it. */
export function hasNews({ unposted, underWayUSD, toldUnderWayUSD }: Block): boolean {
  return !isNothing(unposted) || !underWayUSD.eq(toldUnderWayUSD);
}

export function isNothing({ costUSD, requests, inputTokens, outputTokens }: Unposted): boolean {
  return costUSD.isZero() && requests === 0 && inputTokens === 0 && outputTokens === 0;
}

export function plus(a: Unposted, b: Unposted): Unposted {
  return {
    costUSD: a.costUSD.plus(b.costUSD),
    requests: a.requests + b.requests,
    errors: a.errors + b.errors,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
  };
}

export interface Account {
  readonly org: string;
  /** By the payer's id. */
  readonly blocks: Map<string, Block>;
  /** Use of payers whose hold was released with its object before it was posted, by the payer's id. */
  readonly owed: Map<string, { readonly payer: BlockPayer; readonly use: Unposted }>;
  /** Use that no block is charged for, by InferenceEndpoint. */
  readonly counts: Map<string, Unposted>;
  /** Monotonic ms: when they were posted last. */
  countedAt: number;
  /** All that is not known to be posted, under way included. */
  unposted: { costUSD: USD; requests: number; since: number };
  waiting: number;
  /** Of blocks that nobody uses any more. */
  readonly releases: Set<string>;
  /** Monotonic ms: when InferenceEndpoints without money were asked about last. */
  probedAt: number;
  /** Something was refused: blocks of which it is not known where they count hold nothing ahead until then. */
  shortUntil: number;
  /** InferenceEndpoints of which it was told that money refuses their requests, by the payer's id; the one that was looked at longest ago first. */
  readonly unfunded: Map<string, Unfunded>;
}

export interface Unfunded {
  readonly payer: BlockPayer;
  /** The one that refused; absent: it is not known, since another process was told. */
  readonly counter: string | undefined;
  /** What the last refused request may have cost (USD). */
  readonly amountUSD: USD;
  /** Monotonic ms: of that request, and when it was asked last whether there is money again. */
  readonly at: number;
  readonly askedAt: number;
}

export function newAccount(org: string): Account {
  return {
    ...{ org, blocks: new Map(), owed: new Map(), counts: new Map(), countedAt: 0, waiting: 0, releases: new Set() },
    ...{ unposted: { costUSD: ZERO, requests: 0, since: Infinity }, shortUntil: 0, unfunded: new Map() },
    probedAt: -Infinity,
  };
}
