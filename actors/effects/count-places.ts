/**
 * Owns the count of a Node's places: every unfinished Attempt is woken and says what it holds. A parked one cannot: what its
 * stored state says is said for it, or its place would be given to another while its work still runs.
 */
import type { Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import { heldPlace } from '../../src/kinds/attempt/effects.js';
import type { LaterEffect } from '../../src/kinds/effect.js';
import type { Pending, StoredEffects } from '../../storage/store.js';
import type { MessageRouter } from '../message-router.js';
import { activateAll } from '../recovery.js';
import { ATTEMPT } from '../work/attempts.js';
import { DONE, type EffectOutcome } from './outcome.js';

export interface CountDeps {
  readonly router: MessageRouter;
  readonly pending: Pick<Pending, 'unfinished'>;
  readonly work: { read(address: Address): Promise<Buffer | undefined> };
  readonly stopping: AbortSignal;
  /** Resolves when the unstored letters to this address that are in hand now have been taken. */
  lettersSent(to: Address): Promise<void>;
}

export async function countPlaces(
  row: StoredEffects,
  { count }: Extract<LaterEffect, { type: 'CountPlaces' }>,
  deps: CountDeps,
): Promise<EffectOutcome> {
  for (const address of await activateAll(ATTEMPT, deps)) {
    const said = await speakFor(address, row, deps);
    if (said.outcome !== 'Done') return said;
  }
  // What they say comes first, or places would be given out that are taken.
  await deps.lettersSent(row.address);
  return deps.router.tell(row, row.address, row.uid, { letter: 'PlacesCounted', count });
}

async function speakFor(address: Address, row: StoredEffects, { work, router }: CountDeps): Promise<EffectOutcome> {
  const body = await work.read(address);
  const attempt = body && decodeObject(body);
  const letter = attempt && heldPlace(address, attempt);
  if (!attempt || !letter) return DONE;
  // As a letter that no commit asked for.
  return router.tell({ ...row, address, uid: attempt.metadata.uid, version: 0 }, row.address, row.uid, letter);
}
