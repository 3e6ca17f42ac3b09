/**
 * Acts on an answer of the ledger: reports the use that is posted, sets what the block holds, and admits or refuses the requests that wait.
 *
 * A refusal is the end only of what was asked for when others had given back for it: before, it is asked for once more. Then as many as fit
 * into what is left, in their order, smaller ones behind a larger one too, are asked for alone, so that what comes behind them cannot refuse
 * them. The others are asked for again, and refused when none of them fits.
 *
 * A hold that is gone was released with its object, by its deletion or that of its project. What was used and not posted is charged all the same,
 * by a hold that is placed, charged and released in one commit: else to delete an endpoint under its requests would make them free. The service
 * bears that charge when the payer has no money left for it. Requests that wait for the endpoint's block are refused as Unavailable; when their
 * clients send them again, the endpoint does not exist any more (404).
 */
import type { Drawn, HoldRefusal, OperationResult } from '../../../src/money/operation.js';
import { sumUSD, USD, ZERO } from '../../../src/money/usd.js';
import type { BlockPayer, Reservation } from '../blocks.js';
import type { Step } from './plan.js';
import { noMoney, notNow } from './refusals.js';
import { SHORT_MS } from './slack.js';
import { addOwed } from './reservation.js';
import { freeOf, NOTHING, plus, type Account, type Block, type Unposted, type Use, type Waiting } from './state.js';

/** A request asks so often while others give back for it. */
const MOST_TRIES = 3;
/** A payer that was refused has money again when as much is admitted, or anything after so long (ms). */
const RESTORED_MS = 10_000;
/** I10: at most so many InferenceEndpoints of one org are remembered as refused for lack of money; further ones get no message about it. */
const MOST_UNFUNDED = 10_000;
const SMALLEST = new USD(1n);

export interface Answering {
  readonly now: number;
  admit(block: Block, amountUSD: USD): Reservation;
  newKey(payer: BlockPayer): string;
  onPosted(org: string, endpoint: string | undefined, use: Use, costUSD: USD): void;
  onFunding(payer: BlockPayer, refusal: HoldRefusal | undefined): void;
  onRefused(org: string, refusal: HoldRefusal, times: number): void;
  onGone(payer: BlockPayer): void;
  onProblem(message: string): void;
}

type Asked = Extract<Step, { type: 'Place' | 'Draw' }>;

export function answer(account: Account, step: Step, result: OperationResult, hooks: Answering): void {
  switch (step.type) {
    case 'Release':
    case 'PlaceOwed':
      return;
    case 'DrawOwed': {
      const { payer, used } = step;
      forgetPosted(account, used);
      if (result.outcome === 'Applied') return;
      const usd = used.costUSD.toFixed();
      hooks.onProblem(
        `${usd} USD of requests through ${payer.owner.name} of ${account.org}, which was deleted, find no money`,
      );
      return;
    }
    case 'Count': {
      const { costUSD: _, ...use } = step.use;
      if (result.outcome === 'Applied') hooks.onPosted(account.org, step.uid, use, ZERO);
      return;
    }
    case 'Probe':
      return probed(account, step.payer, result, hooks);
    case 'Place':
      return placed(account, step, result, hooks);
    case 'Draw':
      forgetPosted(account, step.used);
      if (result.outcome === 'Applied' && result.drawn !== undefined)
        return drawn(account, step, result.drawn, result.refusal, hooks);
      return gone(account, step, result, hooks);
  }
}

/** Asked without a request, whether there is money for one like the last. */
function probed(account: Account, payer: BlockPayer, result: OperationResult, hooks: Answering): void {
  const known = account.unfunded.get(payer.id);
  if (known === undefined) return;
  if (result.outcome === 'Refused') {
    account.unfunded.set(payer.id, { ...known, counter: result.counter });
    if (known.counter !== result.counter) hooks.onFunding(payer, result);
    return;
  }
  account.unfunded.delete(payer.id);
  // Else it is gone, or is not what it was.
  if (result.outcome === 'Applied') hooks.onFunding(payer, undefined);
}

function placed(account: Account, step: Asked, result: OperationResult, hooks: Answering): void {
  const { block } = step;
  if (result.outcome === 'Applied') {
    block.state = 'Standing';
    block.draws = 0;
    block.toldUnderWayUSD = ZERO;
    block.heldUSD = step.heldUSD;
    return admitAsked(account, step, hooks);
  }
  if (result.outcome === 'Refused') return refused(account, step, result, ZERO, hooks);
  // Of an answer that was lost: the next key is another.
  hooks.onProblem(`block ${step.key} cannot be placed: ${result.outcome}; another one is`);
  account.releases.add(step.key);
  block.key = hooks.newKey(block.payer);
}

function drawn(
  account: Account,
  step: Extract<Step, { type: 'Draw' }>,
  { chargedUSD, heldUSD, counters, short }: Drawn,
  refusal: HoldRefusal | undefined,
  hooks: Answering,
): void {
  const { block, used } = step;
  const { costUSD, ...use } = used;
  block.draws += 1;
  block.toldUnderWayUSD = step.underWayUSD;
  block.heldUSD = new USD(heldUSD);
  Object.assign(block, { counters, short: short === true, seenAt: hooks.now, postedAt: hooks.now });
  const charged = new USD(chargedUSD);
  if (use.requests > 0 || !charged.isZero()) hooks.onPosted(account.org, block.payer.endpoint, use, charged);
  if (charged.lt(costUSD))
    hooks.onProblem(
      `block ${step.key} of ${account.org} had ${chargedUSD} USD for use of ${costUSD.toFixed()} USD: the rest is not charged`,
    );
  if (step.asked.length > 0 && refusal !== undefined) refused(account, step, refusal, new USD(heldUSD), hooks);
  else if (refusal !== undefined) giveBackAhead(block, hooks.now);
  else admitAsked(account, step, hooks);
}

