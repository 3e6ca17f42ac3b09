/** Replaces an object by a whole new one (PUT). A missing object is NotFound: PUT does not create. */
import { refuse } from '../../src/api/refusal.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { Caller } from '../../actors/resource-service.js';
import { addressOf } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import type { ServerContext } from '../server-context.js';
import { sameProject } from './identity.js';
import { isRecord, parseObject } from './parse.js';
import { writeObject } from './write.js';

export async function replaceObject(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  kind: KindDefinition,
  project: string,
  name: string,
): Promise<void> {
  const address = addressOf(caller, kind, project, name, 'write');
  await writeObject(x, context, caller, kind, address, async (bytes) => {
    const { value, duplicates } = await parseObject(x, context.bodies, bytes);
    sameName(value, name);
    sameProject(value, project);
    return { part: { verb: 'replace', body: value }, duplicates };
  });
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
