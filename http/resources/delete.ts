/** Asks for the deletion of one object. Answered with the object: gone, or with its deletionTimestamp. */
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { Caller } from '../../actors/resource-service.js';
import { addressOf } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import type { ServerContext } from '../server-context.js';
import { readDeleteOptions } from './delete-options.js';
import { writeObject } from './write.js';

export async function deleteObject(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  kind: KindDefinition,
  project: string,
  name: string,
): Promise<void> {
  const address = addressOf(caller, kind, project, name, 'write');
  await writeObject(x, context, caller, kind, address, async (bytes) => {
    const { options, dryRun } = await readDeleteOptions(x, context.bodies, bytes);
    return { part: { verb: 'delete', options }, dryRun };
  });
}
