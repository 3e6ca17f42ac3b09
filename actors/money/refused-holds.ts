/**
 * Counts the first holds that Budgets refuse and tells each Budget, at most once a minute: a refused commit leaves no row that could tell of
 * it. Counts that were not told are lost with the process.
 */
import type { Address } from '../../src/api/address.js';
import type { ObjectMessage } from '../../src/kinds/object-message.js';
import type { HoldRefusal } from '../../src/money/operation.js';
import type { Committer } from '../../storage/commit/request.js';
import type { MessageRouter } from '../message-router.js';

export interface RefusedHolds {
  /** The committer, watched. */
  follow(committer: Pick<Committer, 'commit' | 'keepAnswer'>): Pick<Committer, 'commit' | 'keepAnswer'>;
  /** A hold that no object's commit asked for was refused, so many times. */
  note(org: string, refusal: HoldRefusal, times: number): void;
  /** Tells what is due. Ends when the signal is aborted. */
  start(router: Pick<MessageRouter, 'send'>, stopping: AbortSignal): void;
}

type Last = Extract<ObjectMessage, { type: 'HoldsRefused' }>['last'];

interface Tally {
  readonly budget: Address;
  readonly uid: string;
  untold: number;
  /** Of the last refusal. */
  last: Last;
  lastAt: number;
  /** ms on a clock that only goes forward. */
  toldAt: number;
}

const LOOK_EVERY_MS = 1_000;
const TELL_EVERY_MS = 60_000;
/** I10: Budgets that are counted at once; refusals by further ones are not counted. */
const MOST_BUDGETS = 10_000;

export function openRefusedHolds(now: () => number = () => performance.now()): RefusedHolds {
  const tallies = new Map<string, Tally>();

  function note(org: string, refusal: HoldRefusal, times: number): void {
    const { by, uid, name = '' } = refusal;
    if (by !== 'Budget' || uid === undefined) return;
    const last = lastOf(refusal);
    const key = `${org}/${uid}`;
    const tally = tallies.get(key);
    if (tally !== undefined) {
      tally.untold += times;
      tally.last = last;
      tally.lastAt = now();
    } else if (tallies.size < MOST_BUDGETS)
      tallies.set(key, {
        budget: { org, kind: 'Budget', project: '', name },
        uid,
        untold: times,
        last,
        lastAt: now(),
        toldAt: -Infinity,
      });
  }

  async function tell(tally: Tally, router: Pick<MessageRouter, 'send'>): Promise<void> {
    const count = tally.untold;
    tally.untold = 0;
    tally.toldAt = now();
    const delivery = await router.send(tally.budget, tally.uid, {
      ...{ type: 'HoldsRefused', count, last: tally.last, ago: now() - tally.lastAt },
    });
    if (delivery !== 'Done' && delivery !== 'Absent') tally.untold += count;
  }

  return {
    follow: (committer) => ({
      keepAnswer: (...args) => committer.keepAnswer(...args),
      async commit(request, basis) {
        const result = await committer.commit(request, basis);
        if (result.outcome === 'HoldRefused') note(request.address.org, result, 1);
        return result;
      },
    }),
    note,
    start(router, stopping) {
      const timer = setInterval(() => {
        for (const [key, tally] of tallies) {
          if (now() - tally.toldAt < TELL_EVERY_MS) continue;
          if (tally.untold === 0) tallies.delete(key);
          else void tell(tally, router);
        }
      }, LOOK_EVERY_MS);
      timer.unref();
      stopping.addEventListener('abort', () => clearInterval(timer), { once: true });
    },
  };
}

const lastOf = ({ availableUSD, neededUSD, limitUSD }: Last): Last => ({ availableUSD, neededUSD, limitUSD });
