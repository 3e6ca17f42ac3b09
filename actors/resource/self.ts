/** What the parts of one resource actor share: which object it is, what it holds, and what it may use. */
import type { Address } from '../../src/api/address.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { MemberRefusal } from '../../src/money/apply.js';
import type { MoneyOperation } from '../../src/money/operation.js';
import type { DecisionContext } from '../../src/kinds/machine.js';
import type { Committer } from '../../storage/commit/request.js';
import type { FullOrg } from '../../storage/org-quota.js';
import type { Responses, SecretVersions } from '../../storage/store.js';
import type { Admission } from '../admission/admission.js';
import type { Backlog } from '../admission/backlog.js';
import type { ObjectCache } from '../cache.js';
import type { AfterCommit } from './after-commit.js';
import type { Incarnation, LoadDeps } from './incarnation.js';
import type { CommitRequestDeps } from './commit-request.js';

export interface ActorDeps extends LoadDeps, CommitRequestDeps {
  readonly cache: ObjectCache;
  readonly committer: Pick<Committer, 'commit' | 'keepAnswer'>;
  readonly responses: Responses;
  readonly secrets: SecretVersions;
  decisionContext(): DecisionContext;
  /** Checks what a spec names: references, and whether the project takes new objects. */
  admit: Admission['check'];
  /** Checks the owners that the object names and did not name before. */
  admitOwners: Admission['owners'];
  referenceWarnings: Admission['referenceWarnings'];
  /** The kind's rule among the objects of its org. */
  rule: Admission['rule'];
  /** What would refuse these operations now; absent: no money is rehearsed. */
  readonly rehearse?:
    | ((org: string, operations: readonly MoneyOperation[]) => Promise<MemberRefusal | undefined>)
    | undefined;
  /** The limit of an org that is full; absent: no quota is rehearsed. */
  readonly fullOrg?: FullOrg | undefined;
  readonly afterCommit: AfterCommit;
  readonly backlog: Pick<Backlog, 'committed' | 'refusal'>;
  onFenced(): void;
}

export interface Self {
  readonly address: Address;
  readonly kind: KindDefinition;
  state: Incarnation;
}
