/**
 * What a dry run of a write adds to its estimate: what the ledger and the org's quota would refuse now. Read without the lock of a commit,
 * so it may be untrue a moment later; nothing is decided by it.
 */
import type { ApiObject } from '../../src/api/object.js';
import type { Refusal } from '../../src/api/refusal.js';
import { costOwner, payerOf } from '../../src/kinds/attempts/payer.js';
import { admitTerms } from '../../src/kinds/attempts/terms.js';
import { obstruct, warnOf } from '../../src/kinds/estimate.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { Estimate } from '../../src/kinds/shapes/status.js';
import type { MoneyOperation } from '../../src/money/operation.js';
import { refusalOf, refusalOfHold } from './commit-refusals.js';
import type { Draft } from './draft.js';
import type { ActorDeps } from './self.js';

type RehearsalDeps = Pick<ActorDeps, 'rehearse' | 'fullOrg' | 'decisionContext'>;

/** The draft's object with what stands against the real write, or against what that object would make next. */
export async function rehearse(kind: KindDefinition, draft: Draft, deps: RehearsalDeps): Promise<ApiObject> {
  const { address, object, version } = draft;
  if ((object.status as { readonly estimate?: unknown } | undefined)?.estimate === undefined) return object;
  const [full, money] = await Promise.all([
    version === 0 ? deps.fullOrg?.(address.org) : undefined,
    refusalOfMoney(kind, draft, deps),
  ]);
  const quota = full === undefined ? undefined : refusalOf({ outcome: 'QuotaExceeded', limit: full }, address);
  const obstructed = obstruct(object, { refusals: [quota, money.refused] });
  const { waits } = money;
  return waits === undefined ? obstructed : warnOf(obstructed, waits, 'it would be created, and its Jobs would wait');
}

/** `waits`: nothing refuses the write, and what it makes later would get no money now. */
async function refusalOfMoney(
  kind: KindDefinition,
  draft: Draft,
  deps: RehearsalDeps,
): Promise<{ readonly refused?: Refusal | undefined; readonly waits?: Refusal | undefined }> {
  const { rehearse: play } = deps;
  const operations = draft.atCommit.flatMap((effect) => (effect.type === 'Money' ? [effect.operation] : []));
  const places = operations.some(({ op }) => op === 'Place');
  const later = places ? undefined : firstHoldBelow(kind, draft, deps);
  if (play === undefined || (!places && later === undefined)) return {};
  const refusal = await play(draft.address.org, later === undefined ? operations : [...operations, later]);
  if (refusal?.outcome !== 'Refused') return {};
  const { kind: name, name: of } = draft.address;
  const why = refusalOfHold(refusal, { uid: draft.object.metadata.uid, target: { kind: name, name: of } });
  return places ? { refused: why } : { waits: why };
}

/** The largest first hold of the Jobs of a new Sweep or Pipeline, which holds nothing itself. */
function firstHoldBelow(
  { pricedWork, workPlan, unbuilt }: KindDefinition,
  { address, object, version }: Draft,
  { decisionContext }: RehearsalDeps,
): MoneyOperation | undefined {
  const { spec, status, metadata } = object as ApiObject<{ readonly state?: string }, { readonly estimate: Estimate }>;
  if (version !== 0 || pricedWork === undefined || workPlan !== undefined || unbuilt === true) return undefined;
  if (spec.state !== undefined && spec.state !== 'Running') return undefined;
  const [part] = pricedWork(object).parts;
  const { holdUSD } = status.estimate;
  if (part === undefined || holdUSD === undefined) return undefined;
  return {
    ...{ op: 'Place', key: `${metadata.uid}/first`, owner: costOwner(address, metadata.uid), amountUSD: holdUSD },
    ...{ payer: payerOf(address, metadata), terms: admitTerms(part.amounts, decisionContext().prices) },
  };
}
