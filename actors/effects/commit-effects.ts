/**
 * The table of effects that become rows of the very transaction of the state that asked for them (I5): nothing is left to do
 * afterwards. Pure. Every other effect is a later one.
 */
import type { CommitEffect, Effect, LaterEffect } from '../../src/kinds/effect.js';
import type { CommitRequest, EventRow, TimerWrite } from '../../storage/commit/request.js';
import type { EffectOf } from './definition.js';

/** What effects add to a commit. */
export interface CommitRows {
  readonly events: EventRow[];
  readonly timers: TimerWrite[];
  readonly credentials: CommitRequest['credentials'][number][];
  readonly money: CommitRequest['money'][number][];
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

type AddRows<Type extends CommitEffect['type']> = (
  rows: CommitRows,
  effect: EffectOf<Type>,
  context: CommitContext,
) => void;

const COMMIT_EFFECTS: { readonly [Type in CommitEffect['type']]: AddRows<Type> } = {
  Emit: ({ events }, { event, reason, message }, { status }) => {
    events.push({ event, reason, message, status: eventStatus(status) });
  },
  ArmTimer: ({ timers }, { timer, at }, context) => {
    timers.push({ op: 'arm', timer, generation: context.nextGeneration(), at });
  },
  CancelTimer: ({ timers }, { timer }) => {
    timers.push({ op: 'clear', timer, generation: Number.MAX_SAFE_INTEGER });
  },
  // Sealed before, since values that are kept have to be read.
  SealSecret: () => undefined,
  DropSecretVersions: (rows, { below }) => {
    rows.dropSecretsBelow = below;
  },
  GrantCredential: ({ credentials }, { sha256, expires, detail }) => {
    credentials.push({ sha256, expires, detail });
  },
  RevokeCredentials: (rows) => {
    rows.revokeCredentials = true;
  },
  ReleaseBlobs: (rows, _effect, { gone }) => {
    rows.blobs = gone ? undefined : [];
  },
  Money: ({ money }, { operation }) => {
    money.push(operation);
  },
  // Has set `deletionTimestamp` in the draft.
  DeleteSelf: () => undefined,
};

/** From the table, where every CommitEffect has its entry and nothing else has one. */
export function isLater(effect: Effect): effect is LaterEffect {
  return !(effect.type in COMMIT_EFFECTS);
}

export function addRows(rows: CommitRows, effect: CommitEffect, context: CommitContext): void {
  // The key of an entry and the type of its effect are the same, which is more than the compiler sees of a union.
  const add = COMMIT_EFFECTS[effect.type] as AddRows<CommitEffect['type']>;
  add(rows, effect, context);
}

/** What an event shows of its object's status: never more than phase and reason. */
function eventStatus(status: unknown): string {
  const { phase, reason } = (status ?? {}) as { phase?: unknown; reason?: unknown };
  return JSON.stringify({ phase, reason });
}
