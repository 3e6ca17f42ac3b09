/** Owns asking for the deletion of one object. Answered with the object: gone, or with its deletionTimestamp. */
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { Caller } from '../../actors/stage.js';
import { addressOf } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import type { Room } from '../room.js';
import { readForm } from './answer.js';
import { readDeleteOptions } from './delete-options.js';
import { readWriteOptions } from './options.js';
import { answerWrite, sendWrite } from './write.js';

export async function deleteObject(
  x: Exchange,
  room: Room,
  caller: Caller,
  kind: KindDefinition,
  project: string,
  name: string,
): Promise<void> {
  const form = readForm(x);
  const address = addressOf(caller, kind, project, name, 'write');
  const bytes = await room.bodies.read(x);
  const write = readWriteOptions(x, bytes);
  const { options, dryRun } = readDeleteOptions(x, bytes);
  const done = await sendWrite(room, caller, kind, address, { ...write, dryRun }, [], { verb: 'delete', options });
  answerWrite(x, room, kind, form, done);
}
