/**
 * Counts a Node's places: every unfinished Attempt is activated and tells the Node what it holds. A parked Attempt cannot, so
 * this effect tells it from the Attempt's stored state; else its place would go to another while its work still runs.
 */
import { addressKey, type Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import { heldPlace } from '../../src/kinds/attempt/effects.js';
import type { Pending, StoredEffects } from '../../storage/store.js';
import type { MessageRouter } from '../message-router.js';
import { activateAll } from '../recovery.js';
import { ATTEMPT } from '../work/attempts.js';
import type { EffectOf, LaterEffectDefinition } from './definition.js';
import { DONE, type EffectOutcome } from './outcome.js';

export interface CountDeps {
  readonly router: Pick<MessageRouter, 'deliver' | 'tell'>;
  readonly pending: Pick<Pending, 'unfinished'>;
  read(address: Address): Promise<Buffer | undefined>;
  readonly stopping: AbortSignal;
  /** Resolves when the volatile messages to this address that are in hand now are done. */
  messagesSent(to: Address): Promise<void>;
}

export const countPlacesEffect: LaterEffectDefinition<'CountPlaces', Omit<CountDeps, 'messagesSent'>> = {
  pool: 'general',
  laneOf: (_effect, asking) => addressKey(asking),
  run: (row, effect, deps, { messagesSent }) => countPlaces(row, effect, { ...deps, messagesSent }),
};

export async function countPlaces(
  row: StoredEffects,
  { count }: EffectOf<'CountPlaces'>,
  deps: CountDeps,
): Promise<EffectOutcome> {
  for (const address of await activateAll(ATTEMPT, deps)) {
    const outcome = await tellForParked(address, row, deps);
    if (outcome.outcome !== 'Done') return outcome;
  }
  // What the Attempts tell comes first, or places would be given out that are taken.
  await deps.messagesSent(row.address);
  return deps.router.tell(row, row.address, row.uid, { type: 'PlacesCounted', count });
}

async function tellForParked(
  address: Address,
  row: StoredEffects,
  { read, router }: CountDeps,
): Promise<EffectOutcome> {
  const body = await read(address);
  const attempt = body && decodeObject(body);
  const message = attempt && heldPlace(address, attempt);
  if (!attempt || !message) return DONE;
  // As a message that no commit asked for.
  return router.tell({ ...row, address, uid: attempt.metadata.uid, version: 0 }, row.address, row.uid, message);
}
