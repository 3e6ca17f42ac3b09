/** Changes a part of an object (PATCH): merge patch (RFC 7386) and JSON patch (RFC 6902); others are 415. */
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { Caller, ObjectPatch } from '../../actors/resource-service.js';
import { addressOf } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import type { ServerContext } from '../server-context.js';
import { mediaType, parseList, parseRecord, unknownFormat } from './parse.js';
import { writeObject } from './write.js';

const MERGE = 'application/merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';
/** kubectl falls back to a merge patch when it reads this list in the answer. */
const ACCEPTED = [JSON_PATCH, MERGE];

export async function patchObject(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  kind: KindDefinition,
  project: string,
  name: string,
): Promise<void> {
  const address = addressOf(caller, kind, project, name, 'write');
  const type = mediaType(x, '');
  if (!ACCEPTED.includes(type)) throw unknownFormat(ACCEPTED);
  await writeObject(x, context, caller, kind, address, (bytes) => {
    const { patch, duplicates } = readPatch(type, bytes);
    return { part: { verb: 'patch', patch }, duplicates };
  });
}

function readPatch(type: string, bytes: Buffer): { patch: ObjectPatch; duplicates: readonly string[] } {
  if (type === MERGE) {
    const { value, duplicates } = parseRecord(bytes);
    return { patch: { type: 'merge', patch: value }, duplicates };
  }
  return { patch: { type: 'json', operations: parseList(bytes) }, duplicates: [] };
}
