/** Creates an object: the name it gets, and what the URL and the body must agree on. */
import { generateName } from '../../src/api/names.js';
import { RefusalError } from '../../src/api/refusal.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { Caller } from '../../actors/resource-service.js';
import { addressOf, authorise, isProjectKind } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import { betweenParts } from '../heavy-turns.js';
import type { ServerContext } from '../server-context.js';
import { readForm } from './answer.js';
import { createBatch, isBatch } from './create-batch.js';
import { named, nameIn, sameProject } from './identity.js';
import { readWriteOptions } from './options.js';
import { mediaType, parseObject } from './parse.js';
import { parseProtobuf, PROTOBUF } from './protobuf.js';
import { answerWrite, sendWrite } from './write.js';

/** Five random characters of 27 collide once in 3,800 tries with a million of them there; kube tries as often. */
const NAME_ATTEMPTS = 8;

export async function createObject(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  kind: KindDefinition,
  project: string,
): Promise<void> {
  const form = readForm(x);
  // Before the body is read: who may not write here must not make us read 3 MiB.
  authorise(caller, kind, project, '', 'write');
  const { batch } = kind;
  const bytes = await context.bodies.read(x, batch?.bytes);
  const options = readWriteOptions(x, bytes);
  const parsed =
    isProjectKind(kind) && mediaType(x, '') === PROTOBUF
      ? { value: parseProtobuf(bytes), duplicates: [] }
      : await parseObject(x, context.bodies, bytes);
  const { value, duplicates } = parsed;
  const others = betweenParts(x, bytes.length);
  if (others !== undefined) await others;
  if (batch !== undefined && isBatch(kind, value)) {
    return createBatch(x, context, caller, kind, batch, project, parsed, options);
  }
  context.bodies.checkSize(bytes);
  const { name, base } = nameIn(value);
  sameProject(value, project);

  for (let attempt = 1; ; attempt += 1) {
    const chosen = name ?? generateName(base, context.randomBytes);
    const address = addressOf(caller, kind, project, chosen, 'write');
    const body = name === undefined ? named(value, chosen) : value;
    const sent = sendWrite(context, caller, kind, address, options, duplicates, { verb: 'create', body });
    const done = await (name === undefined && attempt < NAME_ATTEMPTS ? sent.catch(unlessTaken) : sent);
    if (done !== undefined) return await answerWrite(x, context, kind, form, done);
  }
}

/** Undefined: another name may be free. */
function unlessTaken(error: unknown): undefined {
  if (error instanceof RefusalError && error.refusal.code === 'AlreadyExists') return undefined;
  throw error;
}
