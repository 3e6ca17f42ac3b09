/**
 * Large objects that many requests ask about at once, decoded once for each version: the parts of a large object are served by reads of
 * the whole. An object that is not here is decoded in a turn of the requests that hold the event loop for long (`heavy-turns.ts`).
 *
 * I10: OBJECTS and BYTES of their stamped form; the least recently used goes.
 */
import { LRUCache } from 'lru-cache';
import type { Address } from '../src/api/address.js';
import { decodeObject, readVersion } from '../src/api/encode.js';
import type { ApiObject } from '../src/api/object.js';
import type { Exchange } from './exchange.js';
import type { HeavyTurns } from './heavy-turns.js';

const OBJECTS = 64;
const BYTES = 16 * 1024 * 1024;

export interface DecodedObjects {
  /** Nobody changes what it answers. */
  of(x: Exchange, address: Address, body: Buffer): Promise<ApiObject>;
}

export function openDecodedObjects(
  heavyTurns: Pick<HeavyTurns, 'ofAnswer'>,
  decode: (body: Buffer) => ApiObject = decodeObject,
): DecodedObjects {
  const known = new LRUCache<string, ApiObject>({ max: OBJECTS, maxSize: BYTES });
  return {
    async of(x, { org, kind, project, name }, body) {
      const key = `${org}/${kind}/${project}/${name}/${readVersion(body)}`;
      const before = known.get(key);
      if (before !== undefined) return before;
      await heavyTurns.ofAnswer(x, body.length);
      // Another request may have decoded it meanwhile.
      const object = known.get(key) ?? decode(body);
      known.set(key, object, { size: body.length });
      x.endHeavyTurn?.();
      return object;
    },
  };
}
