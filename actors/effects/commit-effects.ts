/** Effects that become rows of the very transaction of the state that asked for them (I5): nothing is left to do afterwards. */
import type { CommitEffect } from '../../src/kinds/effect.js';
import type { CommitRequest, EventRow, TimerWrite } from '../../storage/commit/request.js';
import type { EffectOf } from './definition.js';

/** What effects add to a commit. */
export interface CommitRows {
  readonly events: EventRow[];
  readonly timers: TimerWrite[];
  readonly credentials: CommitRequest['credentials'][number][];
  readonly holds: CommitRequest['holds'][number][];
  readonly releases: string[];
  readonly postings: CommitRequest['postings'][number][];
  dropSecretsBelow: number | undefined;
  revokeCredentials: boolean;
  blobs: CommitRequest['blobs'];
}

export interface CommitContext {
  /** Of the object as the commit leaves it. */
  readonly status: unknown;
  /** The commit deletes the object. */
  readonly gone: boolean;
  /** Strictly increasing: names each arming of a timer, so that a job of an earlier one is recognised. */
  nextGeneration(): number;
}

export interface CommitEffectDefinition<Type extends CommitEffect['type']> {
  readonly when: 'commit';
  readonly addRows: (rows: CommitRows, effect: EffectOf<Type>, context: CommitContext) => void;
}

export const COMMIT_EFFECTS: { readonly [Type in CommitEffect['type']]: CommitEffectDefinition<Type> } = {
  Emit: atCommit(({ events }, { event, reason, message }, { status }) => {
    events.push({ event, reason, message, status: eventStatus(status) });
  }),
  ArmTimer: atCommit(({ timers }, { timer, at }, context) => {
    timers.push({ op: 'arm', timer, generation: context.nextGeneration(), at });
  }),
  CancelTimer: atCommit(({ timers }, { timer }) => {
    timers.push({ op: 'clear', timer, generation: Number.MAX_SAFE_INTEGER });
  }),
  // Sealed before, since values that are kept have to be read.
  SealSecret: atCommit(() => undefined),
  DropSecretVersions: atCommit((rows, { below }) => {
    rows.dropSecretsBelow = below;
  }),
  GrantCredential: atCommit(({ credentials }, { sha256, expires, detail }) => {
    credentials.push({ sha256, expires, detail });
  }),
  RevokeCredentials: atCommit((rows) => {
    rows.revokeCredentials = true;
  }),
  ReleaseBlobs: atCommit((rows, _effect, { gone }) => {
    rows.blobs = gone ? undefined : [];
  }),
  PlaceHold: atCommit(({ holds }, { hold }) => {
    holds.push(hold);
  }),
  ReleaseHold: atCommit(({ releases }, { key }) => {
    releases.push(key);
  }),
  Post: atCommit(({ postings }, { posting }) => {
    postings.push(posting);
  }),
  // Has set `deletionTimestamp` in the draft.
  DeleteSelf: atCommit(() => undefined),
};

function atCommit<Type extends CommitEffect['type']>(
  add: CommitEffectDefinition<Type>['addRows'],
): CommitEffectDefinition<Type> {
  return { when: 'commit', addRows: add };
}

export function addRows(rows: CommitRows, effect: CommitEffect, context: CommitContext): void {
  // The key of an entry and the type of its effect are the same, which is more than the compiler sees of a union.
  const add = COMMIT_EFFECTS[effect.type].addRows as CommitEffectDefinition<CommitEffect['type']>['addRows'];
  add(rows, effect, context);
}

/** What an event shows of its object's status: never more than phase and reason. */
function eventStatus(status: unknown): string {
  const { phase, reason } = (status ?? {}) as { phase?: unknown; reason?: unknown };
  return JSON.stringify({ phase, reason });
}
