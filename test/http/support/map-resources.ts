/**
 * A ResourceService over a Map, for tests of the HTTP layers alone: versions in write order, the changes log whole, watchers
 * served in the next turn. It validates nothing and knows no machine; what objects mean is tested elsewhere.
 */
import { addressKey, type Address } from '../../../src/api/address.js';
import { decodeObject, encodeObject, stampVersion } from '../../../src/api/encode.js';
import type { ApiObject } from '../../../src/api/object.js';
import type { Refusal } from '../../../src/api/refusal.js';
import type { CommittedChange } from '../../../storage/commit/request.js';
import type {
  PageRequest,
  Range,
  ResourceService,
  Watcher,
  WriteReply,
  WriteRequest,
} from '../../../actors/resource-service.js';

export interface MapResources extends ResourceService {
  /** Puts an object in place as the service would, without a caller. */
  put(address: Address, object: ApiObject): Promise<number>;
  /** Everything at or below this version is forgotten. */
  compact(version: number): void;
  readonly requests: WriteRequest[];
  readonly watchers: number;
  /** From now on every write waits until the returned function is called. */
  hold(): () => void;
}

interface Live {
  readonly range: Range;
  readonly watcher: Watcher;
  at: number;
}

function inRange(range: Range, address: Address): boolean {
  return (
    address.org === range.org &&
    address.kind === range.kind.kind &&
    (range.project === undefined || range.project === address.project) &&
    (range.name === undefined || range.name === address.name)
  );
}

export function openMapResources(): MapResources {
  const log: CommittedChange[] = [];
  const current = new Map<string, { address: Address; body: Buffer; version: number }>();
  const live = new Set<Live>();
  const requests: WriteRequest[] = [];
  let version = 100;
  let floor = 100;
  let uids = 0;
  let gate: Promise<void> = Promise.resolve();
  let ticking = false;

  function commit(type: CommittedChange['type'], address: Address, object: ApiObject): Buffer {
    version += 1;
    const key = addressKey(address);
    const before = current.get(key)?.body;
    const after = stampVersion(encodeObject(object), version);
    if (type === 'DELETED') current.delete(key);
    else current.set(key, { address, body: after, version });
    log.push({ version, type, address, uid: object.metadata.uid, before, after });
    if (!ticking) {
      ticking = true;
      setImmediate(tick);
    }
    return after;
  }

  function tick(): void {
    ticking = false;
    for (const entry of [...live]) {
      const mine = log.filter((item) => item.version > entry.at && inRange(entry.range, item.address));
      entry.at = version;
      if (mine.length > 0 && !entry.watcher.onChanges(mine, version)) {
        live.delete(entry);
        entry.watcher.onEnd('Slow');
      }
    }
  }

  function refused(code: Refusal['code'], message: string): WriteReply {
    return { outcome: 'Refused', refusal: { code, message } };
  }

  function born(address: Address, body: Record<string, unknown>): ApiObject {
    const given = (body['metadata'] ?? {}) as Record<string, unknown>;
    return {
      apiVersion: String(body['apiVersion']),
      kind: address.kind,
      metadata: {
        ...given,
        name: address.name,
        ...(address.project === '' ? {} : { namespace: address.project }),
        uid: `uid-${(uids += 1)}`,
        generation: 1,
        creationTimestamp: '2026-01-02T03:04:05Z',
      },
      spec: body['spec'] ?? {},
      status: { phase: 'Pending' },
    };
  }

  function apply(address: Address, request: WriteRequest): WriteReply {
    const found = current.get(addressKey(address));
    if (request.verb === 'create') {
      if (found) return refused('AlreadyExists', `${address.kind} "${address.name}" already exists`);
      const object = born(address, request.body);
      if (request.dryRun)
        return { outcome: 'Done', status: 201, body: encodeObject(object), etag: 'dry-run', warnings: [] };
      const body = commit('ADDED', address, object);
      return { outcome: 'Done', status: 201, body, etag: String(version), warnings: [] };
    }
    if (!found) return refused('NotFound', `${address.kind} "${address.name}" not found`);
    if (request.ifMatch !== undefined && request.ifMatch !== String(found.version)) {
      return refused('PreconditionFailed', 'the object has changed');
    }
    const before = decodeObject(found.body);
    const body = change(address, before, request);
    return { outcome: 'Done', status: 200, body, etag: String(version), warnings: [] };
  }

  function change(address: Address, before: ApiObject, request: WriteRequest): Buffer {
    switch (request.verb) {
      case 'delete':
        return commit('DELETED', address, before);
      case 'patch': {
        const patch = request.patch.type === 'merge' ? request.patch.patch : {};
        const { metadata, spec } = patch as { metadata?: object; spec?: object };
        const status = (patch as { status?: unknown }).status ?? before.status;
        const next = {
          ...before,
          metadata: { ...before.metadata, ...metadata },
          spec: { ...(before.spec as object), ...spec },
          status,
        };
        return commit('MODIFIED', address, next);
      }
      default: {
        const given = 'body' in request ? request.body : {};
        return commit('MODIFIED', address, { ...before, spec: given['spec'] ?? {} });
      }
    }
  }

  function stateAt(asked: number): { address: Address; body: Buffer }[] {
    const state = new Map<string, { address: Address; body: Buffer }>();
    for (const entry of log) {
      if (entry.version > asked) break;
      if (entry.type === 'DELETED') state.delete(addressKey(entry.address));
      else state.set(addressKey(entry.address), { address: entry.address, body: entry.after });
    }
    return [...state.values()];
  }

  return {
    requests,
    get watchers() {
      return live.size;
    },
    hold() {
      let open = (): void => undefined;
      gate = new Promise((resolve) => (open = resolve));
      return () => open();
    },
    async put(address, object) {
      commit(current.has(addressKey(address)) ? 'MODIFIED' : 'ADDED', address, object);
      return version;
    },
    compact(to) {
      floor = to;
    },
    async write(address, request) {
      requests.push(request);
      await gate;
      return apply(address, request);
    },
    async read(address) {
      return current.get(addressKey(address))?.body;
    },
    peek: (address) => current.get(addressKey(address))?.body,
    async list({ range, version: asked, after, limit }: PageRequest) {
      const at = asked ?? version;
      const all = stateAt(at)
        .filter(({ address }) => inRange(range, address))
        .filter(
          ({ address }) =>
            after === undefined ||
            address.project > after.project ||
            (address.project === after.project && address.name > after.name),
        )
        .toSorted((a, b) =>
          a.address.project === b.address.project
            ? Number(a.address.name > b.address.name) - 0.5
            : Number(a.address.project > b.address.project) - 0.5,
        )
        .map(({ body }) => body)
        .slice(0, limit);
      async function* items(): AsyncGenerator<readonly Buffer[]> {
        for (let from = 0; from < all.length; from += 500) yield all.slice(from, from + 500);
      }
      const count = stateAt(at).filter(({ address }) => inRange(range, address)).length;
      return { version: at, count, items: items() };
    },
    slice: async () => {},
    version: () => version,
    settled: () => version,
    floor: () => floor,
    async watch(range, from, watcher, signal) {
      if (from < floor || from > version) return 'Expired';
      const entry: Live = { range, watcher, at: from };
      live.add(entry);
      signal.addEventListener('abort', () => live.delete(entry), { once: true });
      setImmediate(tick);
      return 'Watching';
    },
  };
}
