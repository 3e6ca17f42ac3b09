/**
 * What requests to models name: InferenceEndpoints, projects and Models, kept ready so that a request waits for no read. What is kept is dropped
 * with the commit that changes it, and read again by the next request.
 *
 * I10: so many endpoints and projects, the least recently used go. The catalog's Models are all there.
 */
import { LRUCache } from 'lru-cache';
import { addressKey, type Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import type { ApiObject } from '../../src/api/object.js';
import { BRAND } from '../../src/brand.js';
import { payerOf } from '../../src/kinds/inferenceendpoint/state.js';
import type { InferenceEndpointSpec } from '../../src/kinds/inferenceendpoint/schema.js';
import type { ModelSpec } from '../../src/kinds/model/schema.js';
import type { StoredObject } from '../../storage/store.js';
import type { BlockPayer } from './blocks.js';
import type { EndpointLimits } from './limits.js';
import { atMost } from '../../src/lru-bound.js';

const MOST_ENDPOINTS = 20_000;
const MOST_PROJECTS = 20_000;

export interface EndpointView {
  readonly address: Address;
  readonly uid: string;
  readonly generation: number;
  readonly state: InferenceEndpointSpec['state'];
  /** As its spec names it. */
  readonly model: string;
  /** Names of API keys; absent: every key. */
  readonly allowedKeys: ReadonlySet<string> | undefined;
  readonly limits: EndpointLimits;
  readonly payer: BlockPayer;
}

export interface ModelView {
  readonly name: string;
  readonly uid: string;
  readonly spec: ModelSpec;
  /** RFC 3339. */
  readonly created: string;
}

type Found<View> = View | undefined | Promise<View | undefined>;

export interface Directory {
  endpoint(org: string, project: string, name: string): Found<EndpointView>;
  /** Who pays for requests of a project on the shared base. Undefined: there is no such project. */
  project(org: string, project: string): Found<BlockPayer>;
  /** By its name, with or without the catalog before it, by its id or an alias. */
  model(text: string): ModelView | undefined;
  models(): readonly ModelView[];
  /** An object was changed by a commit; undefined: it is gone. Of a Model, InferenceEndpoint or Namespace. */
  changed(address: Address, object: ApiObject | undefined): void;
}

export interface DirectoryDeps {
  /** From storage, with the private state. */
  read(address: Address): Promise<StoredObject | undefined>;
  /** All Models of the catalog. */
  listModels(): Promise<readonly ApiObject[]>;
  onProblem(message: string): void;
}

export async function openDirectory({ read, listModels, onProblem }: DirectoryDeps): Promise<Directory> {
  const endpoints = new LRUCache<string, EndpointView>(atMost(MOST_ENDPOINTS));
  const projects = new LRUCache<string, BlockPayer>(atMost(MOST_PROJECTS));
  /** Reads under way, by address: one for all that ask meanwhile. What was changed since it began is `old`, and not kept. */
  const reads = new Map<string, { readonly found: Promise<object | undefined>; old: boolean }>();
  let models = indexOf(await listModels());
  let modelChanges = 0;
  let reading = false;

  function fill<View extends object>(
    kept: LRUCache<string, View>,
    address: Address,
    view: (stored: StoredObject) => View | undefined,
  ): Promise<View | undefined> {
    const key = addressKey(address);
    const known = reads.get(key);
    // Of the same kind of view, since the address says which kind.
    if (known?.old === false) return known.found as Promise<View | undefined>;
    const found = read(address)
      .then((stored) => {
        const made = stored && view(stored);
        if (made !== undefined && !mine.old) kept.set(key, made);
        return made;
      })
      .finally(() => {
        if (reads.get(key) === mine) reads.delete(key);
      });
    const mine = { found, old: false };
    reads.set(key, mine);
    return found;
  }

  function forget(address: Address): void {
    const key = addressKey(address);
    const under = reads.get(key);
    if (under !== undefined) under.old = true;
    (address.kind === 'Namespace' ? projects : endpoints).delete(key);
  }

  async function readModels(): Promise<void> {
    if (reading) return;
    reading = true;
    try {
      for (let seen = -1; seen !== modelChanges;) {
        seen = modelChanges;
        models = indexOf(await listModels());
      }
    } catch (error) {
      onProblem(error instanceof Error ? error.message : 'failed');
    } finally {
      reading = false;
    }
  }

  return {
    endpoint(org, project, name) {
      const address = { org, kind: 'InferenceEndpoint', project, name };
      return endpoints.get(addressKey(address)) ?? fill(endpoints, address, endpointView);
    },
    project(org, project) {
      const address = { org, kind: 'Namespace', project: '', name: project };
      return projects.get(addressKey(address)) ?? fill(projects, address, projectPayer);
    },
    model: (text) => models.get(text.startsWith(`${BRAND}/`) ? text.slice(BRAND.length + 1) : text),
    models: () => [...new Set(models.values())],
    changed(address, object) {
      switch (address.kind) {
        case 'Model':
          modelChanges += 1;
          void readModels();
          return;
        case 'InferenceEndpoint': {
          // Its status changes every second while it is used, and says nothing here.
          const view = endpoints.peek(addressKey(address));
          if (view !== undefined && object !== undefined && isAsBefore(view, object)) return;
          forget(address);
          return;
        }
        case 'Namespace':
          forget(address);
          return;
        default:
      }
    },
  };
}

function isAsBefore(view: EndpointView, { metadata }: ApiObject): boolean {
  const { uid, generation, deletionTimestamp } = metadata;
  return view.uid === uid && view.generation === generation && deletionTimestamp === undefined;
}

/** One whose deletion has begun serves nothing. */
function endpointView({ address, uid, body, private: kept }: StoredObject): EndpointView | undefined {
  const object = decodeObject<InferenceEndpointSpec>(body);
  const { metadata, spec } = object;
  if (metadata.deletionTimestamp !== undefined) return undefined;
  const owner = { uid, kind: address.kind, project: address.project, name: address.name };
  return {
    ...{ address, uid, generation: metadata.generation, state: spec.state, model: spec.model, limits: spec.limits },
    allowedKeys: spec.allowedKeys?.length ? new Set(spec.allowedKeys) : undefined,
    payer: {
      ...{ org: address.org, id: uid, owner, endpoint: uid },
      payer: payerOf(kept === null ? undefined : JSON.parse(kept), object),
    },
  };
}

function projectPayer({ address, uid, body }: StoredObject): BlockPayer | undefined {
  const { metadata } = decodeObject(body);
  if (metadata.deletionTimestamp !== undefined) return undefined;
  const { org, name } = address;
  return {
    ...{ org, id: uid, owner: { uid, kind: address.kind, project: '', name } },
    payer: { project: name, labels: {}, costs: [] },
  };
}

function indexOf(objects: readonly ApiObject[]): ReadonlyMap<string, ModelView> {
  const found = new Map<string, ModelView>();
  for (const { metadata, spec } of objects) {
    const view = {
      name: metadata.name,
      uid: metadata.uid,
      spec: spec as ModelSpec,
      created: metadata.creationTimestamp,
    };
    const { id, aliases = [] } = view.spec;
    for (const name of [view.name, ...(id === undefined ? [] : [id]), ...aliases]) found.set(name, view);
  }
  return found;
}
