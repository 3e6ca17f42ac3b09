/**
 * Places of answers whose bytes are prepared for their client alone: pages of cells, blocks of logs, pages of followed events. Who has a
 * place may hold a chunk in memory until the client has taken it, and nothing is prepared without a place. So clients that ask and do not
 * read hold a bounded number of chunks, however many they are. Orgs take turns, and of the places an org leaves as many free as it holds.
 *
 * A client that does not take its chunk within TAKE_MS is cut when others of its org wait for a place, or none is left for other orgs.
 *
 * I10: PLACES hold a chunk; one that waits for longer than WAIT_MS is refused with TooManyRequests. What waits is one entry for each
 * request in flight and each stream, which are bounded.
 */
import type { ServerResponse } from 'node:http';
import { OrgRoundRobin } from '../actors/effects/org-round-robin.js';
import { refuse } from '../src/api/refusal.js';
import { add, remove } from './connections.js';

const PLACES = 128;
const WAIT_MS = 20_000;
const TAKE_MS = 5_000;

export interface AnswerPlaceSettings {
  readonly places?: number | undefined;
  readonly waitMs?: number | undefined;
  readonly takeMs?: number | undefined;
}

export interface AnswerPlaces {
  /** Rejects with the signal, and with TooManyRequests when there was none for too long. */
  take(org: string, signal: AbortSignal): Promise<AnswerPlace>;
}

export interface AnswerPlace {
  /** Resolves when the client has taken what it was sent, and calls `cut` when it does not while others need the place. */
  untilTaken(taken: Promise<void>, cut: () => void): Promise<void>;
  /** Harmless twice. */
  free(): void;
}

/** Frees the place of a complete answer when its client has it all, or is gone. */
export function freeWithAnswer(place: AnswerPlace, res: ServerResponse): void {
  const over = new Promise<void>((resolve) => {
    if (res.closed || res.writableFinished) return resolve();
    res.once('finish', resolve);
    res.once('close', resolve);
  });
  void place.untilTaken(over, () => res.destroy()).finally(() => place.free());
}

interface Waiting {
  readonly org: string;
  begin(): void;
}

export function openAnswerPlaces({
  places = PLACES,
  waitMs = WAIT_MS,
  takeMs = TAKE_MS,
}: AnswerPlaceSettings = {}): AnswerPlaces {
  const turns = new OrgRoundRobin<Waiting>(places, true);
  /** By org. */
  const waiting = new Map<string, number>();
  let held = 0;

  function isNeeded(org: string): boolean {
    return waiting.has(org) || (held >= places && waiting.size > 0);
  }

  function placeOf(org: string): AnswerPlace {
    let isHeld = true;
    held += 1;
    return {
      async untilTaken(taken, cut) {
        const timer = setInterval(() => {
          if (isNeeded(org)) cut();
        }, takeMs);
        try {
          await taken;
        } finally {
          clearInterval(timer);
        }
      },
      free() {
        if (!isHeld) return;
        isHeld = false;
        held -= 1;
        turns.release({ org });
        next();
      },
    };
  }

  function next(): void {
    for (let one = turns.take(); one !== undefined; one = turns.take()) one.begin();
  }

  return {
    take(org, signal) {
      return new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason as Error);
        const leave = (): void => {
          remove(waiting, org);
          clearTimeout(timer);
          signal.removeEventListener('abort', abandon);
        };
        const giveUp = (reason: Error): void => {
          turns.delete(one);
          leave();
          reject(reason);
        };
        const abandon = (): void => giveUp(signal.reason as Error);
        const one: Waiting = {
          org,
          begin() {
            leave();
            resolve(placeOf(org));
          },
        };
        const timer = setTimeout(() => giveUp(tooMany()), waitMs);
        signal.addEventListener('abort', abandon, { once: true });
        add(waiting, org);
        turns.add(one);
        next();
      });
    },
  };
}

function tooMany(): Error {
  return refuse('TooManyRequests', 'too many answers of this org wait for their clients to read', {
    retryAfterSeconds: 5,
    fix: 'Ask for fewer at once, and read each answer as it comes.',
  });
}
