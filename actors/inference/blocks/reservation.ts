/**
 * What one request has drawn, from then to its end: what it has cost moves from what is reserved to what is unposted, never more than was
 * reserved. Until its end the cost is an estimate, which may still become less: the block tells it to the ledger, which charges it only if this
 * process ends first. One owner, one end: `settle` gives back the rest, and everything after it does nothing.
 */
import { USD, ZERO } from '../../../src/money/usd.js';
import type { BlockPayer, Reservation } from '../blocks.js';
import { noteSpend } from './slack.js';
import { NOTHING, plus, type Account, type Block, type Unposted } from './state.js';

/** What has ended is posted within (ms). */
const POST_WITHIN_MS = 50;
/** How often a block tells the ledger the estimates of requests that go on (ms). */
const PROGRESS_EVERY_MS = 5_000;
/** I10: InferenceEndpoints of one org whose requests without a charge are counted together; of further ones they are not. */
const MOST_COUNTED = 10_000;

export interface Reserving {
  now(): number;
  /** Something is to be posted by then. */
  onDue(account: Account, at: number): void;
  /** One request more or less. */
  onRunning(block: Block, more: 1 | -1): void;
}

/** Precondition: the block has the amount free. */
export function reserve(account: Account, block: Block, amountUSD: USD, hooks: Reserving): Reservation {
  block.reservedUSD = block.reservedUSD.plus(amountUSD);
  block.running += 1;
  hooks.onRunning(block, 1);
  let soFar = ZERO;
  let charged = ZERO;
  let over = false;

  function estimate(costUSD: USD): void {
    const now = USD.max(0, USD.min(costUSD, amountUSD));
    block.underWayUSD = block.underWayUSD.plus(now).minus(soFar);
    soFar = now;
  }

  function post(use: Unposted, now: number): void {
    block.reservedUSD = block.reservedUSD.minus(use.costUSD);
    noteSpend(block, use.costUSD, now);
    if (block.state === 'Gone') {
      // What was produced is charged, though its hold went with its object.
      addOwed(account, block.payer, use, now);
      hooks.onDue(account, now);
      return;
    }
    if (block.state === 'Absent') {
      // A request that could cost nothing needs no hold.
      addCount(account, block.payer.endpoint, use);
      hooks.onDue(account, now);
      return;
    }
    addUnposted(account, block, use, now);
    block.postAt = Math.min(block.postAt, now + POST_WITHIN_MS);
    hooks.onDue(account, block.postAt);
  }

  return {
    progress(costUSD) {
      if (over || block.state !== 'Standing') return;
      estimate(costUSD);
      block.postAt = Math.min(block.postAt, Math.max(hooks.now(), block.postedAt + PROGRESS_EVERY_MS));
      hooks.onDue(account, block.postAt);
    },
    settle(costUSD, { input, output }) {
      if (over) return charged;
      over = true;
      estimate(ZERO);
      charged = USD.max(0, USD.min(costUSD, amountUSD));
      const isFree = charged.isZero() && input === 0 && output === 0;
      const now = hooks.now();
      const tokens = { inputTokens: input, outputTokens: output };
      post({ requests: 1, errors: isFree ? 1 : 0, ...tokens, costUSD: charged }, now);
      block.reservedUSD = block.reservedUSD.minus(amountUSD.minus(charged));
      block.running -= 1;
      block.idleSince = now;
      hooks.onRunning(block, -1);
      hooks.onDue(account, now + POST_WITHIN_MS);
      return charged;
    },
  };
}

function addUnposted(account: Account, block: Block, use: Unposted, now: number): void {
  block.unposted = plus(block.unposted, use);
  noteUnposted(account, use, now);
}

/** I10: payers whose use is owed; of further ones it is lost. Its object is gone: no more than a few wait for the next call at a time. */
const MOST_OWED = 1_000;

/** Use that is charged without a hold of before. */
export function addOwed(account: Account, payer: BlockPayer, use: Unposted, now: number): void {
  const known = account.owed.get(payer.id);
  if (known === undefined && account.owed.size >= MOST_OWED) return;
  account.owed.set(payer.id, { payer, use: plus(known?.use ?? NOTHING, use) });
  noteUnposted(account, use, now);
}

function noteUnposted(account: Account, use: Unposted, now: number): void {
  const { costUSD, requests, since } = account.unposted;
  account.unposted = {
    ...{ costUSD: costUSD.plus(use.costUSD), requests: requests + use.requests, since: Math.min(since, now) },
  };
}

export function addCount(account: Account, endpoint: string | undefined, use: Unposted): void {
  if (endpoint === undefined || (account.counts.size >= MOST_COUNTED && !account.counts.has(endpoint))) return;
  account.counts.set(endpoint, plus(account.counts.get(endpoint) ?? NOTHING, use));
}
