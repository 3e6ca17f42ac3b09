/**
 * Blocks: holds that requests to models draw on in memory, so that a request with money needs no turn of the ledger as a rule, and no limit is
 * ever passed (I7).
 *
 * - One block for each payer. It holds what its running requests may cost at most, what they have used and is not posted, and about a second of
 *   recent spend. What it has free is drawn at once; else all requests that wait ask the ledger together, in the order in which they came.
 * - Nobody with money is refused: before a 402, other blocks of the org that share the refusing counter give back what they hold ahead, and
 *   the hold is tried once more. A ledger that does not answer is a 503.
 * - What ended is posted within 50 ms, what goes on every 5 s, in one call for all blocks of an org. A killed process loses what was not posted,
 *   in the client's favour; its blocks are released by the next (`dead-blocks.ts`).
 * - A block whose hold is gone went with its object: see `answers.ts`.
 *
 * I10: of each org at most MOST_WAITING requests wait; further ones are refused as Unavailable (503). With more than MOST_UNPOSTED_USD or
 * MOST_UNPOSTED_REQUESTS unposted a request waits until they are posted; it is refused as Unavailable when any use has been unposted for longer than OLDEST_UNPOSTED_MS.
 * MOST_ACCOUNTS orgs are known; those of which nothing is left are forgotten for further ones.
 */
import type { HoldRefusal } from '../../../src/money/operation.js';
import { blockKey } from '../../../src/money/draw.js';
import { sumUSD, USD } from '../../../src/money/usd.js';
import type { Committer } from '../../../storage/commit/request.js';
import { delay } from '../../wait.js';
import type { BlockPayer, Blocks, Reservation } from '../blocks.js';
import { noteFunded, noteUnfundedBefore } from './answers.js';
import { openPosting, type Posting } from './posting.js';
import { notNow } from './refusals.js';
import { addCount, reserve, type Reserving } from './reservation.js';
import { freeOf, newAccount, newBlock, NOTHING, type Account, type Block, type Use } from './state.js';

const MOST_WAITING = 10_000;
const MOST_UNPOSTED_USD = new USD(10);
const MOST_UNPOSTED_REQUESTS = 100_000;
const OLDEST_UNPOSTED_MS = 10_000;
const MOST_ACCOUNTS = 10_000;
/** What is left then is lost (ms). */
const CLOSE_WITHIN_MS = 5_000;

export interface BlockDeps {
  readonly ledger: Committer['ledger'];
  /** Monotonic ms. */
  now(): number;
  /** Of the lease: keys of blocks name it. */
  readonly epoch: number;
  /** Use that was written, and what it was charged. `endpoint`: uid of the InferenceEndpoint. */
  onPosted(org: string, endpoint: string | undefined, use: Use, costUSD: USD): void;
  /** Money has begun to refuse requests of this payer, by another counter than before, or no longer does. */
  onFunding(payer: BlockPayer, refusal: HoldRefusal | undefined): void;
  /** So many requests were refused. */
  onRefused(org: string, refusal: HoldRefusal, times: number): void;
  /** The hold was released with its object. */
  onGone(payer: BlockPayer): void;
  onProblem(message: string): void;
  /** Aborted: no request draws any more; what runs may end. */
  readonly stopping: AbortSignal;
}

interface Entry {
  readonly account: Account;
  readonly posting: Posting;
}

