/**
 * What a dry run of a write adds to its estimate: what the ledger and the org's quota would refuse now. Read without the lock of a commit,
 * so it may be untrue a moment later; nothing is decided by it.
 */
import type { ApiObject } from '../../src/api/object.js';
import type { Refusal } from '../../src/api/refusal.js';
import { obstruct } from '../../src/kinds/estimate.js';
import { refusalOf, refusalOfHold } from './commit-refusals.js';
import type { Draft } from './draft.js';
import type { ActorDeps } from './self.js';

type RehearsalDeps = Pick<ActorDeps, 'rehearse' | 'fullOrg'>;

/** The draft's object with what stands against the real write. */
export async function rehearse(draft: Draft, deps: RehearsalDeps): Promise<ApiObject> {
  const { address, object, version } = draft;
  if ((object.status as { readonly estimate?: unknown } | undefined)?.estimate === undefined) return object;
  const [full, money] = await Promise.all([
    version === 0 ? deps.fullOrg?.(address.org) : undefined,
    refusalOfMoney(draft, deps),
  ]);
  const quota = full === undefined ? undefined : refusalOf({ outcome: 'QuotaExceeded', limit: full }, address);
  return obstruct(object, { refusals: [quota, money] });
}

async function refusalOfMoney(draft: Draft, { rehearse: play }: RehearsalDeps): Promise<Refusal | undefined> {
  const operations = draft.atCommit.flatMap((effect) => (effect.type === 'Money' ? [effect.operation] : []));
  if (play === undefined || !operations.some(({ op }) => op === 'Place')) return undefined;
  const refusal = await play(draft.address.org, operations);
  if (refusal?.outcome !== 'Refused') return undefined;
  const { kind, name } = draft.address;
  return refusalOfHold(refusal, { uid: draft.object.metadata.uid, target: { kind, name } });
}
