/**
 * What one InferenceEndpoint has used of its limits, and how much of that a crash may forget: nothing.
 *
 * Written ahead. The row of an endpoint lists what was used by second, and `ahead`: how many requests and tokens may be used beyond that.
 * A request that fits into what is ahead is admitted at once, in memory; any other one is counted at once and answered when a row that
 * has it (`answering`) is written. So at every moment the row covers everything that was admitted:
 *
 *   row = listed + answering + ahead,   admitted since the row was made ≤ answering + ahead
 *
 * While a write is under way it is not known which of two rows is the stored one, so until it has succeeded no more is admitted than both
 * cover; one that failed may have been stored all the same, and then the next one decides.
 *
 * After a crash the reader takes both as used, as late as that can have been (`restore`): at most a fiftieth of a limit is lost,
 * or one request where that is less than one, for a minute. What is ahead serves AHEAD_LASTS_MS at most, so that a row may be deleted.
 *
 * Not pure but for its owner alone, and without a clock, so that tests crash it at any moment. Times are ms on Postgres's clock.
 */
import type { LimitLeft, LimitState } from '../../../src/engines/inference/dialects/dialect.js';
import type { StoredWindow, WindowBody } from '../../../storage/inference/windows.js';
import type { EndpointLimits } from './endpoint-limits.js';
import { openWindow, WINDOW_SECONDS, type Bucket, type SlidingWindow } from './window.js';

/** Of a limit, that may be used before the next write. */
const AHEAD = 1 / 50;
/** For how long, counted from before the row was written. */
export const AHEAD_LASTS_MS = 50_000;
/** A row that is written later than this after it was made answers nobody: when it is read, its requests are dated by that. */
export const ANSWER_WITHIN_MS = 5_000;
/** Longest wait for a row to be made: well below a minute, so that what waits counts all the time. */
const WAITS_AT_MOST_MS = 20_000;
/** This process and the one before may read Postgres's clock differently. */
const CLOCKS_DIFFER_MS = 1_000;
/** A row that was written longer ago means nothing. */
export const ROW_LASTS_MS = AHEAD_LASTS_MS + CLOCKS_DIFFER_MS + WINDOW_SECONDS * 1_000;

interface Amounts {
  readonly requests: number;
  readonly tokens: number;
}

const NOTHING: Amounts = { requests: 0, tokens: 0 };

/** What one request took. */
export interface Taken {
  second: number;
  readonly tokens: number;
  /** False: its answer waits for a write that lists it. */
  readonly ahead: boolean;
}

/** A row under way. */
export interface Draft {
  readonly body: WindowBody;
  /** When it was made. */
  readonly at: number;
  /** `drawn` and `givenBack` at that moment. */
  readonly drawn: Amounts;
  readonly givenBack: number;
}

export interface EndpointUse {
  readonly requests: SlidingWindow;
  readonly tokens: SlidingWindow;
  /** Requests that run now. */
  running: number;
  /** The newest that are known. */
  limits: EndpointLimits;
  /** What may still be admitted without a write, until `aheadUntil`. */
  ahead: Amounts;
  aheadUntil: number;
  /** Admitted from what was ahead, in all. */
  drawn: Amounts;
  /** Tokens that were given back and are not written. */
  givenBack: number;
  /** The row is not known to be right: a request is in another second than it says, or a write has failed. */
  stale: boolean;
}

export type Take =
  | { readonly outcome: 'Taken'; readonly taken: Taken }
  | {
      readonly outcome: 'Refused';
      readonly by: 'maxConcurrent' | 'rpm' | 'tpm';
      readonly retryAfterSeconds: number;
    };

export function openUseOf(limits: EndpointLimits): EndpointUse {
  return {
    ...{ requests: openWindow(), tokens: openWindow(), running: 0, limits },
    ...{ ahead: NOTHING, aheadUntil: 0, drawn: NOTHING, givenBack: 0, stale: false },
  };
}

/**
 * As the row says, and all that was ahead used as late as it can have been: a process of an earlier epoch has admitted nothing since this one
 * got the lease (`leasedAt`), and none does so when what is ahead has lapsed. Dated later than it was it stays longer than it must; dated
 * earlier it would let too much through.
 */
