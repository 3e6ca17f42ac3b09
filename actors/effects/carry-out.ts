/** Owns the one switch from a later effect to what carries it out. */
import type { Address } from '../../src/api/address.js';
import type { Pending } from '../../storage/store.js';
import type { MessageRouter } from '../message-router.js';
import { countPlaces } from './count-places.js';
import type { Attempts } from '../work/attempts.js';
import { createChild, deleteChild, type ChildrenDeps } from './children.js';
import { collectChildren, collectProject } from './collect.js';
import { DONE, type EffectStep } from './outcome.js';
import type { EffectTask, PoolName } from './lanes.js';
import { isWanted, removeWork, startWork, stopWork, type WorkDeps } from './work.js';

export interface CarryOutDeps {
  readonly children: ChildrenDeps;
  readonly work: WorkDeps;
  readonly attempts: Attempts;
  readonly router: MessageRouter;
  readonly pending: Pick<Pending, 'unfinished'>;
  readonly stopping: AbortSignal;
  /** Resolves when the unstored letters to this address that are in hand now have been taken. */
  lettersSent(to: Address): Promise<void>;
  /** Gives up what is pending for this endpoint of events up to the version. */
  abandonDeliveries(org: string, endpoint: string, version: number): Promise<void>;
}

export async function carryOut(
  { row, effect }: EffectTask,
  signal: AbortSignal,
  pool: PoolName,
  deps: CarryOutDeps,
): Promise<EffectStep> {
  const { children, work, attempts, router } = deps;
  switch (effect.type) {
    case 'Tell':
      return router.tell(row, effect.to, effect.uid, effect.letter);
    case 'CreateChild':
      return createChild(row, effect, children);
    case 'DeleteChild':
      return deleteChild(row, effect, children);
    case 'CollectChildren':
      return collectChildren(row, effect, children);
    case 'CollectProject':
      return collectProject(row, effect, children);
    case 'StartWork':
      if (!(await isWanted(row, work))) return DONE;
      attempts.begin(row.uid, row.address);
      return startWork(row, effect, work, signal, pool);
    case 'StopWork':
      return stopWork(row, effect, work, signal);
    case 'RemoveWork':
      attempts.end(row.uid);
      return removeWork(row, effect, work, signal);
    case 'CountPlaces':
      return countPlaces(row, effect, deps);
    case 'AbandonDeliveries':
      await deps.abandonDeliveries(row.address.org, row.uid, row.version);
      return DONE;
  }
}
