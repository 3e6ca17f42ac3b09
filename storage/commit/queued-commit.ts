/** One commit in the committer, from the request to its answer. */
import { addressKey } from '../../src/api/address.js';
import type { CommitRequest, CommitResult } from './request.js';

export interface QueuedCommit {
  readonly request: CommitRequest;
  /** Stamped bytes that the write replaces, for publishing. */
  readonly before: Buffer | undefined;
  /** What may be under way only once at a time: the address, and the Idempotency-Key where there is one. */
  readonly keys: readonly string[];
  /** Roughly what is sent for it, for the bound of a batch. */
  readonly bytes: number;
  /** Monotonic ms at which it was asked for. */
  readonly since: number;
  /** The idempotency response, sealed once for all tries. */
  readonly sealed: Buffer | undefined;
  resolve(result: CommitResult): void;
}

/** Bytes of one slot's row, roughly. */
const SLOT_BYTES = 256;

/** Roughly the bytes that are sent to Postgres for this commit. */
export function bytesOf({ write, private: kept, slots, secrets }: CommitRequest): number {
  const sealed = secrets.reduce((sum, secret) => sum + secret.sealed.length, 0);
  return write.body.length + (kept?.length ?? 0) + slots.length * SLOT_BYTES + sealed;
}

/** The address stands for the uid as well: an address has one uid at a time. */
export function keysOf(request: CommitRequest): string[] {
  const keys = [addressKey(request.address)];
  const idempotency = request.idempotency;
  if (idempotency !== undefined) keys.push(JSON.stringify([request.address.org, idempotency.holder, idempotency.key]));
  return keys;
}
