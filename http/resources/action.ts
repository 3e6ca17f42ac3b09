/** Calls one of a kind's actions: `POST …/{name}/{path}`, decided by the object's machine. */
import { refuse } from '../../src/api/refusal.js';
import type { KindAction, KindDefinition } from '../../src/kinds/kind.js';
import type { Caller } from '../../actors/resource-service.js';
import { authorise, homeOrg, requireScope } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import { readInput } from '../input.js';
import type { ServerContext } from '../server-context.js';
import { parseObject, type ParsedBody } from './parse.js';
import { writeObject } from './write.js';

const NO_BODY: ParsedBody = { value: {}, duplicates: [] };

export async function callAction(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  kind: KindDefinition,
  project: string,
  name: string,
  action: KindAction,
): Promise<void> {
  authorise(caller, kind, project, name, 'read');
  requireScope(caller, action.scope, project);
  if (kind.unbuilt === true) {
    throw refuse('Unsupported', `POST …/${kind.plural}/{name}/${action.path} is not served yet`, {
      target: { kind: kind.kind, name },
    });
  }
  const address = { org: homeOrg(caller, kind, project), kind: kind.kind, project, name };
  await writeObject(x, context, caller, kind, address, async (bytes) => {
    const { value, duplicates } = bytes.length === 0 ? NO_BODY : await parseObject(x, context.bodies, bytes);
    return { part: { verb: 'action', action: action.action, input: readInput(action.input, value) }, duplicates };
  });
}
