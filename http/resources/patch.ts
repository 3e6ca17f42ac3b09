/** Owns changing a part of an object (PATCH): merge patch (RFC 7386) and JSON patch (RFC 6902); others are 415. */
import { refuse } from '../../src/api/refusal.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { Caller, ObjectPatch } from '../../actors/stage.js';
import { addressOf } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import type { Room } from '../room.js';
import { mediaType, parseList, parseRecord, unknownFormat } from './parse.js';
import { writeObject } from './write.js';

const MERGE = 'application/merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';
/** kubectl falls back to a merge patch when it reads this list in the answer. */
const ACCEPTED = [JSON_PATCH, MERGE];
/** RFC 6902 operations of one patch; kube-apiserver's own bound. */
const MAX_OPERATIONS = 10_000;

export async function patchObject(
  x: Exchange,
  room: Room,
  caller: Caller,
  kind: KindDefinition,
  project: string,
  name: string,
): Promise<void> {
  const address = addressOf(caller, kind, project, name, 'write');
  const type = mediaType(x, '');
  if (!ACCEPTED.includes(type)) throw unknownFormat(ACCEPTED);
  await writeObject(x, room, caller, kind, address, (bytes) => {
    const { patch, duplicates } = readPatch(type, bytes);
    return { part: { verb: 'patch', patch }, duplicates };
  });
}

function readPatch(type: string, bytes: Buffer): { patch: ObjectPatch; duplicates: readonly string[] } {
  if (type === MERGE) {
    const { value, duplicates } = parseRecord(bytes, false);
    return { patch: { type: 'merge', patch: value }, duplicates };
  }
  const operations = parseList(bytes);
  if (operations.length > MAX_OPERATIONS) {
    throw refuse('RequestEntityTooLarge', `a JSON patch may have at most ${MAX_OPERATIONS} operations`);
  }
  return { patch: { type: 'json', operations }, duplicates: [] };
}
