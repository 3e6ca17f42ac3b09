/**
 * The checks of a write that need to look at other objects: the project it goes into, and what its spec names.
 * They are made before the object's own commit; the machines deal with what changes afterwards.
 */
import { addressKey, type Address } from '../../src/api/address.js';
import { invalid } from '../../src/api/causes.js';
import { CATALOG_PROJECT } from '../../src/brand.js';
import { decodeObject } from '../../src/api/encode.js';
import type { ApiObject } from '../../src/api/object.js';
import type { Cause, Refusal } from '../../src/api/refusal.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { OrgView, RuledWrite } from '../../src/kinds/rule.js';
import { groupOf } from '../../src/kinds/versions.js';
import type { CommittedChange } from '../../storage/commit/request.js';
import type { SecretVersions } from '../../storage/store.js';
import { openCapacityWarnings, type CapacityWarnings } from './capacity.js';
import type { PaymentsReady } from '../payments/availability.js';
import { checkOwners, type OwnerDeps } from './owners.js';
import { checkPlaintextSecrets } from './plaintext-secrets.js';
import { checkReferences, warningsOfReferences, type ReferenceDeps } from './references.js';

/** Undefined: nothing has to be looked up. Most writes name no other object, and none of them is to wait for a promise. */
export type Verdict = Promise<Refusal | undefined> | undefined;

export interface Admission {
  /** `before`: what the object was. What it named then is not asked for again: it may be gone, and the object goes on. */
  check(kind: KindDefinition, address: Address, object: ApiObject, before?: ApiObject): Verdict;
  /** Whether the owners that `object` names, and `before` did not, are where their references lead. */
  owners(address: Address, object: ApiObject, before?: ApiObject): Verdict;
  /** The kind's rule among the objects of its org; undefined: it is kept to, or the kind has none. */
  rule(kind: KindDefinition, write: RuledWrite): Verdict;
  /** Warnings that the answer to a create carries. */
  readonly warnings: CapacityWarnings;
  /** And those of what it names; `now` in ms. */
  referenceWarnings(kind: KindDefinition, address: Address, object: ApiObject, now: number): Promise<readonly string[]>;
  /** A create goes into this project now; the returned call says that it is answered. */
  enter(org: string, project: string): () => void;
  /** Resolves when every create that was under way into the project has been answered (each is bounded). */
  quiet(org: string, project: string): Promise<void>;
  /** Keeps what is known of projects true. */
  committed(change: CommittedChange): void;
}

type ProjectState = 'Active' | 'Terminating';

/** Projects remembered; beyond it they are read again (I10). */
const MAX_PROJECTS = 20_000;

export interface AdmissionDeps extends ReferenceDeps, OwnerDeps {
  readonly secrets: Pick<SecretVersions, 'recognise'>;
  /** Why a URL can never be reached from here; undefined: it may be. */
  neverDialled(url: string): string | undefined;
  /** Whether credits can be bought now. */
  readonly paymentsReady: PaymentsReady;
  /** How much of a machine the work of one org may hold at once, in percent. */
  readonly orgMachinePercent: number;
}

