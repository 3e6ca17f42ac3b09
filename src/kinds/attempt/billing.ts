/**
 * What an Attempt asks of the ledger: a hold at its creation, the segments of its life as they begin (its teardown with the proof), and the
 * release once it is proven that nothing of it is left. Its annotations say at which terms and for whom; one without them is free. Times are ms since the epoch, and
 * the ledger clamps them to its own clock.
 */
import type { Effect } from '../effect.js';
import type { Segment } from '../../money/hold.js';
import { isReplacement } from './annotations.js';
import { firstHoldKey, isFree } from '../attempts/holds.js';
import { costOwner, readPayer } from '../attempts/payer.js';
import { readTerms } from '../attempts/terms.js';
import { ownerOf, type This } from './state.js';

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
export function startOf({ object: { metadata } }: This): Segment {
  return isReplacement(metadata.annotations) ? 'Restore' : 'Boot';
}

export function bill(current: This, segment: Segment, from: number): readonly Effect[] {
  if (!isBilled(current)) return [];
  return [{ type: 'Money', operation: { op: 'Bill', key: current.object.metadata.uid, segment, from } }];
}

/** `covered`: what the service pays, since it was at fault. */
export function releaseHold(current: This, until: number, covered: readonly Segment[] = []): readonly Effect[] {
  if (!isBilled(current)) return [];
  return [{ type: 'Money', operation: { op: 'Release', key: current.object.metadata.uid, until, covered } }];
}

function isBilled({ object: { metadata } }: This): boolean {
  const terms = readTerms(metadata.annotations);
  return terms !== undefined && readPayer(metadata.annotations) !== undefined && !isFree(terms);
}
