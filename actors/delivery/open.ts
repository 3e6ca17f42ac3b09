/**
 * Opens webhooks in the active process: endpoints → dispatcher → sender → results → endpoint status, and the queue in which later
 * attempts wait (`retry-queue.ts`). Everything in it ends when `stopping` is aborted.
 */
import type { Dialer } from '../../src/engines/dialer/dialer.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { CommittedChange, CommitResult, Committer } from '../../storage/commit/request.js';
import type { Queue, QueueOptions } from '../../storage/queues/queue.js';
import type { SecretVersions } from '../../storage/store.js';
import type { Deliveries } from '../../storage/webhooks/deliveries.js';
import type { EndpointRows } from '../../storage/webhooks/endpoints.js';
import type { Outbox } from '../../storage/webhooks/outbox.js';
import type { MessageRouter } from '../message-router.js';
import { openDispatcher } from './dispatcher.js';
import { openEndpoints } from './endpoints.js';
import { openKeys } from './keys.js';
import { openRetryQueue } from './retry-queue.js';
import { openEndpointStatus } from './endpoint-status.js';
import { openSender, type Sender } from './sender.js';
import { openDeliveryResults } from './delivery-results.js';

/** Most receivers answer within this; a stop does not wait for the others (ms). */
const DRAIN_MS = 2_000;

export interface WebhooksDeps {
  readonly outbox: Outbox;
  readonly deliveries: Deliveries;
  readonly endpointRows: EndpointRows;
  readonly secrets: Pick<SecretVersions, 'open'>;
  readonly dialer: Dialer;
  /** Of the lease. */
  readonly epoch: number;
  /** Version of the newest commit; no other process commits. */
  readonly head: number;
  readonly kindOf: (name: string) => KindDefinition | undefined;
  openQueue(options: Pick<QueueOptions, 'process' | 'onReconnect'>): Promise<Queue>;
  readonly clock: () => number;
  readonly chance: () => number;
  onOutcome(outcome: string): void;
  onProblem(message: string): void;
  readonly stopping: AbortSignal;
}

export interface Webhooks {
  /** Every committed change, in version order, before it is acknowledged. */
  committed(change: CommittedChange): void;
  /** Wakes the dispatcher after a commit that emitted something which some endpoint may want. */
  follow(committer: Committer): Committer;
  /** What is due is sent from now on. */
  start(router: Pick<MessageRouter, 'send'>): void;
  /** Something of this endpoint is due. */
  look(endpoint: string): void;
  /** For `AbandonDeliveries`. */
  abandon(org: string, endpoint: string, version: number): Promise<void>;
  /** Deliveries in memory and under way, and how long no event was looked for (ms, I13). */
  state(): { readonly waiting: number; readonly inHand: number; readonly idleMs: number };
  /** Begins nothing more, and gives what is in hand a moment to end: what is cut off is sent again by the next process. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

interface Running {
  readonly sender: Sender;
  readonly idleMs: () => number;
  readonly ended: () => Promise<unknown>;
}

/** Precondition: the lease is held and the committer is not open yet, so that what is read here is what it goes on from. */
export async function openWebhooks(deps: WebhooksDeps): Promise<Webhooks> {
  const { stopping, onProblem } = deps;
  const endpoints = openEndpoints(await deps.endpointRows.all(), deps.head);
  const keys = openKeys({ rows: deps.endpointRows, secrets: deps.secrets });
  let running: Running | undefined;
  let wake = (): void => {};

  const queue = await deps.openQueue({
    process(pointer) {
      if (typeof pointer === 'string') running?.sender.look(pointer);
      return Promise.resolve();
    },
    // What the queue has forgotten is overdue some time, and the sweep finds it.
    onReconnect() {},
  });

  function begin(router: Pick<MessageRouter, 'send'>): Running {
    const { clock, chance, dialer, deliveries, outbox, epoch, kindOf } = deps;
    const retries = openRetryQueue(queue, clock, onProblem);
    const results = openDeliveryResults({
      write: (settlements) => deliveries.recordResults(settlements),
      onProblem,
      stopping,
    });
    const status = openEndpointStatus({
      ...{ deliveries, endpoints, onProblem, stopping },
      tell: async ({ address, uid }, message) => (await router.send(address, uid, message)) !== 'Retry',
    });
    const sender = openSender({
      ...{ deliveries, endpoints, keys, results, dialer, now: clock, chance, onProblem, stopping },
      onAttempt({ endpoint, event, id }, { attempt, before, phase, due }) {
        deps.onOutcome(phase);
        if (attempt === undefined) return;
        const number = before + 1;
        status.note(endpoint, { attempt: number, event, status: attempt.status, time: attempt.at });
        if (due !== undefined) retries.add({ id, number, endpoint, due });
      },
    });
    const dispatcher = openDispatcher({
      ...{ outbox, endpoints, epoch, kindOf, onProblem, stopping },
      onDispatched: (dispatched) => sender.offer(dispatched),
    });
    wake = () => dispatcher.wake();
    return {
      sender,
      idleMs: () => dispatcher.idleMs(),
      async ended() {
        await dispatcher.ended;
        await sender.ended();
        await results.close();
        await status.ended;
        retries.close();
      },
    };
  }

  async function commitEvents(committer: Committer, ...asked: Parameters<Committer['commit']>): Promise<CommitResult> {
    const [{ address }] = asked;
    const result = await committer.commit(...asked);
    if (result.outcome === 'Committed' && endpoints.has(address.org)) wake();
    return result;
  }

  return {
    committed(change) {
      if (endpoints.committed(change)) keys.forget(change.uid);
    },
    follow: (committer) => ({
      ...committer,
      commit: (request, before) =>
        // Most commits raise no event, and are handed on as they are.
        request.events.length === 0 ? committer.commit(request, before) : commitEvents(committer, request, before),
    }),
    start(router) {
      running ??= begin(router);
    },
    look: (endpoint) => running?.sender.look(endpoint),
    abandon: (org, endpoint, version) => deps.deliveries.abandon(org, endpoint, version),
    state: () =>
      running ? { ...running.sender.state(), idleMs: running.idleMs() } : { waiting: 0, inHand: 0, idleMs: 0 },
    drain: () => running?.sender.drain(DRAIN_MS) ?? Promise.resolve(),
    async close() {
      await running?.ended();
      await queue.close();
      deps.dialer.close();
    },
  };
}
