/** Reads one object, and its status (the same object: clients of Kubernetes read it for `.status`). */
import { refuse } from '../../src/api/refusal.js';
import type { Caller } from '../../actors/resource-service.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { Address } from '../../src/api/address.js';
import { addressOf } from '../auth/authorise.js';
import { tooLargeVersion } from '../errors.js';
import { isHeldAlready } from '../conditional.js';
import type { Exchange } from '../exchange.js';
import { replyNotModified } from '../reply.js';
import type { ServerContext } from '../server-context.js';
import { answerObject, etagOf, readForm } from './answer.js';
import { readVersionNumber } from './versions.js';

export function notFound(kind: KindDefinition, name: string): Error {
  return refuse('NotFound', `${kind.kind} "${name}" not found`, { target: { kind: kind.kind, name } });
}

/** The object's stamped bytes, from the cache when it is there; NotFound. */
export async function readBytes(context: ServerContext, kind: KindDefinition, address: Address): Promise<Buffer> {
  const body = context.resources.peek(address) ?? (await context.resources.read(address, context.deadlines.current()));
  if (body === undefined) throw notFound(kind, address.name);
  return body;
}

export async function readObject(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  kind: KindDefinition,
  project: string,
  name: string,
): Promise<void> {
  const form = readForm(x);
  const address = addressOf(caller, kind, project, name, 'read');
  const atLeast = x.hasQuery ? (readVersionNumber(x.query.get('resourceVersion')) ?? 0) : 0;
  if (atLeast > context.resources.version()) throw tooLargeVersion(atLeast, context.resources.version());
  const body = await readBytes(context, kind, address);
  const etag = etagOf(body);
  // Of a Table the ETag says nothing: ages pass.
  if (form.form !== 'table' && isHeldAlready(x.header('if-none-match'), etag)) {
    replyNotModified(x, etag);
    return;
  }
  if (form.form !== 'object') await context.heavyTurns.ofAnswer(x, body.length);
  await answerObject(x, context, kind, form, 200, body, etag);
}
