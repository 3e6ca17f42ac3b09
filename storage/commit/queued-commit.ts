/** What waits in the committer, from the request to its answer: commits of objects, and operations of the ledger that have none. */
import { addressKey } from '../../src/api/address.js';
import { turnsOf as turnsOfObject } from '../../src/kinds/node/local.js';
import type { MoneyOperation } from '../../src/money/operation.js';
import type { CommitRequest, CommitResult, FundedHold, LedgerResult } from './request.js';

export type Queued = QueuedCommit | QueuedLedger;

export interface QueuedCommit {
  readonly type: 'Object';
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
  /** What its money came to in the transaction that was tried last. */
  funded?: FundedHold | undefined;
  resolve(result: CommitResult): void;
}

/** It takes no version. */
export interface QueuedLedger {
  readonly type: 'Ledger';
  readonly org: string;
  readonly operations: readonly MoneyOperation[];
  readonly keys: readonly string[];
  readonly bytes: number;
  readonly since: number;
  resolve(result: LedgerResult): void;
}

/** With whom it takes turns when more wait than fit. */
export function turnsOf(queued: Queued): string {
  return queued.type === 'Ledger' ? queued.org : turnsOfObject(queued.request.address);
}

export function commitsOf(batch: readonly Queued[]): readonly QueuedCommit[] {
  return batch.filter((queued) => queued.type === 'Object');
}

export function ledgersOf(batch: readonly Queued[]): readonly QueuedLedger[] {
  return batch.filter((queued) => queued.type === 'Ledger');
}

/** Bytes of one slot's row, roughly. */
const SLOT_BYTES = 256;
/** Bytes of what one operation of the ledger writes, roughly. */
export const OPERATION_BYTES = 2_048;

/** Roughly the bytes that are sent to Postgres for this commit. */
export function bytesOf({ write, private: kept, slots, secrets, money }: CommitRequest): number {
  const sealed = secrets.reduce((sum, secret) => sum + secret.sealed.length, 0);
  const rows = slots.length * SLOT_BYTES + money.length * OPERATION_BYTES;
  return write.body.length + (kept?.length ?? 0) + rows + sealed;
}

/** The address stands for the uid as well: an address has one uid at a time. */
export function keysOf(request: CommitRequest): string[] {
  const keys = [addressKey(request.address)];
  const idempotency = request.idempotency;
  if (idempotency !== undefined) keys.push(JSON.stringify([request.address.org, idempotency.holder, idempotency.key]));
  return keys;
}