export function restore(
  { body, epoch, writtenAt }: StoredWindow,
  { limits, own, leasedAt, now }: { limits: EndpointLimits; own: number; leasedAt: number; now: number },
): EndpointUse {
  const use = { ...openUseOf(limits), requests: openWindow(body.requests), tokens: openWindow(body.tokens) };
  const last = epoch < own ? leasedAt : now;
  const count = ({ requests, tokens }: Amounts, lasts: number): void => {
    const second = secondOf(Math.max(writtenAt, Math.min(last, writtenAt + lasts + CLOCKS_DIFFER_MS)));
    use.requests.add(second, requests);
    use.tokens.add(second, tokens);
  };
  count(body.answering, ANSWER_WITHIN_MS);
  count(body.ahead, AHEAD_LASTS_MS);
  return use;
}

/** Takes a place, a request and `tokens` tokens, but no more than `tpm`; or nothing. What is refused changes nothing, and needs no write. */
export function take(use: EndpointUse, limits: EndpointLimits, tokens: number, now: number): Take {
  use.limits = limits;
  const { rpm, tpm, maxConcurrent } = limits;
  const second = secondOf(now);
  const wanted = tpm === undefined ? tokens : Math.min(tokens, tpm);
  const waits = {
    rpm: waitMs(use.requests, 1, rpm, now),
    tpm: tpm === undefined ? 0 : waitMs(use.tokens, wanted, tpm, now),
  };
  // Of both, the one that it waits for longer: after the other it would be refused again.
  const by = waits.tpm > waits.rpm ? 'tpm' : 'rpm';
  if (waits[by] > 0)
    return { outcome: 'Refused', by, retryAfterSeconds: Math.min(WINDOW_SECONDS, Math.ceil(waits[by] / 1_000)) };
  if (use.running >= maxConcurrent) return { outcome: 'Refused', by: 'maxConcurrent', retryAfterSeconds: 1 };
  const ahead = now < use.aheadUntil && use.ahead.requests >= 1 && (tpm === undefined || use.ahead.tokens >= wanted);
  use.running += 1;
  use.requests.add(second, 1);
  use.tokens.add(second, wanted);
  if (ahead) {
    // Without `tpm` too, and then below zero: it may be set at any moment.
    use.ahead = minus(use.ahead, { requests: 1, tokens: wanted });
    use.drawn = { requests: use.drawn.requests + 1, tokens: use.drawn.tokens + wanted };
  }
  return { outcome: 'Taken', taken: { second, tokens: wanted, ahead } };
}

/** 0: there is room now. */
function waitMs(window: SlidingWindow, wanted: number, limit: number, now: number): number {
  if (window.used(secondOf(now)) + wanted <= limit) return 0;
  return Math.max(1, window.whenAtMost(limit - wanted) * 1_000 - now);
}

/** It was answered after the row that lists it was written: it counts from now on. */
export function answer(use: EndpointUse, taken: Taken, now: number): void {
  const second = secondOf(now);
  if (second <= taken.second) return;
  use.requests.takeBack(taken.second, 1);
  use.tokens.takeBack(taken.second, taken.tokens);
  use.requests.add(second, 1);
  use.tokens.add(second, taken.tokens);
  taken.second = second;
  use.stale = true;
}

/** The row that lists it could not be written: it was never admitted. The stored row may list it, until the next write. */
export function undo(use: EndpointUse, taken: Taken): void {
  use.running -= 1;
  use.requests.takeBack(taken.second, 1);
  use.tokens.takeBack(taken.second, taken.tokens);
}

/** It has ended, and used so many tokens. */
export function end(use: EndpointUse, taken: Taken, tokens: number): void {
  use.running -= 1;
  const unused = Math.max(0, taken.tokens - Math.max(0, tokens));
  use.tokens.takeBack(taken.second, unused);
  use.givenBack += unused;
}

