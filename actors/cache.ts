/**
 * Keeps the current objects of this replica as ready-made bytes. Fed by every commit before its acknowledgement and by
 * reads; so what is in it is never older than what was acknowledged (architecture, "Reads").
 *
 * Reads race with commits: what a read brings may be older than a commit whose entry has left the cache meanwhile. So the
 * version of what leaves is remembered for a while, and a read says which commit was the newest when it began: a read that
 * began before a forgotten version was committed does not fill the cache.
 *
 * I10: bounded by bytes, and by the number of versions. When it is full the least recently used go; a miss is a read from
 * Postgres.
 */
import { LRUCache } from 'lru-cache';
import { addressKey, type Address } from '../src/api/address.js';
import type { CommittedChange } from '../storage/commit/request.js';
import type { StoredObject } from '../storage/store.js';
import { atMost } from '../src/lru-bound.js';

export interface CachedObject {
  readonly uid: string;
  readonly version: number;
  /** Stamped bytes. */
  readonly body: Buffer;
  /** The machine's private state as JSON text; undefined when it is not known here. */
  readonly private: string | null | undefined;
}

interface Entry extends CachedObject {
  private: string | null | undefined;
}

export interface ObjectCache {
  get(address: Address): CachedObject | undefined;
  /** From a commit: always the newest there is. */
  committed(change: CommittedChange): void;
  /** Version of the newest commit: to be asked for before a read whose result is to be filled in. */
  version(): number;
  /** From a read that began when `version()` was `begun`: taken only when no commit has written the object since. */
  fill(object: StoredObject, begun: number): void;
  /** The owner knows the private state that it has just committed. */
  setPrivate(address: Address, version: number, text: string | null): void;
  /** This entry was found stale: the next look reads Postgres. */
  forget(address: Address): void;
  clear(): void;
  readonly bytes: number;
  readonly maxBytes: number;
  readonly size: number;
}

/** Rough cost of an entry beside its body: key, entry and map nodes. */
const ENTRY_OVERHEAD_BYTES = 400;

/** Versions that are remembered of what has left: some seconds of the fastest writing. */
const MOST_LEFT = 50_000;

export function openCache(maxBytes: number, mostLeft = MOST_LEFT): ObjectCache {
  let newest = 0;
  /** `left` holds nothing at or below this version any more. */
  let forgotten = 0;
  /** The newest version that is known of an object which is not in `entries`. */
  const left = new LRUCache<string, number>({
    ...atMost(mostLeft),
    dispose(version, _key, reason) {
      if (reason === 'evict') forgotten = Math.max(forgotten, version);
    },
  });
  const entries = new LRUCache<string, Entry>({
    maxSize: maxBytes,
    sizeCalculation: sizeOf,
    dispose({ version }, key, reason) {
      if (reason !== 'set') left.set(key, version);
    },
  });

  function set(key: string, entry: Entry): void {
    entries.set(key, entry);
    // What is larger than the whole cache is not taken.
    if (sizeOf(entry) > maxBytes) left.set(key, entry.version);
  }

  return {
    get: (address) => entries.get(addressKey(address)),
    committed(change) {
      const key = addressKey(change.address);
      newest = change.version;
      if (change.type === 'DELETED') {
        entries.delete(key);
        left.set(key, change.version);
        return;
      }
      set(key, { uid: change.uid, version: change.version, body: change.after, private: undefined });
    },
    version: () => newest,
    fill(object, begun) {
      const key = addressKey(object.address);
      if (begun < forgotten || (left.peek(key) ?? 0) > object.version) return;
      if ((entries.peek(key)?.version ?? 0) >= object.version) return;
      set(key, { uid: object.uid, version: object.version, body: object.body, private: object.private });
    },
    setPrivate(address, version, text) {
      const key = addressKey(address);
      const entry = entries.peek(key);
      if (entry?.version !== version) return;
      if (text === null) entry.private = null;
      else set(key, { ...entry, private: text }); // it counts
    },
    forget(address) {
      entries.delete(addressKey(address));
    },
    clear() {
      entries.clear();
    },
    maxBytes,
    get bytes() {
      return entries.calculatedSize;
    },
    get size() {
      return entries.size;
    },
  };
}

function sizeOf({ body, private: text }: CachedObject): number {
  return body.length + (text?.length ?? 0) + ENTRY_OVERHEAD_BYTES;
}
