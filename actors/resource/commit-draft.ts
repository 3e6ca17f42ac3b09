/**
 * Makes a draft the committed state: hands its request to the committer, and only when it is durable takes it as the actor's state,
 * lets its effects run and its messages go (I2, I5).
 */
import type { IdempotencyWrite, CommitResult } from '../../storage/commit/request.js';
import type { Draft } from './draft.js';
import { commitRequestOf, isActive, type Basis } from './commit-request.js';
import { sealSecrets } from './seal.js';
import { timersAfter } from './timers.js';
import type { ActorDeps, Self } from './self.js';

export type CommitOutcome =
  | { readonly outcome: 'Unchanged' }
  | { readonly outcome: 'Written'; readonly body: Buffer; readonly version: number }
  | Exclude<CommitResult, { outcome: 'Committed' }>;

export async function commitDraft(
  self: Self,
  draft: Draft,
  deps: ActorDeps,
  idempotency?: IdempotencyWrite,
): Promise<CommitOutcome> {
  const basis = basisOf(self);
  const timers = self.state.at === 'Present' ? self.state.timers : undefined;
  const secrets = draft.atCommit.length > 0 ? await sealSecrets(draft, deps.secrets) : [];
  const request = commitRequestOf(draft, self.kind, basis, secrets, deps, idempotency);
  const { uid } = draft.object.metadata;
  const wasActive = self.state.at === 'Present' && isActive(self.state.object, self.kind);
  if (request === undefined) {
    deps.afterCommit.volatile(self.address, uid, draft.volatile);
    return { outcome: 'Unchanged' };
  }
  // I1: the object's own actor is the only caller of commit, and it waits for each answer before it decides again.
  const result = await deps.committer.commit(request, basis?.body);
  switch (result.outcome) {
    case 'Committed': {
      const { version, funded } = result;
      if (funded !== undefined) deps.afterCommit.funded(uid, funded);
      const { body } = request.write;
      deps.backlog.committed(self.address, wasActive, request.active);
      if (draft.gone) {
        self.state = { at: 'Absent' };
      } else {
        self.state = {
          at: 'Present',
          uid,
          version,
          body,
          object: draft.object,
          private: draft.private,
          timers: timersAfter(basis === undefined ? new Map() : timers, request.timers),
          sideState: draft.sideState,
        };
        deps.cache.setPrivate(self.address, version, request.private);
      }
      if (request.timers.length > 0) deps.afterCommit.timers(self.address, uid, request.timers);
      if (request.effects.length > 0)
        deps.afterCommit.effects({ version, address: self.address, uid, effects: request.effects });
      if (draft.volatile.length > 0) deps.afterCommit.volatile(self.address, uid, draft.volatile);
      return { outcome: 'Written', body, version };
    }
    case 'Fenced':
      deps.onFenced();
      self.state = { at: 'Unknown' };
      return result;
    default:
      // I3: what is stored now is not what was decided upon. Forget the draft (its side state too) and load again.
      self.state = { at: 'Unknown' };
      if (result.outcome === 'Stale') deps.cache.forget(self.address);
      return result;
  }
}

function basisOf(self: Self): Basis | undefined {
  if (self.state.at !== 'Present') return undefined;
  const { version, body, object, private: kept } = self.state;
  const owners = (object.metadata.ownerReferences ?? []).map((owner) => owner.uid);
  return { version, body, owners, blobs: self.kind.blobs?.(object, kept) ?? [] };
}
