/**
 * Owns telling endpoints how their deliveries stand: once a second those that something happened to, and every few minutes
 * those whose counts of the last 24 hours only get fewer with time. What is told is read from the rows at that moment.
 *
 * I10: as many endpoints are noted as there are; so many are told in one round, the others in the next.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ObjectMessage } from '../../src/kinds/object-message.js';
import type { Deliveries } from '../../storage/webhooks/deliveries.js';
import type { Endpoint, Endpoints } from './endpoints.js';

const EVERY_MS = 1_000;
/** Endpoints told in a round: each may cost a commit. */
const AT_ONCE = 200;
/** The counts are kept to within ten minutes. */
const COUNTS_EVERY_MS = 10 * 60_000;

type Seen = Extract<ObjectMessage, { letter: 'DeliveriesSeen' }>;
export type LastAttempt = NonNullable<Seen['last']>;

export interface Reports {
  /** An attempt has ended and is written. */
  note(endpoint: string, last: LastAttempt): void;
  readonly ended: Promise<void>;
}

export interface ReportsDeps {
  readonly deliveries: Pick<Deliveries, 'summarise'>;
  readonly endpoints: Pick<Endpoints, 'get' | 'all'>;
  /** False: not taken now. */
  tell(endpoint: Endpoint, letter: ObjectMessage): Promise<boolean>;
  onProblem(message: string): void;
  readonly stopping: AbortSignal;
  readonly everyMs?: number | undefined;
}

export function openReports(deps: ReportsDeps): Reports {
  const { stopping, everyMs = EVERY_MS } = deps;
  const noted = new Map<string, LastAttempt | undefined>();

  async function run(): Promise<void> {
    let counted = Number.NEGATIVE_INFINITY;
    while (!stopping.aborted) {
      if (performance.now() - counted >= COUNTS_EVERY_MS) {
        counted = performance.now();
        for (const { uid, counts } of deps.endpoints.all()) if (counts && !noted.has(uid)) noted.set(uid, undefined);
      }
      try {
        await round();
      } catch (error) {
        if (!stopping.aborted) deps.onProblem(`webhooks: ${error instanceof Error ? error.message : 'not told'}`);
      }
      await sleep(everyMs, undefined, { signal: stopping }).catch(() => {});
    }
  }

  async function round(): Promise<void> {
    const chosen = [...noted].slice(0, AT_ONCE);
    if (chosen.length === 0) return;
    for (const [uid] of chosen) noted.delete(uid);
    const told = new Set<string>();
    try {
      const lasts = new Map(chosen);
      const summaries = await deps.deliveries.summarise([...lasts.keys()]);
      await Promise.all(
        summaries.map(async ({ endpoint: uid, recent, succeeded, failed }) => {
          const endpoint = deps.endpoints.get(uid);
          const letter = { letter: 'DeliveriesSeen', recent, succeeded, failed, last: lasts.get(uid) } as const;
          if (endpoint === undefined || (await deps.tell(endpoint, letter))) told.add(uid);
        }),
      );
    } finally {
      // What was not told is told later, unless something newer is by then.
      for (const [uid, last] of chosen) if (!told.has(uid) && !noted.has(uid)) noted.set(uid, last);
    }
  }

  const ended = run();
  return {
    note(endpoint, last) {
      const before = noted.get(endpoint);
      noted.set(endpoint, before !== undefined && before.time > last.time ? before : last);
    },
    ended,
  };
}
