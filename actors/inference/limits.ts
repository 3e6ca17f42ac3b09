/**
 * The limits of InferenceEndpoints: requests at once, requests and tokens a minute. They live in memory, in the process that has the lease,
 * and hold over restarts: what may be used is written down before (`limits/endpoint-use.ts`). A request that is refused costs no write.
 *
 * I10: at most MOST endpoints are in memory, half of them of one org. Full: those of which nothing counts any more go, from the one that was not used for longest on; when
 * there is none, the longest unused without a running request are written, exactly, and go then. Only when all are busy a request to another
 * endpoint is refused (Unavailable). At most MOST_OPENING requests wait for endpoints to be read.
 */
import { refuse } from '../../src/api/refusal.js';
import type { LimitState } from '../../src/engines/inference/dialects/dialect.js';
import type { WindowKey, WindowRows } from '../../storage/inference/windows.js';
import type { Clock, Lease } from '../../storage/store.js';
import { end, isOver, openUseOf, restore, stateOf, take, wantsWrite, type Taken } from './limits/endpoint-use.js';
import type { EndpointLimits } from './limits/endpoint-limits.js';
import { idOf, openStatements, type Entry } from './limits/statements.js';

const MOST = 10_000;
const MOST_OPENING = 10_000;
const SWEEP_EVERY_MS = 15_000;
/** Endpoints that go together when one has to. */
const LEAVE_TOGETHER = 100;
/** How often room is made for one endpoint before its requests are refused. */
const ROOM_TRIES = 3;

export type { EndpointLimits };

export type LimitDecision =
  | {
      readonly outcome: 'Admitted';
      readonly state: LimitState;
      /** The request is over and has used so many tokens; what it took beyond them is there again. Harmless twice. */
      release(tokens: number): void;
    }
  | {
      readonly outcome: 'Refused';
      readonly by: 'maxConcurrent' | 'rpm' | 'tpm';
      readonly state: LimitState;
      /** Until one like it may pass; at most 61. */
      readonly retryAfterSeconds: number;
    };

export interface InferenceLimits {
  /**
   * Takes a place, a request and at most `tokens` tokens (no more than `tpm`), or nothing. A promise when what may be used has to be
   * written down first. Rejects with a `RefusalError` Unavailable when that fails.
   */
  take(
    endpoint: { readonly org: string; readonly uid: string },
    limits: EndpointLimits,
    tokens: number,
  ): LimitDecision | Promise<LimitDecision>;
  /** Writes down what was used, exactly. */
  close(): Promise<void>;
}

export interface LimitsDeps {
  readonly rows: WindowRows;
  readonly lease: Pick<Lease, 'epoch' | 'held'>;
  readonly clock: Clock;
  onProblem(message: string): void;
  /** Endpoints in memory. Default MOST. */
  readonly most?: number | undefined;
}

