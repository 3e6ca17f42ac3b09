/** Owns replacing an object by a whole new one (PUT). A missing object is NotFound: PUT does not create. */
import { refuse } from '../../src/api/refusal.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { Caller } from '../../actors/stage.js';
import { addressOf } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import type { Room } from '../room.js';
import { readForm } from './answer.js';
import { sameProject } from './create.js';
import { readWriteOptions } from './options.js';
import { isRecord, parseObject } from './parse.js';
import { answerWrite, sendWrite } from './write.js';

export async function replaceObject(
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
  const options = readWriteOptions(x, bytes);
  const { value, duplicates } = parseObject(x, bytes);
  sameName(value, name);
  sameProject(value, project);
  const done = await sendWrite(room, caller, kind, address, options, duplicates, { verb: 'replace', body: value });
  answerWrite(x, room, kind, form, done);
}

function sameName(body: Record<string, unknown>, name: string): void {
  const metadata = body['metadata'];
  const said = isRecord(metadata) ? metadata['name'] : undefined;
  if (said === name) return;
  if (said === undefined || said === null || said === '') {
    throw refuse('BadRequest', 'the name of the object must be in metadata.name, as in the URL');
  }
  const shown = typeof said === 'string' ? said.slice(0, 253) : `a ${typeof said}`;
  throw refuse('BadRequest', `the name of the object (${shown}) does not match the name on the URL (${name})`);
}
