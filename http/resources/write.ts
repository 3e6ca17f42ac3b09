/**
 * The common way of every write of one object: options, the running Idempotency-Key, the ask to the object's actor,
 * and the answer. What each verb adds is in `create`, `replace`, `patch`, `delete` and `action`.
 */
import { RefusalError, type Refusal } from '../../src/api/refusal.js';
import type { Address } from '../../src/api/address.js';
import { unknownOutcome } from '../../src/api/unknown-outcome.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { Caller, WriteReply, WriteRequest } from '../../actors/resource-service.js';
import type { Form } from '../accept.js';
import type { Exchange } from '../exchange.js';
import { betweenParts } from '../heavy-turns.js';
import { replyObject, type Headers } from '../reply.js';
import type { ServerContext } from '../server-context.js';
import { answerObject, readForm } from './answer.js';
import { readWriteOptions, type WriteOptions } from './options.js';

/** The verb's own part of a `WriteRequest`. */
type VerbPart<R> = R extends WriteRequest
  ? Omit<R, 'caller' | 'dryRun' | 'fieldValidation' | 'fieldManager' | 'idempotency' | 'ifMatch' | 'duplicates'>
  : never;
export type WritePart = VerbPart<WriteRequest>;

export type Done = Extract<WriteReply, { outcome: 'Done' }>;

/** Names the group in what the actor refused, so that clients see the whole kind. */
function refusal(given: Refusal, group: string, kind: KindDefinition): RefusalError {
  const target = { group: kind.group === 'core' ? '' : group, kind: kind.kind, ...given.target };
  return new RefusalError({ ...given, target });
}

/** The actor goes on with a write whose deadline is over. */
function overdue(error: unknown): WriteReply {
  if (!(error instanceof DOMException && error.name === 'TimeoutError')) throw error;
  return { outcome: 'Refused', refusal: unknownOutcome(error.message) };
}

/** Sends one write and waits for what became of it. Throws what was refused. */
export async function sendWrite(
  context: ServerContext,
  caller: Caller,
  kind: KindDefinition,
  address: Address,
  options: WriteOptions,
  duplicates: readonly string[],
  part: WritePart,
): Promise<Done> {
  const { idempotency } = options;
  const release =
    idempotency &&
    context.inflightIdempotency.take(caller.org, caller.holder, idempotency.key, idempotency.fingerprint);
  try {
    const request = { caller, ...options, duplicates, ...part } as WriteRequest;
    const reply = await context.resources.write(address, request, context.deadlines.current()).catch(overdue);
    if (reply.outcome === 'Refused') throw refusal(reply.refusal, context.config.group, kind);
    return reply;
  } finally {
    release?.();
  }
}

/** What a verb makes of the body. */
export interface Asked {
  readonly part: WritePart;
  /** Paths of duplicate members in the body. */
  readonly duplicates?: readonly string[] | undefined;
  /** Where the body says so, too. */
  readonly dryRun?: boolean | undefined;
}

/** One write of an object whose address is known and allowed, from the body to the answer. */
export async function writeObject(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  kind: KindDefinition,
  address: Address,
  ask: (bytes: Buffer) => Asked | Promise<Asked>,
): Promise<void> {
  const form = readForm(x);
  const bytes = await context.bodies.read(x);
  const options = readWriteOptions(x, bytes);
  const { part, duplicates = [], dryRun = options.dryRun } = await ask(bytes);
  const others = betweenParts(x, bytes.length);
  if (others !== undefined) await others;
  const done = await sendWrite(context, caller, kind, address, { ...options, dryRun }, duplicates, part);
  await answerWrite(x, context, kind, form, done);
}

/** What has been done is answered in any case: as JSON where the YAML that was asked for cannot be had. */
export async function answerWrite(
  x: Exchange,
  context: ServerContext,
  kind: KindDefinition,
  form: Form,
  done: Done,
): Promise<void> {
  if (done.warnings.length > 0) x.warnings.push(...done.warnings);
  const headers: Headers = {};
  if (done.replayed === true) headers['idempotency-replayed'] = 'true';
  try {
    await answerObject(x, context, kind, form, done.status, done.body, done.etag, headers);
  } catch (error) {
    if (form.form !== 'object' || !form.yaml || !(error instanceof RefusalError)) throw error;
    x.warnings.push(`${error.message}; this is JSON`);
    delete headers['content-type'];
    replyObject(x, done.status, done.body, done.etag, headers);
  }
}