export function openBlocks(deps: BlockDeps): Blocks {
  const entries = new Map<string, Entry>();
  const running = new Map<string, number>();
  let keys = 0;
  let ended: string | undefined;
  let closed = false;

  const newKey = ({ id }: BlockPayer): string => blockKey(deps.epoch, id, (keys += 1));

  const reserving: Reserving = {
    now: () => deps.now(),
    onDue: (account, at) => entries.get(account.org)?.posting.by(at),
    onRunning({ payer: { endpoint } }, more) {
      if (endpoint === undefined) return;
      const count = (running.get(endpoint) ?? 0) + more;
      if (count > 0) running.set(endpoint, count);
      else running.delete(endpoint);
    },
  };

  /** Undefined: there are too many. */
  function entryOf(org: string): Entry | undefined {
    const known = entries.get(org);
    if (known !== undefined) return known;
    if (entries.size >= MOST_ACCOUNTS) forgetIdle();
    if (entries.size >= MOST_ACCOUNTS) return undefined;
    const account = newAccount(org);
    const posting = openPosting(account, {
      ...deps,
      now: () => deps.now(),
      newKey,
      admit: (block, amountUSD) => reserve(account, block, amountUSD, reserving),
      onEnd: end,
    });
    const entry = { account, posting };
    entries.set(org, entry);
    return entry;
  }

  function forgetIdle(): void {
    for (const [org, { account, posting }] of entries) {
      const { blocks, counts, releases, unposted } = account;
      if (blocks.size + counts.size + releases.size > 0 || unposted.costUSD.gt(0)) continue;
      posting.stop('it is idle');
      entries.delete(org);
    }
  }

  function end(why: string): void {
    ended ??= why;
    for (const { posting } of entries.values()) posting.stop(why);
  }

  function blockOf(account: Account, payer: BlockPayer): Block {
    const known = account.blocks.get(payer.id);
    if (known !== undefined) return known;
    const block = newBlock(payer, newKey(payer), deps.now());
    account.blocks.set(payer.id, block);
    return block;
  }

  /** Why no request may draw now. */
  function obstacle({ unposted, waiting }: Account): string | undefined {
    if (ended !== undefined) return ended;
    if (closed || deps.stopping.aborted) return 'the service is draining';
    if (deps.now() - unposted.since > OLDEST_UNPOSTED_MS) return 'the ledger does not answer';
    return waiting >= MOST_WAITING ? 'too many requests wait for it' : undefined;
  }

  function draw(payer: BlockPayer, amountUSD: USD): Reservation | Promise<Reservation> {
    const entry = entryOf(payer.org);
    if (entry === undefined) throw notNow('too many organisations use models');
    const { account, posting } = entry;
    const why = obstacle(account);
    if (why !== undefined) throw notNow(why);
    const block = blockOf(account, payer);
    block.lastAmountUSD = amountUSD;
    const { costUSD, requests } = account.unposted;
    const isFull = costUSD.gt(MOST_UNPOSTED_USD) || requests > MOST_UNPOSTED_REQUESTS;
    if (block.waiting.size === 0 && !isFull && !block.short && freeOf(block).gte(amountUSD)) {
      noteFunded(account, payer, amountUSD, { now: deps.now(), onFunding: deps.onFunding });
      return reserve(account, block, amountUSD, reserving);
    }
    return new Promise((admit, refuse) => {
      block.waiting.add({ amountUSD, since: deps.now(), admit, refuse });
      block.idleSince = deps.now();
      account.waiting += 1;
      posting.soon();
    });
  }

  return {
    draw,
    count({ org, endpoint }, how) {
      const entry = ended !== undefined || closed || endpoint === undefined ? undefined : entryOf(org);
      if (entry === undefined) return;
      const { account, posting } = entry;
      addCount(account, endpoint, { ...NOTHING, requests: 1, errors: how === 'Failed' ? 1 : 0 });
      posting.by(Math.max(deps.now(), account.countedAt + 1_000));
    },
    refusedBefore(payer) {
      const entry = entryOf(payer.org);
      if (entry === undefined) return;
      noteUnfundedBefore(entry.account, payer, deps.now());
      entry.posting.by(deps.now() + 1);
    },
    running: (endpoint) => running.get(endpoint) ?? 0,
    figures() {
      const accounts = [...entries.values()].map(({ account }) => account);
      return {
        blocks: accounts.reduce((sum, { blocks }) => sum + blocks.size, 0),
        waiting: accounts.reduce((sum, { waiting }) => sum + waiting, 0),
        unpostedUSD: sumUSD(accounts.map(({ unposted }) => unposted.costUSD)),
      };
    },
    async close() {
      closed = true;
      const late = new AbortController();
      const drained = Promise.all([...entries.values()].map(({ posting }) => posting.drain()));
      await Promise.race([drained, delay(CLOSE_WITHIN_MS, late.signal)]);
      late.abort();
      end('the service has ended');
    },
  };
}