/** To be opened by the process that has just got the lease: what the one before has written ahead counts as used until now. */
export function openLimits({ rows, lease, clock, onProblem, most = MOST }: LimitsDeps): InferenceLimits {
  const leasedAt = clock();
  /** The one that was not used for longest first. */
  const entries = new Map<string, Entry>();
  const opening = new Map<string, Promise<Entry>>();
  /** Places of those that are being opened. */
  let claimed = 0;
  /** Places of each org, those that are being opened as well. */
  const orgs = new Map<string, number>();
  const share = Math.ceil(most / 2);
  let waiting = 0;
  let closing = false;
  const statements = openStatements({ ...{ rows, lease, clock, onProblem }, left: forget });

  function forget(entry: Entry): void {
    const id = idOf(entry.key);
    if (!isIdle(entry) || entries.get(id) !== entry) return;
    entries.delete(id);
    countOrg(entry.key.org, -1);
    statements.drop(entry);
  }

  function countOrg(org: string, more: 1 | -1): void {
    const count = (orgs.get(org) ?? 0) + more;
    if (count > 0) orgs.set(org, count);
    else orgs.delete(org);
  }

  function sweep(): void {
    const now = clock();
    for (const entry of entries.values()) if (isOver(entry.use, now)) forget(entry);
    statements.forget();
  }
  const sweeping = setInterval(sweep, SWEEP_EVERY_MS);
  sweeping.unref();

  /** False: every endpoint is busy. Room that is not there yet is there when the statements have ended. */
  function makeRoom(org: string): boolean {
    const now = clock();
    const idle: Entry[] = [];
    const isOverShare = (orgs.get(org) ?? 0) > share;
    for (const entry of entries.values()) {
      if (idle.length === LEAVE_TOGETHER) break;
      if (!isIdle(entry) || (isOverShare && entry.key.org !== org)) continue;
      if (isOver(entry.use, now)) forget(entry);
      else idle.push(entry);
    }
    if (hasRoom(org)) return true;
    for (const entry of idle) {
      entry.leaving = true;
      statements.write(entry, 'Now');
    }
    return idle.length > 0;
  }

  function hasRoom(org: string): boolean {
    return entries.size + claimed <= most && (orgs.get(org) ?? 0) <= share;
  }

  async function openEntry(key: WindowKey, limits: EndpointLimits): Promise<Entry> {
    const { org } = key;
    claimed += 1;
    countOrg(org, 1);
    let isKept = false;
    try {
      for (let tries = 0; !hasRoom(org); tries += 1) {
        if (tries === ROOM_TRIES || !makeRoom(org))
          throw refuse('Unavailable', 'too many endpoints are in use at once', { retryAfterSeconds: 1 });
        if (!hasRoom(org)) await statements.ended();
      }
      const row = await statements.load(key);
      const known = { limits, own: lease.epoch, leasedAt, now: clock() };
      const use = row === undefined ? openUseOf(limits) : restore(row, known);
      const entry: Entry = { key, use, waiting: [], leaving: false };
      entries.set(idOf(key), entry);
      isKept = true;
      return entry;
    } finally {
      claimed -= 1;
      if (!isKept) countOrg(org, -1);
    }
  }

  /** One read for all that ask meanwhile. */
  async function opened(key: WindowKey, limits: EndpointLimits): Promise<Entry> {
    if (waiting >= MOST_OPENING)
      throw refuse('Unavailable', 'too many requests wait for the limits of their endpoints', { retryAfterSeconds: 1 });
    const id = idOf(key);
    const known = opening.get(id) ?? openEntry(key, limits).finally(() => opening.delete(id));
    opening.set(id, known);
    waiting += 1;
    try {
      return await known;
    } finally {
      waiting -= 1;
    }
  }

  function decide(entry: Entry, limits: EndpointLimits, tokens: number): LimitDecision | Promise<LimitDecision> {
    if (closing || !lease.held())
      throw refuse('Unavailable', 'this process takes no requests now; ask again', { retryAfterSeconds: 1 });
    const { use } = entry;
    const now = clock();
    const found = take(use, limits, tokens, now);
    const state = stateOf(use, now);
    if (found.outcome === 'Refused') return { ...found, state };
    entry.leaving = false;
    const decision: LimitDecision = { outcome: 'Admitted', state, release: releaseOf(entry, found.taken) };
    if (found.taken.ahead) {
      if (wantsWrite(use)) statements.write(entry, 'Soon');
      return decision;
    }
    return new Promise((resolve, reject) => {
      entry.waiting.push({ asked: now, taken: found.taken, resolve: () => resolve(decision), reject });
      statements.write(entry, 'Now');
    });
  }

  function releaseOf(entry: Entry, taken: Taken): (tokens: number) => void {
    let running = true;
    return (tokens) => {
      if (!running) return;
      running = false;
      end(entry.use, taken, tokens);
      if (!closing && wantsWrite(entry.use)) statements.write(entry, 'Soon');
    };
  }

  return {
    take({ org, uid }, limits, tokens) {
      const key = { org, uid };
      const id = idOf(key);
      const known = entries.get(id);
      try {
        if (known === undefined) return opened(key, limits).then((entry) => decide(entry, limits, tokens));
        entries.delete(id);
        entries.set(id, known);
        return decide(known, limits, tokens);
      } catch (error) {
        return Promise.reject(error instanceof Error ? error : new Error('failed'));
      }
    },
    async close() {
      if (closing) return;
      closing = true;
      clearInterval(sweeping);
      await Promise.allSettled(opening.values());
      statements.close();
      for (const entry of entries.values()) {
        entry.leaving = true;
        statements.write(entry, 'Now');
      }
      await statements.ended();
    },
  };
}

function isIdle({ use, waiting }: Entry): boolean {
  return use.running === 0 && waiting.length === 0;
}
