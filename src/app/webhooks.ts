/** Webhooks of this deployment: their dialer, the queue of later attempts, and what HTTP reads and sends again of deliveries. */
import { randomUUID } from 'node:crypto';
import { openKeyedAnswers } from '../../actors/keyed-answers.js';
import type { Actors } from '../../actors/open.js';
import { openWebhooks, type Webhooks } from '../../actors/delivery/open.js';
import { replayDelivery, type ReplayDeps } from '../../actors/delivery/replays.js';
import type { Deliveries } from '../../http/deps.js';
import { openDialer } from '../engines/dialer/dialer.js';
import { openResolver } from '../engines/dialer/resolve.js';
import { kindByName } from '../kinds/index.js';
import type { Store } from '../../storage/open.js';
import type { LeaderDeps } from './leader.js';
import { openQueue } from '../../storage/queues/open-queue.js';
import type { QueueBackend } from '../../storage/queues/queue.js';
import { openDeliveries as openDeliveryRows } from '../../storage/webhooks/deliveries.js';
import { openEndpointRows } from '../../storage/webhooks/endpoints.js';
import { openDeliveryLog } from '../../storage/webhooks/log.js';
import { openOutbox } from '../../storage/webhooks/outbox.js';

/** A job of the queue only wakes its endpoint, so few at once are enough. */
const QUEUE_CONCURRENCY = 8;

export async function openLeaderWebhooks(
  deps: Pick<LeaderDeps, 'config' | 'databaseUrl' | 'store' | 'lease' | 'secrets' | 'metrics' | 'webhookCa'>,
  stopping: AbortSignal,
): Promise<Webhooks> {
  const { config, store, lease, secrets, metrics, webhookCa } = deps;
  const { postgres, clock, clusterId } = store;
  return openWebhooks({
    outbox: openOutbox(postgres),
    deliveries: openDeliveryRows(postgres),
    endpointRows: openEndpointRows(postgres),
    secrets,
    // Owners of endpoints choose the names, and who answers for them.
    dialer: openDialer({ allow: config.webhookAllow, ca: webhookCa, lookup: openResolver() }),
    epoch: lease.epoch,
    head: await store.changes.head(),
    kindOf: kindByName,
    openQueue: (hooks) =>
      openQueue(queueBackend(deps), {
        ...hooks,
        name: `deliveries-${clusterId.slice(0, 8)}`,
        concurrency: QUEUE_CONCURRENCY,
        onError: (error) => metrics.observe.problem('the webhooks', error.message),
      }),
    clock,
    chance: Math.random,
    onOutcome: metrics.observe.delivery,
    onProblem: (message) => metrics.observe.problem('the webhooks', message),
    stopping,
  });
}

/** Redis, where the settings name one. */
export const queueBackend = ({ config, databaseUrl }: Pick<LeaderDeps, 'config' | 'databaseUrl'>): QueueBackend =>
  config.redisUrl ? { backend: 'redis', url: config.redisUrl } : { backend: 'postgres', url: databaseUrl };

export function openDeliveries(
  { postgres, responses, clock }: Store,
  actors: Pick<Actors, 'keepAnswer'>,
  webhooks: Pick<Webhooks, 'look'>,
): Deliveries {
  const log = openDeliveryLog(postgres);
  const deps: ReplayDeps = {
    log,
    answers: openKeyedAnswers(responses, actors),
    look: (endpoint) => webhooks.look(endpoint),
    now: clock,
    uid: randomUUID,
  };
  return {
    list: log.list,
    replay: (org, endpoint, id, keyed) => replayDelivery({ org, endpoint, id }, keyed, deps),
  };
}
