/**
 * Serves `…/deliveries` (the log, newest first) and `…/deliveries/{id}/replays`.
 * Source: spec, "Webhook actions".
 */
import { decodeObject } from '../../src/api/encode.js';
import { refuse } from '../../src/api/refusal.js';
import { rfc3339Millis } from '../../src/api/time.js';
import type { Caller } from '../../actors/resource-service.js';
import { addressOf } from '../auth/authorise.js';
import { badParameter } from '../bad-parameter.js';
import type { DeliveryEntry } from '../../storage/webhooks/log.js';
import type { Exchange } from '../exchange.js';
import type { SubresourceTarget } from '../target.js';
import { replyJson, type Headers } from '../reply.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import { readWriteOptions } from '../resources/options.js';
import { parseObject } from '../resources/parse.js';
import { readBytes } from '../resources/read.js';
import { readLimit } from '../resources/versions.js';
import type { ServerContext } from '../server-context.js';

/** Deliveries of a page when the client does not say. */
const PAGE = 100;
/** A delivery's id, which is a cursor as well. */
const ID = /^msg_[0-9a-f]{32}$/;

export async function serveDeliveries(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  target: SubresourceTarget,
): Promise<void> {
  const [id, action, ...rest] = target.rest;
  if (id === undefined) return listDeliveries(x, context, caller, target);
  if (action !== 'replays' || rest.length > 0) {
    throw refuse('NotFound', 'below a delivery there is only `replays`; deliveries are read as a list');
  }
  return replay(x, context, caller, target, id);
}

async function listDeliveries(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  { kind, project, name }: SubresourceTarget,
): Promise<void> {
  if (x.method !== 'GET') throw methodNotAllowed(x, ['GET']);
  x.verb = 'list';
  const address = addressOf(caller, kind, project, name, 'read');
  const { uid } = decodeObject(await readBytes(context, kind, address)).metadata;
  const after = x.query.get('after') ?? '';
  if (after !== '' && !ID.test(after)) {
    throw badParameter(
      'after',
      after,
      'must be a cursor of this list',
      'Send `continue` of the page before as it came.',
    );
  }
  const limit = readLimit(x.query.get('limit')) ?? PAGE;
  // One more than is shown tells whether there is more.
  const found = await context.deliveries.list(address.org, uid, after === '' ? undefined : after, limit + 1);
  const shown = found.slice(0, limit);
  const last = found.length > limit ? shown.at(-1) : undefined;
  replyJson(x, 200, { items: shown.map(toJson), ...(last === undefined ? {} : { continue: last.id }) });
}

async function replay(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  { kind, project, name }: SubresourceTarget,
  id: string,
): Promise<void> {
  if (x.method !== 'POST') throw methodNotAllowed(x, ['POST']);
  x.verb = 'action';
  const address = addressOf(caller, kind, project, name, 'write');
  const bytes = await context.bodies.read(x);
  if (bytes.length > 0 && Object.keys((await parseObject(x, context.bodies, bytes)).value).length > 0) {
    throw refuse('BadRequest', 'the body of a replay must be empty');
  }
  const { dryRun, idempotency } = readWriteOptions(x, bytes);
  if (dryRun) throw refuse('BadRequest', 'dryRun is not supported for replays');
  const { metadata, spec } = decodeObject<{ readonly enabled: boolean }>(await readBytes(context, kind, address));
  if (!spec.enabled) {
    const fix = 'Set spec.enabled to true first.';
    throw refuse('Conflict', `${kind.kind} "${name}" is paused: nothing is sent to it`, { fix });
  }
  const release =
    idempotency &&
    context.inflightIdempotency.take(caller.org, caller.holder, idempotency.key, idempotency.fingerprint);
  try {
    const keyed = idempotency && { holder: caller.holder, ...idempotency };
    const made = ID.test(id) ? await context.deliveries.replay(address.org, metadata.uid, id, keyed) : undefined;
    if (made === undefined) throw refuse('NotFound', `${kind.kind} "${name}" has no delivery "${id.slice(0, 64)}"`);
    const headers: Headers = made.replayed ? { 'idempotency-replayed': 'true' } : {};
    replyJson(x, 201, toJson(made.entry), headers);
  } finally {
    release?.();
  }
}

function toJson(entry: DeliveryEntry): Record<string, unknown> {
  const { id, eventType, phase, attempts, time, statusCode, durationMs, error, replayOf } = entry;
  const at = (ms: number | undefined): string | undefined => (ms === undefined ? undefined : rfc3339Millis(ms));
  return {
    ...{ id, eventType, phase, attempts, time: at(time), statusCode, error, replayOf },
    durationSeconds: durationMs === undefined ? undefined : durationMs / 1_000,
    lastAttemptTime: at(entry.attemptTime),
    nextAttemptTime: at(entry.nextAttemptTime),
  };
}
