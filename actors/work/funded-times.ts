/**
 * Sends the engine how long work is paid, so that work ends by itself should nobody renew its hold: the service may be away, or its database.
 * Work then has `graceMs` more, in which the service may come back. Work that nothing limits has no such end. The order of the work has the first
 * time, from the commit that began to bill it; each later commit and each renewal that bills it sends another.
 *
 * I7: what such time costs beyond what is held is the service's, so there has to be an end to it.
 * I10: one entry for each piece of work until the engine has its time, AT_ONCE in a request, and the last time of MOST_KNOWN. A request that the
 * engine does not take is sent again.
 */
import { LRUCache } from 'lru-cache';
import type { ComputeEngine, FundedTime } from '../../src/engines/compute/contract/engine.js';
import type { Clock } from '../../storage/store.js';
import { tick } from '../money/ticker.js';
import { workId, type Attempts } from './attempts.js';

const EVERY_MS = 200;
const AT_ONCE = 1_000;
const ANSWER_MS = 10_000;
/** An order follows the commit that bills its work within seconds. */
const MOST_KNOWN = 20_000;

export interface FundedTimesDeps {
  readonly engine: ComputeEngine | undefined;
  readonly attempts: Pick<Attempts, 'find'>;
  readonly clock: Clock;
  /** How long work goes on after what is paid. */
  readonly graceMs: number;
  onProblem(message: string): void;
}

/** ms; undefined: nothing limits it. */
type Until = number | undefined;

export interface FundedTimes {
  /** `uid` of the Attempt. */
  note(uid: string, until: Until): void;
  /** How long work that begins now may go on, in seconds; undefined: without end, or nothing is known. */
  secondsOf(uid: string): number | undefined;
  /** Goes on until `stopping` is aborted; resolves then. */
  run(stopping: AbortSignal): Promise<void>;
}

export function openFundedTimes({ engine, attempts, clock, graceMs, onProblem }: FundedTimesDeps): FundedTimes {
  const unsent = new Map<string, Until>();
  const known = new LRUCache<string, { readonly until: Until }>({ max: MOST_KNOWN });

  const secondsTo = (until: Until, now: number): number | undefined =>
    until === undefined ? undefined : Math.max(0, until + graceMs - now) / 1000;

  async function round(to: ComputeEngine, stopping: AbortSignal): Promise<void> {
    while (unsent.size > 0 && !stopping.aborted) {
      const some = [...unsent].slice(0, AT_ONCE);
      const now = clock();
      const times = some.flatMap(([uid, until]): FundedTime[] => {
        const attempt = attempts.find(uid);
        if (attempt.found !== 'Live') return [];
        return [{ work: workId(uid, attempt.epoch), seconds: secondsTo(until, now) }];
      });
      if (times.length > 0) await to.fund(times, AbortSignal.any([stopping, AbortSignal.timeout(ANSWER_MS)]));
      // A time that was noted meanwhile goes with the next round.
      for (const [uid, until] of some) if (unsent.get(uid) === until) unsent.delete(uid);
    }
  }

  return {
    note(uid, until) {
      if (engine === undefined) return;
      unsent.set(uid, until);
      known.set(uid, { until });
    },
    secondsOf: (uid) => secondsTo(known.get(uid)?.until, clock()),
    async run(stopping) {
      if (engine === undefined) return;
      const problem = (message: string): void =>
        onProblem(`the engine does not learn how long work is paid: ${message}`);
      await tick({ every: EVERY_MS, round: () => round(engine, stopping), onProblem: problem }, stopping);
    },
  };
}
