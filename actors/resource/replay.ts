/**
 * Answers a request whose Idempotency-Key was used before: the stored response, or that it was another request.
 * Source: decisions, "API machinery", Idempotency-Key.
 */
import { decodeObject } from '../../src/api/encode.js';
import type { Responses } from '../../storage/store.js';
import type { WriteReply, WriteRequest } from '../resource-service.js';

/** Undefined when the request has no key, or one that is free. A dry run leaves no trace and replays none. */
export async function replay(
  org: string,
  { idempotency, caller, dryRun }: WriteRequest,
  responses: Responses,
): Promise<WriteReply | undefined> {
  if (!idempotency || dryRun) return undefined;
  const stored = await responses.find(org, caller.holder, idempotency.key);
  if (!stored) return undefined;
  if (stored.fingerprint !== idempotency.fingerprint) {
    const message = `Idempotency-Key "${idempotency.key}" was used for a different request`;
    return { outcome: 'Refused', refusal: { code: 'IdempotencyKeyReused', message } };
  }
  const version = decodeObject(stored.response).metadata.resourceVersion ?? '';
  return { outcome: 'Done', status: stored.status, body: stored.response, etag: version, warnings: [], replayed: true };
}
