/**
 * Owns the checks of a write that need to look at other objects: the project it goes into, and what its spec names.
 * They are made at the door, before the object's own commit; what changes afterwards is the machines' matter.
 */
import { addressKey, type Address } from '../src/api/address.js';
import { CATALOG_ORG, CATALOG_PROJECT } from '../src/brand.js';
import { decodeObject } from '../src/api/encode.js';
import type { ApiObject } from '../src/api/object.js';
import type { Cause, Refusal } from '../src/api/refusal.js';
import type { KindDefinition, Reference } from '../src/kinds/kind.js';
import type { SecretStatus } from '../src/kinds/secret/schema.js';
import type { CommittedChange } from '../storage/commit/member.js';
import type { SecretVersions } from '../storage/store.js';

export interface Admission {
  /** `before`: what the object was. What it named then is not asked for again: it may be gone, and the object goes on. */
  check(kind: KindDefinition, address: Address, object: ApiObject, before?: ApiObject): Promise<Refusal | undefined>;
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

/** `search`: every object of a kind in one project, for what goes by another name than its own. */
export function openAdmission(
  read: (address: Address) => Promise<Buffer | undefined>,
  search: (org: string, kind: string, project: string) => AsyncIterable<readonly Buffer[]>,
  secrets: Pick<SecretVersions, 'recognise'>,
): Admission {
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

  async function checkReferences(
    kind: KindDefinition,
    address: Address,
    object: ApiObject,
    before: ApiObject | undefined,
  ): Promise<Cause[]> {
    const causes: Cause[] = [];
    const had = (before && kind.references?.(before)) ?? [];
    for (const reference of kind.references?.(object) ?? []) {
      if (had.some((known) => sameTarget(known, reference))) continue;
      const project = reference.project ?? address.project;
      const found = await find(reference, address.org, project);
      if (!found) {
        const where = project === '' ? '' : ` in project "${project}"`;
        causes.push({
          field: reference.field,
          message: `${reference.kind} "${reference.name}" does not exist${where}`,
          reason: reference.reason ?? 'NotFound',
        });
        continue;
      }
      const message = reference.objection?.(found);
      if (message !== undefined) causes.push({ field: reference.field, message, reason: 'FieldValueInvalid' });
    }
    return causes;
  }

  async function find(reference: Reference, own: string, project: string): Promise<ApiObject | undefined> {
    // The catalog is everybody's, and lives in an org of its own.
    const org = project === CATALOG_PROJECT ? CATALOG_ORG : own;
    const { kind, name } = reference;
    const body = await read({ org, kind, project, name });
    if (body) return decodeObject(body);
    if (!reference.meant) return undefined;
    for await (const bodies of search(org, kind, project)) {
      for (const candidate of bodies) {
        const object = decodeObject(candidate);
        if (reference.meant(object)) return object;
      }
    }
    return undefined;
  }

  /** Values of Secrets that the work gets, written out beside them: who reads the object would read the Secret. */
  async function checkPlainSight(kind: KindDefinition, { org, project }: Address, object: ApiObject): Promise<Cause[]> {
    const seen = kind.plainSight?.(object);
    if (seen === undefined || seen.texts.length === 0) return [];
    const found = new Map<number, string>();
    const texts = seen.texts.map(({ text }) => text);
    for (const { name, version } of seen.secrets) {
      const body = await read({ org, kind: 'Secret', project, name });
      if (!body) continue; // a missing one is a cause of its own
      const secret = decodeObject<unknown, SecretStatus>(body);
      const wanted = version ?? secret.status.version ?? 1;
      const positions = await secrets.recognise(org, secret.metadata.uid, wanted, texts);
      for (const position of positions) found.set(position, name);
    }
    return [...found].map(([position, name]) => ({
      field: seen.texts[position]?.field ?? 'spec.env',
      reason: 'SecretValueInEnv',
      message: `holds a value of Secret "${name}", which this work mounts; refer to it with valueFrom.secretKeyRef`,
    }));
  }

  return {
    async check(kind, address, object, before) {
      // As in Kubernetes, what is in a project that goes may still be changed: cancelled, say.
      if (kind.scope === 'project' && before === undefined) {
        const refusal = await checkProject(address);
        if (refusal) return refusal;
      }
      const target = { kind: address.kind, name: address.name };
      const shown = kind.plainSight ? await checkPlainSight(kind, address, object) : [];
      const missing = kind.references ? await checkReferences(kind, address, object, before) : [];
      const causes = [...missing, ...shown];
      if (causes.length === 0) return undefined;
      if (missing.length === 0) {
        const message = `${address.kind} "${address.name}" shows the value of a Secret that it mounts: ${causes.map(({ field }) => field).join(', ')}`;
        return { code: 'SecretValueInEnv', message, causes, target };
      }
      const message = `${address.kind} "${address.name}" names what does not exist: ${causes.map(({ field }) => field).join(', ')}`;
      return { code: 'Invalid', message, causes, target };
    },
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

function stateOf(body: Buffer): ProjectState {
  return decodeObject(body).metadata.deletionTimestamp === undefined ? 'Active' : 'Terminating';
}

function sameTarget(one: Reference, other: Reference): boolean {
  return one.kind === other.kind && one.name === other.name && one.project === other.project;
}