/** So much is written ahead. */
function chunkOf({ rpm, tpm }: EndpointLimits): Amounts {
  const part = (limit: number): number => Math.max(1, Math.floor(limit * AHEAD));
  return { requests: part(rpm), tokens: tpm === undefined ? 0 : part(tpm) };
}

/** Whether a row should be written soon, though nobody waits for it. */
export function wantsWrite(use: EndpointUse): boolean {
  const { ahead, limits, givenBack, stale } = use;
  const chunk = chunkOf(limits);
  if (stale || ahead.requests < chunk.requests / 2) return true;
  return limits.tpm !== undefined && (ahead.tokens < chunk.tokens / 2 || givenBack >= chunk.tokens / 2);
}

/**
 * The row as it is to be written now; `answering`: what waits for it. `exact`: with nothing ahead, so that the next request waits for
 * a write.
 */
export function draft(use: EndpointUse, now: number, answering: readonly Taken[] = [], exact = false): Draft {
  const ahead = exact ? NOTHING : chunkOf(use.limits);
  // Both the stored row and this one have to cover what is admitted meanwhile.
  const requests = Math.min(use.ahead.requests, ahead.requests);
  use.ahead = { requests, tokens: Math.min(use.ahead.tokens, ahead.tokens) };
  use.stale = false;
  const sum = { requests: answering.length, tokens: answering.reduce((all, { tokens }) => all + tokens, 0) };
  const body = {
    requests: listed(use.requests, now, answering, () => 1),
    tokens: listed(use.tokens, now, answering, ({ tokens }) => tokens),
    ...{ answering: sum, ahead },
  };
  return { body, at: now, drawn: use.drawn, givenBack: use.givenBack };
}

/** Without what is being answered. */
function listed(
  window: SlidingWindow,
  now: number,
  answering: readonly Taken[],
  amountOf: (taken: Taken) => number,
): readonly Bucket[] {
  window.used(secondOf(now));
  if (answering.length === 0) return window.buckets();
  const left = new Map(window.buckets());
  for (const taken of answering) left.set(taken.second, (left.get(taken.second) ?? 0) - amountOf(taken));
  return [...left].filter(([, amount]) => amount > 0);
}

/** Whether one that asked then may be in a row that is made now. */
export function canWait(asked: number, now: number): boolean {
  return now - asked <= WAITS_AT_MOST_MS;
}

/** Whether its row was stored early enough to answer by it. */
export function isTimely({ at }: Draft, now: number): boolean {
  return now - at <= ANSWER_WITHIN_MS;
}

/** The draft is stored. */
export function written(use: EndpointUse, { body, at, drawn, givenBack }: Draft): void {
  use.ahead = minus(body.ahead, minus(use.drawn, drawn));
  use.aheadUntil = at + AHEAD_LASTS_MS;
  use.givenBack -= givenBack;
}

/** Whether the draft is stored is not known. */
export function unwritten(use: EndpointUse): void {
  use.stale = true;
}

/** Nothing of it counts any more, and nothing can: it may be forgotten without a write. */
export function isOver(use: EndpointUse, now: number): boolean {
  const second = secondOf(now);
  const empty = use.requests.used(second) === 0 && use.tokens.used(second) === 0;
  return empty && use.running === 0 && !use.stale && now >= use.aheadUntil - AHEAD_LASTS_MS + ROW_LASTS_MS;
}

export function stateOf({ requests, tokens, limits: { rpm, tpm } }: EndpointUse, now: number): LimitState {
  return {
    requests: leftOf(requests, rpm, now),
    ...(tpm !== undefined && { tokens: leftOf(tokens, tpm, now) }),
  };
}

function leftOf(window: SlidingWindow, limit: number, now: number): LimitLeft {
  const used = window.used(secondOf(now));
  const resetMs = used === 0 ? 0 : Math.max(0, window.whenAtMost(0) * 1_000 - now);
  return { limit, remaining: Math.max(0, limit - used), resetMs };
}

function minus(a: Amounts, b: Amounts): Amounts {
  return { requests: a.requests - b.requests, tokens: a.tokens - b.tokens };
}

function secondOf(ms: number): number {
  return Math.floor(ms / 1_000);
}
