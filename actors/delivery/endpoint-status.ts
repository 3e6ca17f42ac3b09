/**
 * Projects the rows of deliveries to the status of their endpoints: once a second of those endpoints that have a new attempt, and
 * every few minutes of those whose counts of the last 24 hours only get fewer with time. Each message is read from the rows when it
 * is sent.
 *
 * I10: as many endpoints are noted as there are; AT_ONCE get their message in one round, the others in the next.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ObjectMessage } from '../../src/kinds/object-message.js';
import type { Deliveries } from '../../storage/webhooks/deliveries.js';
import type { Endpoint, Endpoints } from './endpoints.js';

const EVERY_MS = 1_000;
/** Endpoints in a round: each may cost a commit. */
const AT_ONCE = 200;
/** The counts are kept to within ten minutes. */
const COUNTS_EVERY_MS = 10 * 60_000;

type Seen = Extract<ObjectMessage, { type: 'DeliveriesSeen' }>;
export type LastAttempt = NonNullable<Seen['last']>;

export interface EndpointStatus {
  /** An attempt has ended and is written. */
  note(endpoint: string, last: LastAttempt): void;
  readonly ended: Promise<void>;
}

export interface EndpointStatusDeps {
  readonly deliveries: Pick<Deliveries, 'summarise'>;
  readonly endpoints: Pick<Endpoints, 'get' | 'all'>;
  /** False: not taken now. */
  tell(endpoint: Endpoint, message: ObjectMessage): Promise<boolean>;
  onProblem(message: string): void;
  readonly stopping: AbortSignal;
  readonly everyMs?: number | undefined;
}

export function openEndpointStatus(deps: EndpointStatusDeps): EndpointStatus {
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
        if (!stopping.aborted)
          deps.onProblem(`webhooks: ${error instanceof Error ? error.message : 'status not written'}`);
      }
      await sleep(everyMs, undefined, { signal: stopping }).catch(() => {});
    }
  }

  async function round(): Promise<void> {
    const chosen = [...noted].slice(0, AT_ONCE);
    if (chosen.length === 0) return;
    for (const [uid] of chosen) noted.delete(uid);
    const sent = new Set<string>();
    try {
      const lasts = new Map(chosen);
      const summaries = await deps.deliveries.summarise([...lasts.keys()]);
      await Promise.all(
        summaries.map(async ({ endpoint: uid, recent, succeeded, failed }) => {
          const endpoint = deps.endpoints.get(uid);
          const message = { type: 'DeliveriesSeen', recent, succeeded, failed, last: lasts.get(uid) } as const;
          if (endpoint === undefined || (await deps.tell(endpoint, message))) sent.add(uid);
        }),
      );
    } finally {
      // What was not sent is sent later, unless something newer is noted by then.
      for (const [uid, last] of chosen) if (!sent.has(uid) && !noted.has(uid)) noted.set(uid, last);
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
