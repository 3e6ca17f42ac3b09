/**
 * Owns the current objects of this replica as ready-made bytes. Fed by every commit before its acknowledgement and by
 * reads; so what is in it is never older than what was acknowledged (architecture, "Reads").
 *
 * I10: bounded by bytes. When it is full the least recently used go; a miss is a read from Postgres.
 */
import { LRUCache } from 'lru-cache';
import { addressKey, type Address } from '../src/api/address.js';
import type { CommittedChange } from '../storage/commit/member.js';
import type { StoredObject } from '../storage/store.js';

export interface CachedObject {
  readonly uid: string;
  readonly version: number;
  /** Stamped bytes. */
  readonly body: Buffer;
  /** The machine's private state as JSON text; undefined when it is not known here. */
  readonly private: string | null | undefined;
}

export interface ObjectCache {
  get(address: Address): CachedObject | undefined;
  /** From a commit: always the newest there is. */
  committed(change: CommittedChange): void;
  /** From a read: taken only when nothing as new is here. */
  fill(object: StoredObject): void;
  /** The owner knows the private state that it has just committed. */
  setPrivate(address: Address, version: number, text: string | null): void;
  /** What stands here was told to be stale: the next look reads Postgres. */
  forget(address: Address): void;
  clear(): void;
  readonly bytes: number;
  readonly size: number;
}

/** Rough cost of an entry beside its body: key, entry and map nodes. */
const ENTRY_OVERHEAD_BYTES = 400;

export function openCache(maxBytes: number): ObjectCache {
  const entries = new LRUCache<string, CachedObject>({
    maxSize: maxBytes,
    sizeCalculation: (entry) => entry.body.length + (entry.private?.length ?? 0) + ENTRY_OVERHEAD_BYTES,
  });
  // Reads race with commits: a read that began before a deletion must not bring the object back. Versions of recent
  // deletions are kept as long as a read can last.
  const gone = new LRUCache<string, number>({ max: 50_000 });
  return {
    get: (address) => entries.get(addressKey(address)),
    committed(change) {
      const key = addressKey(change.address);
      if (change.type === 'DELETED') {
        entries.delete(key);
        gone.set(key, change.version);
        return;
      }
      entries.set(key, { uid: change.uid, version: change.version, body: change.after, private: undefined });
    },
    fill(object) {
      const key = addressKey(object.address);
      if ((entries.peek(key)?.version ?? 0) >= object.version || (gone.get(key) ?? 0) > object.version) return;
      entries.set(key, { uid: object.uid, version: object.version, body: object.body, private: object.private });
    },
    setPrivate(address, version, text) {
      const key = addressKey(address);
      const entry = entries.peek(key);
      if (entry?.version === version) entries.set(key, { ...entry, private: text });
    },
    forget(address) {
      entries.delete(addressKey(address));
    },
    clear() {
      entries.clear();
      gone.clear();
    },
    get bytes() {
      return entries.calculatedSize;
    },
    get size() {
      return entries.size;
    },
  };
}
