/**
 * What an Attempt asks of the ledger: a hold at its creation, and the segments of its life with the release once it is proven that nothing of
 * it is left. Its annotations say at which terms and for whom; one without them is free. Times are ms since the epoch, and the ledger clamps
 * them to its own clock.
 *
 * Money rides in these two commits alone. Of work that goes on for longer than a moment the ledger learns beside them what is billed and from
 * when (`beginningsOf`, `actors/money/begun-work.ts`), so that its hold is renewed. The last commit says all of it again: a segment that is billed
 * already, or a later one, costs nothing more.
 */
import type { ApiObject } from '../../api/object.js';
import { parseTime } from '../../api/time.js';
import type { Effect } from '../effect.js';
import type { Segment } from '../../money/hold.js';
import type { MoneyOperation } from '../../money/operation.js';
import { firstFundedMs } from '../../money/renewal.js';
import { isReplacement } from './annotations.js';
import { firstHoldKey, isFree } from '../attempts/holds.js';
import { costOwner, readPayer } from '../attempts/payer.js';
import { readTerms } from '../attempts/terms.js';
import { hasEnded, type AttemptStatus } from './schema.js';
import { ownerOf, type Attempt, type This } from './state.js';

/** In the commit that makes it: what its owner holds while it waits is released in the same step. */
export function placeHold(current: This): readonly Effect[] {
  const { metadata } = current.object;
  const terms = readTerms(metadata.annotations);
  const payer = readPayer(metadata.annotations);
  if (terms === undefined || payer === undefined || isFree(terms)) return [];
  const self = costOwner(current.address, metadata.uid);
  const owner = ownerOf(current);
  return [
    {
      type: 'Money',
      operation: {
        ...{ op: 'Place', key: metadata.uid, owner: self, terms },
        payer: { ...payer, costs: [self, ...payer.costs] },
        replaces: owner && firstHoldKey(owner.uid),
      },
    },
  ];
}

/** The segment of its start: what replaces lost capacity is restored (spec, "Cost"). */
export function startOf({ metadata }: Pick<Attempt, 'metadata'>): Segment {
  return isReplacement(metadata.annotations) ? 'Restore' : 'Boot';
}

/** What it held is given back: nothing of it has begun. */
export function releaseHold({ object }: This, until: number): readonly Effect[] {
  return isBilled(object) ? effectsOf([{ op: 'Release', key: object.metadata.uid, until }]) : [];
}

/**
 * The whole bill and the release. `timings`: as they are at the proof; `teardownFrom`: undefined where no end was known before the proof.
 * `covered`: what the service pays, since it was at fault.
 */
export function settleHold(
  { object }: This,
  { timings }: Pick<AttemptStatus, 'timings'>,
  { teardownFrom, until, covered }: LastBill,
): readonly Effect[] {
  if (!isBilled(object)) return [];
  const key = object.metadata.uid;
  const teardown: MoneyOperation[] =
    teardownFrom === undefined ? [] : [{ op: 'Bill', key, segment: 'Teardown', from: teardownFrom }];
  return effectsOf([...startsOf(object, timings), ...teardown, { op: 'Release', key, until, covered }]);
}

export interface LastBill {
  readonly teardownFrom: number | undefined;
  readonly until: number;
  readonly covered: readonly Segment[];
}

export interface Beginnings {
  /** May be carried out again: what the hold is billed for already is left as it is. All of them in this order, or none. */
  readonly operations: readonly MoneyOperation[];
  /** Nothing else begins before the proof that nothing of it is left. */
  readonly complete: boolean;
}

/** What is billed of an Attempt that has its place. Undefined: nothing, or no more. */
export const beginningsOf: { of(attempt: ApiObject): Beginnings | undefined }['of'] = (attempt: Attempt) => {
  const { timings, phase } = attempt.status;
  if (!isBilled(attempt) || timings?.acquiredTime === undefined || timings.deletionProvenTime !== undefined)
    return undefined;
  const complete = timings.commandStartedTime !== undefined || hasEnded(phase);
  return { operations: startsOf(attempt, timings), complete };
};

/** Until when (ms) what an Attempt took at its creation lasts, now that it has its place. Undefined: it is free. */
export const firstFundedUntil: { of(attempt: ApiObject): number | undefined }['of'] = (attempt: Attempt) => {
  const terms = readTerms(attempt.metadata.annotations);
  const acquired = parseTime(attempt.status.timings?.acquiredTime ?? '');
  if (terms === undefined || acquired === undefined || !isBilled(attempt)) return undefined;
  const ms = firstFundedMs(terms);
  return ms === undefined ? undefined : acquired + ms;
};

function startsOf(attempt: Attempt, timings: AttemptStatus['timings']): readonly MoneyOperation[] {
  const key = attempt.metadata.uid;
  const acquired = parseTime(timings?.acquiredTime ?? '');
  const started = parseTime(timings?.commandStartedTime ?? '');
  return [
    ...(acquired === undefined ? [] : [{ op: 'Bill', key, segment: startOf(attempt), from: acquired } as const]),
    ...(started === undefined ? [] : [{ op: 'Bill', key, segment: 'Running', from: started } as const]),
  ];
}

function effectsOf(operations: readonly MoneyOperation[]): readonly Effect[] {
  return operations.map((operation) => ({ type: 'Money', operation }));
}

function isBilled({ metadata }: Pick<Attempt, 'metadata'>): boolean {
  const terms = readTerms(metadata.annotations);
  return terms !== undefined && readPayer(metadata.annotations) !== undefined && !isFree(terms);
}
