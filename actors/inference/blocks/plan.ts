/**
 * Plans one call of the ledger for an org: one step for each block, or two where it gives back for others and asks itself. First those give back that share a counter on which a request of
 * another waits, then what waits is asked for, then what was used is posted, what is idle is given back, and requests without a charge are
 * counted. What a step takes from its block for the time of the call is put back by `putBack` when nothing was written.
 *
 * A block without requests for a while is given up: it gives everything back.
 *
 * I10: MOST_STEPS a call; the rest has the next one.
 */
import { BLOCK_TERMS } from '../../../src/money/draw.js';
import type { HoldRefusal, MoneyOperation } from '../../../src/money/operation.js';
import { sumUSD, USD, ZERO } from '../../../src/money/usd.js';
import type { BlockPayer } from '../blocks.js';
import { sharesCounter, SHORT_MS, slackOf } from './slack.js';
import {
  freeOf,
  hasNews,
  isNothing,
  NOTHING,
  plus,
  type Account,
  type Block,
  type Unposted,
  type Waiting,
} from './state.js';

const MOST_STEPS = 100;
/** A block that nobody uses is given back after (ms). */
const IDLE_MS = 2_000;
/** Requests without a charge are counted every (ms). */
const COUNT_EVERY_MS = 1_000;
/** Whether an InferenceEndpoint without money has some again is asked every (ms), of so many at once. */
const PROBE_EVERY_MS = 10_000;
const PROBES_AT_ONCE = 10;
const BETWEEN_PROBES_MS = 1_000;

interface Asking {
  readonly block: Block;
  readonly key: string;
  readonly asked: readonly Waiting[];
  /** Others have given back for it: what is refused now is refused. */
  readonly last: boolean;
  readonly heldUSD: USD;
  readonly operation: MoneyOperation;
}

export type Step =
  | (Asking & { readonly type: 'Place' })
  | (Asking & { readonly type: 'Draw'; readonly used: Unposted; readonly heldBefore: USD; readonly underWayUSD: USD })
  /** The hold of what is owed, which is placed, charged and released in the same commit. */
  | { readonly type: 'PlaceOwed'; readonly operation: MoneyOperation }
  | {
      readonly type: 'DrawOwed';
      readonly payer: BlockPayer;
      readonly used: Unposted;
      readonly operation: MoneyOperation;
    }
  /** A hold that is placed and released in the same commit, to know whether there is money. */
  | { readonly type: 'Probe'; readonly payer: BlockPayer; readonly operation: MoneyOperation }
  | { readonly type: 'Release'; readonly key: string; readonly operation: MoneyOperation }
  | { readonly type: 'Count'; readonly uid: string; readonly use: Unposted; readonly operation: MoneyOperation };

/** `closing`: everything is posted and given back. */
export function planSteps(
  account: Account,
  now: number,
  closing: boolean,
  newKey: (payer: BlockPayer) => string,
): readonly Step[] {
  const steps: Step[] = [];
  const planned = new Set<Block>();
  const hasRoom = (): boolean => steps.length < MOST_STEPS - 1;
  const add = (block: Block, step: Step): void => {
    planned.add(block);
    steps.push(step);
  };
  const blocks = [...account.blocks.values()];
  const asking = closing ? [] : blocks.filter(({ waiting }) => waiting.size > 0);
  const last = asking.filter((block) => isLast(block, now));

  const addReleases = (): void => {
    for (const key of account.releases) {
      if (!hasRoom()) return;
      account.releases.delete(key);
      const operation = { op: 'Release', key, ...(closing && ({ abandoned: true } as const)) } as const;
      steps.push({ type: 'Release', key, operation });
    }
  };
  // First: what they give back may be asked for.
  addReleases();
  // What is asked for together with what others leave would be served by that, though a lowered limit has no room for it.
  const short = asking.filter((block) => block.short && block.state === 'Standing' && freeOf(block).gt(0));
  const givers = new Set([...giversFor(last, blocks, now), ...short]);
  for (const block of givers) if (hasRoom()) add(block, drawOf(block, account, now, { last: false, nobody: true }));
  // Where not all have given back yet, nobody is refused yet.
  const others = asking.filter((block) => !last.includes(block));
  for (const block of hasRoom() ? [...last, ...others] : others) {
    if (!hasRoom()) break;
    const how = { last: last.includes(block), again: planned.has(block) };
    add(block, block.state === 'Absent' ? placeOf(block, account, now, how) : drawOf(block, account, now, how));
  }
  for (const block of blocks) {
    if (planned.has(block)) continue;
    const isToPost = hasNews(block) && (closing || block.postAt <= now || steps.length > 0);
    const isDue = isToPost || (block.tooMuch && !closing);
    if (isDue && hasRoom()) add(block, drawOf(block, account, now, { last: false, nothing: closing }));
    else if (!isDue && (closing || isIdle(block, now))) giveUp(account, block);
  }
  addReleases();
  for (const [id, { payer, use }] of account.owed) {
    if (steps.length > MOST_STEPS - 4) break;
    account.owed.delete(id);
    steps.push(...stepsForOwed(payer, use, newKey(payer)));
  }
  if (!closing && now >= nextProbeAt(account)) steps.push(...probesOf(account, now, MOST_STEPS - steps.length, newKey));
  if (account.counts.size > 0 && (closing || now - account.countedAt >= COUNT_EVERY_MS))
    for (const uid of account.counts.keys()) if (hasRoom()) steps.push(countOf(account, uid));
  return steps;
}

