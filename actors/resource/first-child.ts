/**
 * Whether there is money for a new Sweep or Pipeline to begin: it holds nothing itself, so the largest first hold of its Jobs is placed and given
 * back in the commit that makes it. A Budget that is used up refuses it so, as it refuses a Job (spec, "Budget").
 */
import type { ApiObject } from '../../src/api/object.js';
import { costOwner, payerOf } from '../../src/kinds/attempts/payer.js';
import { admitTerms } from '../../src/kinds/attempts/terms.js';
import type { CommitEffect } from '../../src/kinds/effect.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { DecisionContext } from '../../src/kinds/machine.js';
import type { Estimate } from '../../src/kinds/shapes/status.js';
import type { Draft } from './draft.js';

export function roomForFirstChild(
  { pricedWork, workPlan, unbuilt }: KindDefinition,
  { address, object }: Pick<Draft, 'address' | 'object'>,
  { prices }: Pick<DecisionContext, 'prices'>,
): readonly CommitEffect[] {
  if (pricedWork === undefined || workPlan !== undefined || unbuilt === true) return [];
  const { spec, status, metadata } = object as ApiObject<
    { readonly state?: string },
    { readonly estimate?: Estimate } | undefined
  >;
  if (spec.state !== undefined && spec.state !== 'Running') return [];
  const [part] = pricedWork(object).parts;
  const holdUSD = status?.estimate?.holdUSD;
  if (part === undefined || holdUSD === undefined || Number(holdUSD) === 0) return [];
  const key = `${metadata.uid}/first`;
  return [
    {
      type: 'Money',
      operation: {
        ...{ op: 'Place', key, owner: costOwner(address, metadata.uid), amountUSD: holdUSD },
        // Its own cap is looked at before, by its field, and what is counted of it begins with its Jobs.
        ...{ payer: { ...payerOf(address, metadata), costs: [] }, terms: admitTerms(part.amounts, prices) },
      },
    },
    { type: 'Money', operation: { op: 'Release', key } },
  ];
}
