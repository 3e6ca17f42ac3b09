/**
 * Opens what keeps money going beside the objects' own commits: renewals of holds, the wake of what waits for money, what statuses show of
 * the ledger, notices with their mails, and what estimates remember.
 */
import { decodeObject } from '../src/api/encode.js';
import type { ApiObject } from '../src/api/object.js';
import { costCounter } from '../src/money/counters.js';
import type { ActorsDeps } from './deps.js';
import { openBegunWork } from './money/begun-work.js';
import { showCredits } from './money/credits.js';
import { sendMails } from './money/mails.js';
import { sendNotices } from './money/notices.js';
import { openProjection } from './money/projection.js';
import { renewHolds } from './money/renewals.js';
import { openWaitingWork } from './money/waiting-work.js';
import type { ObjectsPart } from './open-objects.js';
import type { WorkPart } from './open-work.js';
import { delay } from './wait.js';

/** Longest wait for a round that is under way when all of it ends (ms). */
const END_WITHIN_MS = 5_000;

export type MoneyPart = ReturnType<typeof openMoney>;

export function openMoney(
  { ledger, clock, mail, observe, stopping }: ActorsDeps,
  { committer, router, read, runHistory }: Pick<ObjectsPart, 'committer' | 'router' | 'read' | 'runHistory'>,
  { attempts, fundedTimes }: Pick<WorkPart, 'attempts' | 'fundedTimes'>,
) {
  const { send } = router;
  const onProblem = (what: string) => (message: string) => observe.problem('the ledger', `${what}: ${message}`);
  const projection = openProjection({ rows: ledger, send, clock, onProblem: onProblem('costs are not shown') });
  const waiting = openWaitingWork({
    ...{ rows: ledger, send, clock, onProblem: onProblem('waiting work is not woken') },
    async wants(owner, uid) {
      const body = await read(owner);
      return body !== undefined && wantsToBegin(decodeObject(body), uid);
    },
  });
  const begun = openBegunWork({
    ...{ attempts, read, ledger: committer.ledger, fund: fundedTimes.note },
    monotonic: () => performance.now(),
    onProblem: onProblem('work that has begun is not billed'),
  });
  let running: Promise<unknown> = Promise.resolve();
  return {
    askCost: (org: string, uid: string): void => projection.ask({ org, counter: costCounter(uid) }),
    awaitMoney: waiting.add,
    workBegun: begun.note,
    /** Begins; goes on until `stopping` is aborted. `caughtUp`: before that, work that has ended would be charged as if it ran. */
    start(caughtUp: Promise<void>): void {
      running = Promise.all([
        caughtUp.then(() =>
          renewHolds(
            {
              ...{
                due: ledger.due,
                rebound: ledger.rebound,
                refused: waiting.takeRefused,
                ledger: committer.ledger,
                send,
                fund: fundedTimes.note,
                clock,
              },
              onProblem: onProblem('holds are not renewed'),
            },
            stopping,
          ),
        ),
        waiting.run(stopping),
        begun.run(stopping),
        projection.run(stopping),
        sendNotices({ rows: ledger, send, onProblem: onProblem('Budgets are not told') }, stopping),
        showCredits({ rows: ledger, send, onProblem: onProblem('CreditGrants are not shown') }, stopping),
        fundedTimes.run(stopping),
        runHistory?.run(stopping),
        sendMails(
          {
            ...{ rows: ledger, send, engine: mail?.engine },
            onOutcome: (phase) => mail?.onOutcome(phase),
            onProblem: (message) => observe.problem('the mails', message),
          },
          stopping,
        ),
      ]);
    },
    /** Precondition: `stopping` is aborted. Lets rounds end that are under way. */
    async close(): Promise<void> {
      const patience = new AbortController();
      await Promise.race([running, delay(END_WITHIN_MS, patience.signal)]);
      patience.abort();
    },
  };
}

const ENDED_BY_CLIENT: ReadonlySet<unknown> = new Set(['Cancelled', 'Suspended']);

function wantsToBegin({ metadata, spec, status }: ApiObject, uid: string): boolean {
  if (metadata.uid !== uid || metadata.deletionTimestamp !== undefined) return false;
  const { completionTime } = (status ?? {}) as { completionTime?: unknown };
  return completionTime === undefined && !ENDED_BY_CLIENT.has((spec as { state?: unknown } | undefined)?.state);
}