export function openAdmission(deps: AdmissionDeps): Admission {
  const { read } = deps;
  const projects = new Map<string, ProjectState>();
  /** Grows with every change of a project, so that a read which began before it is not remembered. */
  let changes = 0;
  /** Creates on their way, by project: a project that is going must not be counted as empty before they are in it. */
  const entering = new Map<string, { count: number; readonly waiting: (() => void)[] }>();

  async function projectState(org: string, name: string): Promise<ProjectState | undefined> {
    const address: Address = { org, kind: 'Namespace', project: '', name };
    const known = projects.get(addressKey(address));
    if (known) return known;
    const seen = changes;
    const body = await read(address);
    if (seen !== changes) return projects.get(addressKey(address)) ?? (body && stateOf(body));
    return body && remember(address, body);
  }

  function remember(address: Address, body: Buffer): ProjectState {
    if (projects.size >= MAX_PROJECTS) projects.clear();
    const state = stateOf(body);
    projects.set(addressKey(address), state);
    return state;
  }

  /** Known to be there without a look. */
  function isActive({ org, project }: Address): boolean {
    if (project === CATALOG_PROJECT) return true;
    return projects.get(addressKey({ org, kind: 'Namespace', project: '', name: project })) === 'Active';
  }

  async function checkProject(address: Address): Promise<Refusal | undefined> {
    if (address.project === CATALOG_PROJECT) return undefined; // only the service writes there; the edge refuses others
    const target = { kind: address.kind, name: address.name };
    switch (await projectState(address.org, address.project)) {
      case 'Active':
        return undefined;
      case 'Terminating':
        return { code: 'Forbidden', message: `project "${address.project}" is being deleted`, target };
      case undefined:
        return {
          code: 'NotFound',
          message: `project "${address.project}" does not exist`,
          fix: `Create it first: POST /api/v1/namespaces {"metadata":{"name":"${address.project}"}}`,
          target: { kind: 'Namespace', name: address.project },
        };
    }
  }

  async function lookUp(
    kind: KindDefinition,
    address: Address,
    object: ApiObject,
    before: ApiObject | undefined,
  ): Promise<Refusal | undefined> {
    if (entersProject(kind, before)) {
      const refusal = await checkProject(address);
      if (refusal) return refusal;
    }
    if (kind.needsPayments === true && before === undefined) {
      const refusal = await deps.paymentsReady();
      if (refusal) return { ...refusal, target: { kind: address.kind, name: address.name } };
    }
    const target = { kind: address.kind, name: address.name };
    const shown = kind.plaintextSecretCheck ? await checkPlaintextSecrets(kind, address, object, deps) : [];
    const missing = kind.references ? await checkReferences(kind, address, object, before, deps) : [];
    const causes = [...missing, ...shown, ...checkDials(kind, object, before, deps)];
    if (causes.length === 0) return undefined;
    if (causes.every(({ reason }) => reason === 'SecretValueInEnv')) {
      const message = `${address.kind} "${address.name}" shows the value of a Secret that it mounts: ${causes.map(({ field }) => field).join(', ')}`;
      return { code: 'SecretValueInEnv', message, causes, target };
    }
    return invalid({ ...target, group: groupOf(kind) }, causes);
  }

  async function lookForOwners(
    address: Address,
    object: ApiObject,
    before: ApiObject | undefined,
  ): Promise<Refusal | undefined> {
    const causes = await checkOwners(address, object, before, deps);
    if (causes.length === 0) return undefined;
    const { kind, name } = address;
    const message = `${kind} "${name}" is invalid: ${causes.map((cause) => cause.message).join('; ')}`;
    return { code: 'Invalid', message, causes, target: { kind, name } };
  }

  return {
    check(kind, address, object, before) {
      const namesNone = !kind.plaintextSecretCheck && !kind.references && !kind.dials && !kind.needsPayments;
      if (namesNone && (!entersProject(kind, before) || isActive(address))) return undefined;
      return lookUp(kind, address, object, before);
    },
    rule: (kind, write) => kind.rule?.(write, viewOf(write.org, deps)),
    owners(address, object, before) {
      const named = object.metadata.ownerReferences;
      if (named === undefined || named === before?.metadata.ownerReferences) return undefined;
      return lookForOwners(address, object, before);
    },
    warnings: openCapacityWarnings(read, deps.orgMachinePercent),
    referenceWarnings: (kind, address, object, now) => warningsOfReferences(kind, address, object, deps, now),
    enter(org, project) {
      const key = `${org}/${project}`;
      const entry = entering.get(key) ?? { count: 0, waiting: [] };
      entry.count += 1;
      entering.set(key, entry);
      return () => {
        entry.count -= 1;
        if (entry.count > 0) return;
        entering.delete(key);
        for (const wake of entry.waiting) wake();
      };
    },
    quiet(org, project) {
      const entry = entering.get(`${org}/${project}`);
      return entry ? new Promise((resolve) => entry.waiting.push(resolve)) : Promise.resolve();
    },
    committed(change) {
      if (change.address.kind !== 'Namespace') return;
      changes += 1;
      if (change.type === 'DELETED') projects.delete(addressKey(change.address));
      else remember(change.address, change.after);
    },
  };
}

/** As in Kubernetes, what is in a project that goes may still be changed: cancelled, say. */
function entersProject(kind: KindDefinition, before: ApiObject | undefined): boolean {
  return kind.scope === 'project' && before === undefined;
}

/** What stands there already may stay: its deliveries say what is wrong with it. */
function checkDials(
  kind: KindDefinition,
  object: ApiObject,
  before: ApiObject | undefined,
  deps: Pick<AdmissionDeps, 'neverDialled'>,
): readonly Cause[] {
  if (kind.dials === undefined) return [];
  const had = new Set(((before && kind.dials(before)) ?? []).map(({ url }) => url));
  return kind.dials(object).flatMap(({ field, url }) => {
    const why = had.has(url) ? undefined : deps.neverDialled(url);
    return why === undefined
      ? []
      : [{ field, message: `must be at a public address: ${why}`, reason: 'FieldValueInvalid' }];
  });
}

function viewOf(org: string, { read, search }: ReferenceDeps): OrgView {
  return {
    async read(kind, name) {
      const body = await read({ org, kind, project: '', name });
      return body && decodeObject(body);
    },
    async *list(kind) {
      for await (const bodies of search(org, kind, '')) for (const body of bodies) yield decodeObject(body);
    },
  };
}

function stateOf(body: Buffer): ProjectState {
  return decodeObject(body).metadata.deletionTimestamp === undefined ? 'Active' : 'Terminating';
}
