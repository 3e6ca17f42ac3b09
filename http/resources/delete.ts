/** Owns asking for the deletion of one object. Answered with the object: gone, or with its deletionTimestamp. */
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { Caller } from '../../actors/stage.js';
import { addressOf } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import type { Room } from '../room.js';
import { readDeleteOptions } from './delete-options.js';
import { writeObject } from './write.js';

export async function deleteObject(
  x: Exchange,
  room: Room,
  caller: Caller,
  kind: KindDefinition,
  project: string,
  name: string,
): Promise<void> {
  const address = addressOf(caller, kind, project, name, 'write');
  await writeObject(x, room, caller, kind, address, async (bytes) => {
    const { options, dryRun } = await readDeleteOptions(x, room.bodies, bytes);
    return { part: { verb: 'delete', options }, dryRun };
  });
}
