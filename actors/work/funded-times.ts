/**
 * Sends the engine how long work is paid, so that work ends by itself should nobody renew its hold: the service may be away, or its database.
 * Work then has `graceMs` more, in which the service may come back. Work that nothing limits has no such end. The order of the work has the first
 * time: what its hold has lasts so long from its place on, and the commit that placed the hold said whether anything limits it. Where that is
 * not known any more (the service has started again since), it counts as limited until the ledger says otherwise, a moment later. Whatever
 * bills or renews the hold sends another time.
 *
 * I7: what such time costs beyond what is held is the service's, so there has to be an end to it.
 * I10: one entry for each piece of work until the engine has its time, AT_ONCE in a request, and the last time of MOST_KNOWN. A request that the
 * engine does not take is sent again.
 */
import { LRUCache } from 'lru-cache';
import type { ComputeEngine, FundedTime } from '../../src/engines/compute/contract/engine.js';
import type { ApiObject } from '../../src/api/object.js';
import { within } from '../../src/deadline.js';
import { firstFundedUntil } from '../../src/kinds/attempt/billing.js';
import type { FundedHold } from '../../storage/commit/request.js';
import type { Clock } from '../../storage/store.js';
import { tick } from '../money/ticker.js';
import { workId, type Attempts } from './attempts.js';
import { atMost } from '../../src/lru-bound.js';

const EVERY_MS = 200;
const AT_ONCE = 1_000;
const ANSWER_MS = 10_000;
/** An order follows the commit that places its hold soon, but where it waits for a place. */
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
  /** What is billed of this Attempt is paid until then. */
  note(uid: string, until: Until): void;
  /** As a commit of the Attempt with this uid has left it. */
  committed(uid: string, funded: FundedHold): void;
  /** How long the work of this Attempt, which has its place, may go on when it begins now, in seconds; undefined: without end. */
  secondsOf(attempt: ApiObject): number | undefined;
  /** Goes on until `stopping` is aborted; resolves then. */
  run(stopping: AbortSignal): Promise<void>;
}

export function openFundedTimes({ engine, attempts, clock, graceMs, onProblem }: FundedTimesDeps): FundedTimes {
  const unsent = new Map<string, Until>();
  const known = new LRUCache<string, FundedHold>(atMost(MOST_KNOWN));

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
      if (times.length > 0) await within(ANSWER_MS, stopping, (signal) => to.fund(times, signal));
      // A time that was noted meanwhile goes with the next round.
      for (const [uid, until] of some) if (unsent.get(uid) === until) unsent.delete(uid);
    }
  }

  function note(uid: string, until: Until): void {
    if (engine === undefined) return;
    unsent.set(uid, until);
    known.set(uid, { state: 'Billed', until });
  }

  return {
    note,
    committed(uid, funded) {
      if (engine === undefined) return;
      if (funded.state === 'Billed') note(uid, funded.until);
      else known.set(uid, funded);
    },
    secondsOf(attempt) {
      const funded = known.get(attempt.metadata.uid);
      if (funded?.state === 'Billed') return secondsTo(funded.until, clock());
      return funded?.limited === false ? undefined : secondsTo(firstFundedUntil(attempt), clock());
    },
    async run(stopping) {
      if (engine === undefined) return;
      const problem = (message: string): void =>
        onProblem(`the engine does not learn how long work is paid: ${message}`);
      await tick({ every: EVERY_MS, round: () => round(engine, stopping), onProblem: problem }, stopping);
    },
  };
}
