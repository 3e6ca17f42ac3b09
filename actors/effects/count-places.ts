/**
 * Counts a Node's places: every Attempt that holds one is activated and tells the Node so. A parked Attempt cannot, so this effect tells it from
 * the Attempt's stored state; else its place would go to another while its work still runs. Those that wait for a place are woken
 * afterwards, orgs beside each other, and ask again: they keep nobody from being counted.
 */
import { addressKey, type Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import { heldPlace } from '../../src/kinds/attempt/effects.js';
import type { Pending, StoredEffects } from '../../storage/store.js';
import type { MessageRouter } from '../message-router.js';
import { wakeHeld, wakeUnfinished } from '../recovery.js';
import type { Slices } from '../slices.js';
import { ATTEMPT } from '../work/attempts.js';
import type { EffectOf, LaterEffectDefinition } from './definition.js';
import { DONE, type EffectOutcome } from './outcome.js';

export interface CountDeps {
  readonly router: Pick<MessageRouter, 'deliver' | 'tell'>;
  readonly pending: Pick<Pending, 'unfinishedHeld' | 'unfinishedOf' | 'unfinishedOrgs'>;
  read(address: Address): Promise<Buffer | undefined>;
  readonly stopping: AbortSignal;
  /** In which what waits is woken. */
  readonly slices: Slices;
  onProblem(message: string): void;
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
  for (const address of await wakeHeld(ATTEMPT, deps)) {
    const outcome = await tellForParked(address, row, deps);
    if (outcome.outcome !== 'Done') return outcome;
  }
  // What the Attempts tell comes first, or places would be given out that are taken.
  await deps.messagesSent(row.address);
  const counted = await deps.router.tell(row, row.address, row.uid, { type: 'PlacesCounted', count });
  // Beside all else: places are given out meanwhile.
  if (counted.outcome === 'Done') void wakeUnfinished([ATTEMPT], deps);
  return counted;
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