/** Monotonic ms at which there is something to do, if nothing comes in between. Infinity: never. */
export function nextStepAt(account: Account): number {
  let at = account.releases.size + account.owed.size > 0 ? -Infinity : nextProbeAt(account);
  if (account.counts.size > 0) at = Math.min(at, account.countedAt + COUNT_EVERY_MS);
  for (const block of account.blocks.values()) {
    if (block.waiting.size > 0 || block.tooMuch) return -Infinity;
    if (hasNews(block)) at = Math.min(at, block.postAt);
    else if (block.running === 0) at = Math.min(at, block.idleSince + IDLE_MS);
  }
  return at;
}

/** Nothing of this step was written. Precondition: those behind it are put back. */
export function putBack(account: Account, step: Step): void {
  switch (step.type) {
    case 'Place':
    case 'PlaceOwed':
    case 'Probe':
      return;
    case 'DrawOwed': {
      const { payer, used } = step;
      account.owed.set(payer.id, { payer, use: plus(used, account.owed.get(payer.id)?.use ?? NOTHING) });
      return;
    }
    case 'Draw':
      step.block.unposted = plus(step.used, step.block.unposted);
      step.block.heldUSD = step.heldBefore;
      step.block.postAt = -Infinity;
      return;
    case 'Release':
      account.releases.add(step.key);
      return;
    case 'Count':
      account.counts.set(step.uid, plus(step.use, account.counts.get(step.uid) ?? NOTHING));
  }
}

function isLast({ refusal }: Block, now: number): boolean {
  return refusal !== undefined && now - refusal.at < SHORT_MS;
}

function isIdle({ running, waiting, unposted, idleSince }: Block, now: number): boolean {
  return running === 0 && waiting.size === 0 && isNothing(unposted) && now - idleSince >= IDLE_MS;
}

/** Blocks that hold something ahead where others were refused. They hold nothing ahead for a while. */
function giversFor(refused: readonly Block[], blocks: readonly Block[], now: number): readonly Block[] {
  // One of each counter, and the only block that it refused.
  const refusals = new Map<string, { readonly by: HoldRefusal; readonly only: Block | undefined }>();
  for (const block of refused) {
    if (block.refusal === undefined) continue;
    const { by } = block.refusal;
    refusals.set(by.counter, { by, only: refusals.has(by.counter) ? undefined : block });
  }
  if (refusals.size === 0) return [];
  const sharing = blocks.filter((block) =>
    [...refusals.values()].some(({ by, only }) => only !== block && sharesCounter(block, by, now)),
  );
  for (const block of sharing) block.shortUntil = Math.max(block.shortUntil, now + SHORT_MS);
  return sharing.filter((block) => block.state === 'Standing' && (block.tooMuch || freeOf(block).gt(0)));
}

interface How {
  readonly last: boolean;
  /** Those that wait are asked for by another step behind this one. */
  readonly nobody?: boolean;
  /** It is such another step. */
  readonly again?: boolean;
  /** It is to hold nothing from then on. */
  readonly nothing?: boolean;
}

function askedOf({ waiting, fitting }: Block, { last }: How): readonly Waiting[] {
  return last && fitting !== undefined ? fitting : [...waiting];
}

function aheadOf(block: Block, account: Account, now: number, { last }: How): USD {
  return last || block.short ? ZERO : slackOf(block, account, now);
}

