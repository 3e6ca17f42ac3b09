/**
 * What an actor holds of its object between messages, and how it is loaded.
 * Committed state only: a draft that was not committed never becomes part of it (I2).
 */
import type { Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import type { ApiObject } from '../../src/api/object.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { Objects } from '../../storage/store.js';
import type { CachedObject, ObjectCache } from '../cache.js';
import type { Generations } from './timers.js';

export interface Present {
  readonly at: 'Present';
  readonly uid: string;
  readonly version: number;
  /** Stamped bytes. */
  readonly body: Buffer;
  readonly object: ApiObject;
  readonly private: unknown;
  /** Generations of the armed timers by name; undefined: not read yet. */
  readonly timers: Generations | undefined;
  /** The kind's side state, changed in place by decided changes; undefined for kinds without one. */
  readonly sideState: unknown;
}

export type Incarnation = { readonly at: 'Unknown' } | { readonly at: 'Absent' } | Present;

export interface LoadDeps {
  readonly cache: ObjectCache;
  readonly objects: Pick<Objects, 'read' | 'slots' | 'timers'>;
}

/** Reads the committed state of the address: bytes from the cache where they are known whole, else from Postgres. */
export async function load(address: Address, kind: KindDefinition, deps: LoadDeps): Promise<Incarnation> {
  const stored = await read(address, deps);
  if (!stored) return { at: 'Absent' };
  return {
    at: 'Present',
    uid: stored.uid,
    version: stored.version,
    body: stored.body,
    object: decodeObject(stored.body),
    private: stored.private === null ? undefined : (JSON.parse(stored.private) as unknown),
    timers: undefined,
    sideState: await openSideState(address, stored.uid, kind, deps),
  };
}

async function read(
  address: Address,
  deps: LoadDeps,
): Promise<(CachedObject & { readonly private: string | null }) | undefined> {
  const cached = deps.cache.get(address);
  if (cached && cached.private !== undefined) return { ...cached, private: cached.private };
  const begun = deps.cache.version();
  const stored = await deps.objects.read(address);
  if (stored) deps.cache.fill(stored, begun);
  return stored;
}

async function openSideState(address: Address, uid: string, kind: KindDefinition, deps: LoadDeps): Promise<unknown> {
  const keeper = kind.machine.sideState;
  if (!keeper) return undefined;
  return keeper.open(keeper.stored ? await deps.objects.slots(address.org, uid) : []);
}
