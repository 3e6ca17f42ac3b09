/** What an order says of its programs and outputs: which there are, what their logs are called, and whether more may be started beside them. */
import type { OrderedProcess } from '../../engines/compute/contract/engine.js';
import { NETWORK_LOG } from '../../engines/compute/shared/egress/egress-session.js';
import type { WireOrder } from '../protocol/messages.js';

export function containersOf(spec: WireOrder): string[] {
  const { network } = spec;
  const outward = network !== undefined && network.egress !== 'Deny' ? [NETWORK_LOG] : [];
  return [...processesOf(spec).map(({ name }) => name), ...outward];
}

export function processesOf({ main, init, sidecars }: WireOrder): OrderedProcess[] {
  return [...(main === undefined ? [] : [main]), ...(init === undefined ? [] : [init]), ...sidecars];
}

export function isEnterable(spec: WireOrder): boolean {
  return spec.enterable === true || spec.main === undefined;
}

/** Main is its only program, and none can be started beside it. */
export function isAlone(spec: WireOrder): boolean {
  return !isEnterable(spec) && spec.init === undefined && spec.sidecars.length === 0;
}

/** Some of its outputs must not be lost. */
export function hasVital({ outputs }: WireOrder): boolean {
  return outputs.some(({ vital }) => vital === true);
}
