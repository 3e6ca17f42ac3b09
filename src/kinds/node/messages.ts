/** What a Node answers Attempts that ask it for a place, and in which words. */
import type { ResourceAmounts } from '../amounts.js';
import type { LaterEffect } from '../effect.js';
import type { ObjectMessage } from '../object-message.js';
import { LOCAL_OFFERING, LOCAL_REGION } from '../offering/local.js';
import { LOCAL_NODE } from './local.js';
import {
  hasRoomFor,
  isWithinCap,
  MAX_PLACES,
  NOTHING,
  orgCapOf,
  sayAmounts,
  type Capacity,
  type Load,
} from './amounts.js';
import type { PlaceRequest } from './placements.js';

export function granted(request: PlaceRequest): LaterEffect {
  const message: ObjectMessage = { type: 'PlaceGranted', offering: LOCAL_OFFERING, regionClass: LOCAL_REGION };
  return { type: 'Tell', to: request.attempt, uid: request.uid, message };
}

export function denied(request: PlaceRequest, reason: string, final: boolean): LaterEffect {
  return { type: 'Tell', to: request.attempt, uid: request.uid, message: { type: 'PlaceDenied', reason, final } };
}

/** The setting of the operator that caps what one org may hold. */
const CAP = 'TROUPE_QUOTA_MACHINE_PERCENT';

/** Why no Node can ever take it: the machine is too small, or the cap on what one org may hold of it. */
export function neverFits(wanted: ResourceAmounts, capacity: Capacity): string {
  const cap = orgCapOf(capacity);
  if (cap !== undefined && hasRoomFor(wanted, NOTHING, capacity))
    return `needs ${sayAmounts(wanted)}; ${sayCap(cap, capacity)}: ask for less, or ask the operator to raise ${CAP}`;
  return `needs ${sayAmounts(wanted)}; the largest Node, "${LOCAL_NODE.name}", has ${sayAmounts(capacity)} in all`;
}

function sayCap(cap: Load, { orgPercent = 100 }: Capacity): string {
  return `the work of one organisation may hold ${orgPercent} percent of Node "${LOCAL_NODE.name}" at once, which is ${sayLoad(cap)}`;
}

function sayLoad(load: Load): string {
  return `${sayAmounts(load)} in ${load.places} ${load.places === 1 ? 'place' : 'places'}`;
}

/** `held`: what its org holds now. */
export function whyNot(
  request: PlaceRequest,
  load: Load,
  held: Load,
  node: {
    readonly capacity?: Capacity | undefined;
    readonly refusal?: string | undefined;
    readonly shortage?: string | undefined;
    readonly cordoned: boolean;
  },
): string {
  if (node.refusal !== undefined) return node.refusal;
  if (node.shortage !== undefined) return node.shortage;
  if (node.capacity === undefined) return 'the engine has not said what it has';
  if (node.cordoned) return 'the machine is cordoned';
  const cap = orgCapOf(node.capacity);
  if (cap !== undefined && !isWithinCap(request.amounts, held, node.capacity))
    return (
      `needs ${sayAmounts(request.amounts)}; ${sayCap(cap, node.capacity)}, and that of yours holds ${sayLoad(held)} now: ` +
      `it begins when enough of that has ended; stop what is not needed, or ask the operator to raise ${CAP}`
    );
  if (load.places >= MAX_PLACES) return `all ${MAX_PLACES} places are taken`;
  const free = hasRoomFor(request.amounts, load, node.capacity);
  return `needs ${sayAmounts(request.amounts)}; ${free ? 'older work that needs more goes first' : 'others are using what is missing'}`;
}
