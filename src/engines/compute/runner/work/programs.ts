/** Owns what an order says of its programs: which there are, what their logs are called, and whether more may be started beside them. */
import type { OrderedProcess } from '../../engine.js';
import { NETWORK_LOG } from '../egress/outward.js';
import type { WireOrder } from '../protocol/messages.js';

export function containersOf(order: WireOrder): string[] {
  const { network } = order;
  const outward = network !== undefined && network.egress !== 'Deny' ? [NETWORK_LOG] : [];
  return [...processesOf(order).map(({ name }) => name), ...outward];
}

export function processesOf({ main, init, sidecars }: WireOrder): OrderedProcess[] {
  return [...(main === undefined ? [] : [main]), ...(init === undefined ? [] : [init]), ...sidecars];
}

export function isEnterable(order: WireOrder): boolean {
  return order.enterable === true || order.main === undefined;
}