/** No request waits, and the limit has no room for the money that the block holds ahead: no request draws on that money until it is given back. */
function giveBackAhead(block: Block, now: number): void {
  block.shortUntil = now + SHORT_MS;
  if (freeOf(block).lte(0)) return;
  block.heldUSD = block.reservedUSD.plus(block.unposted.costUSD);
  block.tooMuch = true;
}

/** The hold is not there, or is not as this process has left it. */
function gone(
  account: Account,
  step: Asked & { readonly used: Unposted },
  result: OperationResult,
  hooks: Answering,
): void {
  const { block, used } = step;
  forgetPosted(account, block.unposted);
  addOwed(account, block.payer, plus(used, block.unposted), hooks.now);
  block.unposted = NOTHING;
  block.state = 'Gone';
  account.blocks.delete(block.payer.id);
  if (result.outcome !== 'Nothing' || result.why !== 'Gone') account.releases.add(step.key);
  const waiting = [...block.waiting];
  leave(account, block, waiting);
  for (const one of waiting) one.refuse(notNow('what was held for it has been released'));
  hooks.onGone(block.payer);
}

function forgetPosted(account: Account, { costUSD, requests }: Unposted): void {
  const left = account.unposted;
  account.unposted = { ...left, costUSD: left.costUSD.minus(costUSD), requests: left.requests - requests };
}

function admitAsked(account: Account, { block, asked }: Asked, hooks: Answering): void {
  if (asked.length === 0) return;
  block.fitting = undefined;
  for (const one of asked) {
    // Some have been told meanwhile to try again.
    if (!block.waiting.has(one)) continue;
    if (freeOf(block).lt(one.amountUSD)) break;
    leave(account, block, [one]);
    one.admit(hooks.admit(block, one.amountUSD));
    noteFunded(account, block.payer, one.amountUSD, hooks);
  }
}

/** They wait no longer. */
export function leave(account: Account, block: Block, some: readonly Waiting[]): void {
  for (const one of some) if (block.waiting.delete(one)) account.waiting -= 1;
}

/** `heldUSD`: what it has now. */
function refused(account: Account, step: Asked, refusal: HoldRefusal, heldUSD: USD, hooks: Answering): void {
  const { block } = step;
  const { now } = hooks;
  const tries = step.last ? (block.refusal?.tries ?? 0) : 0;
  const isKnown = step.last && block.refusal?.by.counter === refusal.counter;
  block.shortUntil = now + SHORT_MS;
  account.shortUntil = now + SHORT_MS;
  if (!isKnown && tries < MOST_TRIES) {
    block.refusal = { by: refusal, at: now, tries: tries + 1 };
    return;
  }
  block.refusal = { by: refusal, at: now, tries: 0 };
  const room = heldUSD.plus(refusal.availableUSD).minus(block.reservedUSD).minus(block.unposted.costUSD);
  const asked = step.asked.filter((one) => block.waiting.has(one));
  const fitting = fittingIn(room, asked);
  block.fitting = fitting.length > 0 ? fitting : undefined;
  // Where another takes what they need, those that were passed over may fit.
  if (fitting.length > 0) return;
  leave(account, block, asked);
  block.idleSince = now;
  for (const one of asked) {
    one.refuse(noMoney(block.payer, refusal, one.amountUSD, room));
    noteUnfunded(account, block.payer, refusal, one.amountUSD, hooks);
  }
  if (asked.length > 0) hooks.onRefused(account.org, refusal, asked.length);
}

/** As many as fit, in order. */
export function fittingIn<One extends { readonly amountUSD: USD }>(room: USD, asked: readonly One[]): readonly One[] {
  const fitting: One[] = [];
  let left = room;
  for (const one of asked) {
    if (one.amountUSD.gt(left)) continue;
    left = left.minus(one.amountUSD);
    fitting.push(one);
  }
  return fitting;
}

function noteUnfunded(account: Account, payer: BlockPayer, by: HoldRefusal, amountUSD: USD, hooks: Answering): void {
  const known = account.unfunded.get(payer.id);
  // Requests of the shared base show their money nowhere.
  if (payer.endpoint === undefined || (known === undefined && account.unfunded.size >= MOST_UNFUNDED)) return;
  const { now } = hooks;
  account.unfunded.set(payer.id, { payer, counter: by.counter, amountUSD, at: now, askedAt: known?.askedAt ?? now });
  if (known?.counter !== by.counter) hooks.onFunding(payer, by);
}

export function noteFunded(
  account: Account,
  payer: BlockPayer,
  amountUSD: USD,
  hooks: Pick<Answering, 'now' | 'onFunding'>,
): void {
  const known = account.unfunded.get(payer.id);
  if (known === undefined || (amountUSD.lt(known.amountUSD) && hooks.now - known.at < RESTORED_MS)) return;
  account.unfunded.delete(payer.id);
  hooks.onFunding(payer, undefined);
}

/** An earlier process has told so of this payer; any amount will do. */
export function noteUnfundedBefore(account: Account, payer: BlockPayer, now: number): void {
  if (account.unfunded.has(payer.id) || account.unfunded.size >= MOST_UNFUNDED) return;
  account.unfunded.set(payer.id, { payer, counter: undefined, amountUSD: SMALLEST, at: now, askedAt: -Infinity });
}

/** All that this org has used and nobody has posted (USD). */
export function unpostedOf(account: Account): USD {
  return sumUSD([...account.blocks.values()].map(({ unposted }) => unposted.costUSD));
}
