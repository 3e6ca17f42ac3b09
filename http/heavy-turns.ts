/**
 * Lets what holds the event loop for long through one request at a time: large bodies, long selectors and reads that show a large object
 * in another form, which may take tens of milliseconds of it to be parsed and checked. Orgs take turns, and after each turn the loop is left to all other requests for REST times as
 * long. So an org that sends nothing but such requests has a part of the event loop, and neither the requests of others nor the renewal of
 * the lease wait for more than one of them.
 *
 * Between two parts of its work a heavy request lets go of the loop (`betweenParts`), so that the others wait for one part only.
 *
 * I10: MOST_WAITING of one org wait; one more is 429 with Retry-After. A turn ends PARTS turns of the loop after the body is read, when the
 * actor has decided; otherwise with the answer, or after HOLD_MS: what a request waits for (a commit, a client that reads slowly) holds no
 * other up.
 */
import { performance } from 'node:perf_hooks';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { OrgRoundRobin } from '../actors/effects/org-round-robin.js';
import { refuse } from '../src/api/refusal.js';
import type { Exchange } from './exchange.js';

/** Bytes of JSON from which on a body waits for a turn: they are read and checked in about a millisecond. */
const HEAVY_BODY = 16 * 1024;
/** The same of YAML, a kilobyte of which takes up to 3 ms. */
const HEAVY_YAML = 512;
/** Characters of path and query, likewise. */
const HEAVY_URL = 2 * 1024;
const MOST_WAITING = 64;
const HOLD_MS = 250;
const REST = 4;
const MOST_REST_MS = 500;
/** Turns of the loop from the end of reading to the end of deciding: the message to the actor, and the actor's own turn. */
const PARTS = 4;

export interface HeavyTurns {
  /** Resolves at once for a body of fewer bytes, otherwise with its turn; refuses with TooManyRequests. */
  ofBody(x: Exchange, bytes: number): Promise<void>;
  /** The same by the length of its path and query. */
  ofUrl(x: Exchange): Promise<void>;
  /** The same of a read, by the bytes of the object that has to be parsed for its answer. */
  ofAnswer(x: Exchange, bytes: number): Promise<void>;
}

/** Resolves when what waits for the event loop has had its turn; undefined for a light request, which goes on at once. */
export function betweenParts(x: Pick<Exchange, 'endHeavyTurn'>, bytes: number): Promise<void> | undefined {
  if (x.endHeavyTurn !== undefined) void decided(x.endHeavyTurn);
  return bytes > HEAVY_BODY ? turnOfLoop() : undefined;
}

async function decided(end: () => void): Promise<void> {
  for (let turn = 0; turn < PARTS; turn += 1) await turnOfLoop();
  end();
}

interface Waiting {
  readonly org: string;
  readonly x: Exchange;
  begin(): void;
}

/** `holdMs`: as HOLD_MS. */
export function openHeavyTurns(holdMs: number = HOLD_MS): HeavyTurns {
  const turns = new OrgRoundRobin<Waiting>(1, false);
  const waiting = new Map<string, number>();

  function leaveLine(one: Waiting): void {
    const left = (waiting.get(one.org) ?? 1) - 1;
    if (left > 0) waiting.set(one.org, left);
    else waiting.delete(one.org);
  }

  function next(): void {
    const one = turns.take();
    if (one === undefined) return;
    leaveLine(one);
    const { res } = one.x;
    const before = performance.eventLoopUtilization().active;
    let over = false;
    const end = (): void => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      res.off('close', end);
      const held = performance.eventLoopUtilization().active - before;
      setTimeout(
        () => {
          turns.release(one);
          next();
        },
        Math.min(MOST_REST_MS, held * REST),
      );
    };
    const timer = setTimeout(end, holdMs);
    res.once('close', end);
    one.x.endHeavyTurn = end;
    one.begin();
    // Its client has left while it waited.
    if (res.destroyed) end();
  }

  function wait(x: Exchange): Promise<void> {
    const org = x.caller?.org ?? '';
    const before = waiting.get(org) ?? 0;
    if (before >= MOST_WAITING) {
      throw refuse('TooManyRequests', `${before} large requests of this org wait for their turn`, {
        retryAfterSeconds: 1,
        fix: 'Send fewer large bodies, long selectors and reads of large objects as Table at once.',
      });
    }
    waiting.set(org, before + 1);
    return new Promise((begin) => {
      turns.add({ org, x, begin });
      next();
    });
  }

  return {
    async ofBody(x, bytes) {
      const yaml = x.header('content-type')?.toLowerCase().includes('yaml') === true;
      if (bytes > (yaml ? HEAVY_YAML : HEAVY_BODY)) await wait(x);
    },
    async ofUrl(x) {
      if (x.url.length > HEAVY_URL) await wait(x);
    },
    async ofAnswer(x, bytes) {
      if (bytes > HEAVY_BODY) await wait(x);
    },
  };
}
