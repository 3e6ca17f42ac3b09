/**
 * Asks the ledger for one org, one call at a time: what waits goes at once, with everything that is to be posted by then; without requests that
 * wait, use is posted when it is due. A call that was certainly not written is put back and tried again; one of which nobody knows, or that is
 * fenced, is the end: another process leads now, or will, and releases the blocks of this one.
 */
import type { Committer, LedgerResult } from '../../../storage/commit/request.js';
import { answer, leave, unpostedOf, type Answering } from './answers.js';
import { nextStepAt, planSteps, putBack, type Step } from './plan.js';
import { notNow } from './refusals.js';
import type { Account, Waiting } from './state.js';

/** Between tries of a ledger that does not answer (ms). */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
/** No request waits longer (ms); the ledger answers within ten seconds. */
const LONGEST_WAIT_MS = 12_000;

export interface PostingDeps extends Omit<Answering, 'now'> {
  readonly ledger: Committer['ledger'];
  now(): number;
  /** This process posts nothing any more. */
  onEnd(why: string): void;
}

export interface Posting {
  /** Something waits: asks at the end of this turn of the event loop. */
  soon(): void;
  /** There is something to do by then (monotonic ms). */
  by(at: number): void;
  /** From now on everything is posted and given back, running requests' too. Resolves when nothing is left, or nothing can be done. */
  drain(): Promise<void>;
  /** Does nothing any more. Requests that wait are refused. */
  stop(why: string): void;
}

export function openPosting(account: Account, deps: PostingDeps): Posting {
  let busy = false;
  let stopped = false;
  let closing = false;
  let scheduled = false;
  let pause = 0;
  let notBefore = -Infinity;
  let timer: NodeJS.Timeout | undefined;
  let timerAt = Infinity;
  let drained: (() => void)[] = [];

  function soon(): void {
    if (scheduled || stopped) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      pump();
    });
  }

  function by(at: number): void {
    if (stopped || at >= timerAt) return;
    clearTimeout(timer);
    timerAt = at;
    timer = setTimeout(
      () => {
        timerAt = Infinity;
        pump();
      },
      Math.max(0, at - deps.now()),
    );
    timer.unref();
  }

  function pump(): void {
    if (stopped) return;
    const now = deps.now();
    refuseLate(now);
    const waitsSince = oldestWaiting();
    // Also when the ledger should never answer.
    if (busy) return by(waitsSince + LONGEST_WAIT_MS);
    if (now < notBefore) return by(Math.min(notBefore, waitsSince + LONGEST_WAIT_MS));
    const steps = planSteps(account, now, closing, deps.newKey);
    if (steps.length > 0) {
      busy = true;
      by(waitsSince + LONGEST_WAIT_MS);
      void call(steps, now);
    } else if (closing && account.blocks.size === 0) end();
    else by(Math.max(nextStepAt(account), now + 1));
  }

  async function call(steps: readonly Step[], at: number): Promise<void> {
    const counted = steps.some(({ type }) => type === 'Count');
    if (counted) account.countedAt = at;
    const result = await deps.ledger(
      account.org,
      steps.map(({ operation }) => operation),
    );
    busy = false;
    take(steps, result, at);
    if (account.unposted.requests > 0 || account.unposted.costUSD.gt(0)) {
      if (result.outcome === 'Committed') account.unposted = { ...account.unposted, since: at };
    } else account.unposted = { ...account.unposted, since: Infinity };
    if (!stopped) pump();
  }

  function take(steps: readonly Step[], result: LedgerResult, at: number): void {
    switch (result.outcome) {
      case 'Committed': {
        pause = 0;
        const hooks = { ...deps, now: deps.now() };
        steps.forEach((step, i) => {
          const one = result.results[i];
          if (one !== undefined) answer(account, step, one, hooks);
        });
        return;
      }
      case 'Unavailable':
        for (const step of steps.toReversed()) {
          putBack(account, step);
          if ('asked' in step) refuseAll(step.asked, result.message);
        }
        pause = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, pause * 2));
        notBefore = deps.now() + pause;
        deps.onProblem(
          `use of requests of ${account.org} since ${Math.round(deps.now() - at)} ms is not posted yet: ${result.message}`,
        );
        return;
      case 'Unknown':
      case 'Fenced':
        for (const step of steps.toReversed()) putBack(account, step);
        return deps.onEnd(result.outcome === 'Fenced' ? 'another process leads' : result.message);
    }
  }

  function oldestWaiting(): number {
    let since = Infinity;
    for (const { waiting } of account.blocks.values())
      for (const first of waiting) {
        since = Math.min(since, first.since);
        break;
      }
    return since;
  }

  function refuseLate(now: number): void {
    for (const { waiting } of account.blocks.values())
      refuseAll(
        [...waiting].filter(({ since }) => now - since >= LONGEST_WAIT_MS),
        'the ledger does not answer',
      );
  }

  /** Storage does not answer: the requests are refused as Unavailable, not for lack of money. */
  function refuseAll(some: readonly Waiting[], why: string): void {
    if (some.length === 0) return;
    for (const block of account.blocks.values()) {
      const poor = some.filter((one) => block.waiting.has(one));
      leave(account, block, poor);
      if (poor.length > 0) block.fitting = undefined;
      for (const one of poor) one.refuse(notNow(why));
    }
  }

  function end(): void {
    for (const resolve of drained) resolve();
    drained = [];
  }

  return {
    ...{ soon, by },
    drain() {
      closing = true;
      refuseAll(
        [...account.blocks.values()].flatMap(({ waiting }) => [...waiting]),
        'the service is draining',
      );
      if (stopped) return Promise.resolve();
      const done = new Promise<void>((resolve) => drained.push(resolve));
      notBefore = -Infinity;
      soon();
      return done;
    },
    stop(why) {
      if (stopped) return;
      stopped = true;
      clearTimeout(timer);
      refuseAll(
        [...account.blocks.values()].flatMap(({ waiting }) => [...waiting]),
        why,
      );
      const left = unpostedOf(account);
      if (left.gt(0)) deps.onProblem(`${left.toFixed()} USD of requests of ${account.org} are not charged: ${why}`);
      end();
    },
  };
}
