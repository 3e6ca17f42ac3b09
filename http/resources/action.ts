/** Owns calling one of a kind's actions: `POST …/{name}/{path}`, decided by the object's machine. */
import type { KindAction, KindDefinition } from '../../src/kinds/kind.js';
import type { Caller } from '../../actors/stage.js';
import { authorise, homeOrg, requireScope } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import type { Room } from '../room.js';
import { invalid, readWriteOptions } from './options.js';
import { parseObject, type ParsedBody } from './parse.js';
import { readForm } from './answer.js';
import { answerWrite, sendWrite } from './write.js';

const NO_BODY: ParsedBody = { value: {}, duplicates: [] };

export async function callAction(
  x: Exchange,
  room: Room,
  caller: Caller,
  kind: KindDefinition,
  project: string,
  name: string,
  action: KindAction,
): Promise<void> {
  const form = readForm(x);
  authorise(caller, kind, project, name, 'read');
  requireScope(caller, action.scope, project);
  const bytes = await room.bodies.read(x);
  const options = readWriteOptions(x, bytes);
  const { value, duplicates } = bytes.length === 0 ? NO_BODY : parseObject(x, bytes);
  const input = action.input.safeParse(value);
  if (!input.success) {
    const causes = input.error.issues.map((issue) => ({
      field: issue.path.join('.'),
      reason: 'FieldValueInvalid',
      message: issue.message,
    }));
    throw invalid(
      `the request is not valid: ${causes.map((cause) => `${cause.field}: ${cause.message}`).join('; ')}`,
      causes,
    );
  }
  const address = { org: homeOrg(caller, kind, project), kind: kind.kind, project, name };
  const done = await sendWrite(room, caller, kind, address, options, duplicates, {
    verb: 'action',
    action: action.action,
    input: input.data,
  });
  answerWrite(x, room, kind, form, done);
}
