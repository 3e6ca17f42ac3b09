/** Owns what the parts of one resource actor share: who it is, what it holds, and what it may use. */
import type { Address } from '../../src/api/address.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { DecisionContext } from '../../src/kinds/machine.js';
import type { Committer } from '../../storage/commit/request.js';
import type { Responses, SecretVersions, StoredEffects } from '../../storage/store.js';
import type { Admission } from '../admission/admission.js';
import type { ObjectCache } from '../cache.js';
import type { Incarnation, LoadDeps } from './incarnation.js';
import type { CommitRequestDeps } from './commit-request.js';
import type { TimerWrite } from '../../storage/commit/request.js';
import type { LaterEffect } from '../../src/kinds/effect.js';

export interface ActorDeps extends LoadDeps, CommitRequestDeps {
  readonly cache: ObjectCache;
  readonly committer: Pick<Committer, 'commit' | 'keepAnswer'>;
  readonly responses: Responses;
  readonly secrets: SecretVersions;
  moment(): DecisionContext;
  /** Checks what a spec names: references, and whether the project takes new objects. */
  admit: Admission['check'];
  /** Checks the owners that the object names and did not name before. */
  admitOwners: Admission['owners'];
  /** The kind's rule among the objects of its org. */
  rule: Admission['rule'];
  /** Takes the stored effects of a commit; carries them out in order per object and target. */
  effects(stored: StoredEffects): void;
  /** Sends letters that nothing stored asks for. */
  volatile(address: Address, uid: string, letters: readonly LaterEffect[]): void;
  /** Tells the timer queue of rows that this commit wrote or removed. */
  timers(address: Address, uid: string, writes: readonly TimerWrite[]): void;
  onFenced(): void;
}

export interface Self {
  readonly address: Address;
  readonly kind: KindDefinition;
  state: Incarnation;
}
