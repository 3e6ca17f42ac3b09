/** Owns the list of routes that stand beside the kinds (blobs, events) and below their objects (logs, outputs). */
import type { Extras } from './handle.js';
import type { Room } from './room.js';

export function openExtras(_room: Room): Extras & { readonly besideNames: ReadonlySet<string> } {
  return { beside: new Map(), below: new Map(), besideNames: new Set() };
}
