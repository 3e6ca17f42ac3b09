/** What a Node answers Attempts that ask it for a place, and in which words. */
import type { ResourceAmounts } from '../amounts.js';
import type { LaterEffect } from '../effect.js';
import type { ObjectMessage } from '../object-message.js';
import { LOCAL_OFFERING, LOCAL_REGION } from '../offering/local.js';
import { LOCAL_NODE } from './local.js';
import { hasRoomFor, MAX_PLACES, sayAmounts, type Load } from './amounts.js';
import type { PlaceRequest } from './placements.js';

export function granted(request: PlaceRequest): LaterEffect {
  const message: ObjectMessage = { type: 'PlaceGranted', offering: LOCAL_OFFERING, regionClass: LOCAL_REGION };
  return { type: 'Tell', to: request.attempt, uid: request.uid, message };
}

export function denied(request: PlaceRequest, reason: string, final: boolean): LaterEffect {
  return { type: 'Tell', to: request.attempt, uid: request.uid, message: { type: 'PlaceDenied', reason, final } };
}

export function neverFits(wanted: ResourceAmounts, capacity: ResourceAmounts): string {
  return `needs ${sayAmounts(wanted)}; the largest Node, "${LOCAL_NODE.name}", has ${sayAmounts(capacity)} in all`;
}

export function whyNot(
  request: PlaceRequest,
  load: Load,
  node: {
    readonly capacity?: ResourceAmounts | undefined;
    readonly refusal?: string | undefined;
    readonly shortage?: string | undefined;
    readonly cordoned: boolean;
  },
): string {
  if (node.refusal !== undefined) return node.refusal;
  if (node.shortage !== undefined) return node.shortage;
  if (node.capacity === undefined) return 'the engine has not said what it has';
  if (node.cordoned) return 'the machine is cordoned';
  if (load.places >= MAX_PLACES) return `all ${MAX_PLACES} places are taken`;
  const free = hasRoomFor(request.amounts, load, node.capacity);
  return `needs ${sayAmounts(request.amounts)}; ${free ? 'older work that needs more goes first' : 'others are using what is missing'}`;
}
