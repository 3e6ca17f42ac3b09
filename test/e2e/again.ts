/**
 * The pauses of a client that tries again: each twice the last, as those of real clients are. By the dozen they would otherwise take a
 * processor from a service that starts.
 */
import { setTimeout as delay } from 'node:timers/promises';

const FIRST_MS = 50;
const LONGEST_MS = 800;

export interface Again {
  /** Also ended by the signal, without a word. */
  pause(signal?: AbortSignal): Promise<void>;
  /** The service was there: the next pause is a short one. */
  reached(): void;
}

export function again(): Again {
  let wait = FIRST_MS;
  return {
    async pause(signal) {
      const now = wait;
      wait = Math.min(2 * wait, LONGEST_MS);
      await delay(now, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
    },
    reached: () => {
      wait = FIRST_MS;
    },
  };
}