function placeOf(block: Block, account: Account, now: number, how: How): Step {
  const { payer, key } = block;
  const asked = askedOf(block, how);
  const heldUSD = sumUSD(asked.map(({ amountUSD }) => amountUSD)).plus(aheadOf(block, account, now, how));
  const about = { key, owner: payer.owner, payer: payer.payer, terms: BLOCK_TERMS, amountUSD: heldUSD.toFixed() };
  return { type: 'Place', block, key, asked, last: how.last, heldUSD, operation: { op: 'Place', ...about } };
}

function drawOf(block: Block, account: Account, now: number, how: How): Step {
  const { key, unposted: used, payer, heldUSD: heldBefore } = block;
  const asked = how.nothing === true || how.nobody === true ? [] : askedOf(block, how);
  const claimed = block.reservedUSD.plus(sumUSD(asked.map(({ amountUSD }) => amountUSD)));
  // What is under way at the end of this process is charged with the release.
  const heldUSD = how.nothing === true ? block.underWayUSD : claimed.plus(aheadOf(block, account, now, how));
  const { costUSD, ...counts } = used;
  block.unposted = NOTHING;
  block.postAt = Infinity;
  block.tooMuch = false;
  // I7: until the answer, it is not known to have more than the least that may become of it.
  block.heldUSD = USD.max(0, USD.min(heldBefore.minus(costUSD), heldUSD));
  const use = payer.endpoint === undefined || isNothing(used) ? undefined : { uid: payer.endpoint, ...counts };
  const { underWayUSD } = block;
  const amounts = {
    ...{ usedUSD: costUSD.toFixed(), holdUSD: heldUSD.toFixed() },
    ...(underWayUSD.isZero() ? {} : { underWayUSD: underWayUSD.toFixed() }),
  };
  return {
    ...{ type: 'Draw', block, key, asked, last: how.last, heldUSD, used, heldBefore, underWayUSD },
    operation: { op: 'Draw', key, draw: block.draws + (how.again === true ? 2 : 1), ...amounts, use },
  };
}

/** I7: the hold lives within one commit, so that it is nobody's when its object is gone. */
function stepsForOwed(payer: BlockPayer, used: Unposted, key: string): readonly Step[] {
  const usedUSD = used.costUSD.toFixed();
  const about = { key, owner: payer.owner, payer: payer.payer, terms: BLOCK_TERMS, amountUSD: usedUSD };
  return [
    { type: 'PlaceOwed', operation: { op: 'Place', ...about } },
    { type: 'DrawOwed', payer, used, operation: { op: 'Draw', key, draw: 1, usedUSD, holdUSD: '0' } },
    { type: 'Release', key, operation: { op: 'Release', key } },
  ];
}

function nextProbeAt({ unfunded, probedAt }: Account): number {
  const [first] = unfunded.values();
  return first === undefined ? Infinity : Math.max(first.askedAt + PROBE_EVERY_MS, probedAt + BETWEEN_PROBES_MS);
}

/** At most `most` steps. Those that were asked longest ago. */
function probesOf(account: Account, now: number, most: number, newKey: (payer: BlockPayer) => string): readonly Step[] {
  const steps: Step[] = [];
  account.probedAt = now;
  for (const [id, known] of account.unfunded) {
    // Those that were asked now are behind the others.
    const isEnough = steps.length > most - 2 || steps.length >= 2 * PROBES_AT_ONCE;
    if (isEnough || now < known.askedAt + PROBE_EVERY_MS) break;
    account.unfunded.delete(id);
    account.unfunded.set(id, { ...known, askedAt: now });
    const { payer, amountUSD } = known;
    const key = newKey(payer);
    const about = { key, owner: payer.owner, payer: payer.payer, terms: BLOCK_TERMS, amountUSD: amountUSD.toFixed() };
    steps.push({ type: 'Probe', payer, operation: { op: 'Place', ...about } });
    steps.push({ type: 'Release', key, operation: { op: 'Release', key } });
  }
  return steps;
}

/** Its payer has another block from its next request on. Nothing more is charged to this one. */
function giveUp(account: Account, block: Block): void {
  account.blocks.delete(block.payer.id);
  if (block.state === 'Standing') account.releases.add(block.key);
  block.state = 'Gone';
}

function countOf(account: Account, uid: string): Step {
  const use = account.counts.get(uid) ?? NOTHING;
  account.counts.delete(uid);
  const { costUSD: _, ...counts } = use;
  return { type: 'Count', uid, use, operation: { op: 'Count', use: { uid, ...counts } } };
}
