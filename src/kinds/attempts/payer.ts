/**
 * Who pays for work: the project and the labels that the top object had when it was admitted, and every object upwards whose cost it is.
 * What is made for another object inherits them, so neither relabelling nor the labels of a template escapes a Budget (spec, "Budget").
 * Attempts carry the payer as an annotation, since no client can write one; what clients can write gets it with the create that the service makes.
 */
import type { Address } from '../../api/address.js';
import type { ObjectMeta } from '../../api/object.js';
import { API_GROUP } from '../../brand.js';
import type { CostOwner, Payer } from '../../money/payer.js';

/** Stored beside an object: what of its payer cannot be read off it later. */
export interface AdmittedPayer {
  readonly project: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The controllers upwards. */
  readonly above: readonly CostOwner[];
}

/** `inherited`: the payer of the object that has made this one. */
export function admitPayer({ project }: Address, metadata: ObjectMeta, inherited?: Payer): AdmittedPayer {
  if (inherited === undefined) return { project, labels: metadata.labels ?? {}, above: [] };
  return { project: inherited.project, labels: inherited.labels, above: inherited.costs };
}

/** `admitted` is absent of an object from before there were prices: what it is now counts. */
export function payerOf(self: Address, metadata: ObjectMeta, admitted?: AdmittedPayer): Payer {
  const { project, labels, above } = admitted ?? admitPayer(self, metadata);
  return { project, labels, costs: [costOwner(self, metadata.uid), ...above] };
}

export function costOwner({ kind, project, name }: Address, uid: string): CostOwner {
  return { uid, kind, project, name };
}

const PAYER = `${API_GROUP}/payer`;

export function payerAnnotations(payer: Payer): Readonly<Record<string, string>> {
  return { [PAYER]: JSON.stringify(payer) };
}

/** Undefined: the Attempt was made before there were prices. */
export function readPayer(annotations: Readonly<Record<string, string>> | undefined): Payer | undefined {
  const text = annotations?.[PAYER];
  // The service alone writes it.
  return text === undefined ? undefined : (JSON.parse(text) as Payer);
}
