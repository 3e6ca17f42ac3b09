/** Owns opening webhooks from the settings: their dialer, and the queue of later attempts. */
import { openWebhooks, type Webhooks } from '../../actors/delivery/open.js';
import { openDialer } from '../engines/dialer/dialer.js';
import { openResolver } from '../engines/dialer/resolve.js';
import { kindByName } from '../kinds/index.js';
import type { Config } from '../config.js';
import type { Store } from '../../storage/open.js';
import { openQueue } from '../../storage/queues/open.js';
import type { Lease, SecretVersions } from '../../storage/store.js';
import { openDeliveries } from '../../storage/webhooks/deliveries.js';
import { openEndpointRows } from '../../storage/webhooks/endpoints.js';
import { openOutbox } from '../../storage/webhooks/outbox.js';
import type { Metrics } from './metrics.js';

/** Jobs are only told, so few in hand at once are enough. */
const QUEUE_CONCURRENCY = 8;

export interface WebhookOptions {
  readonly config: Config;
  readonly databaseUrl: string;
  readonly store: Store;
  readonly lease: Lease;
  readonly secrets: SecretVersions;
  readonly metrics: Metrics;
  /** Certificates (PEM) that are trusted beside the usual ones. */
  readonly webhookCa: readonly string[] | undefined;
}

export async function openActiveWebhooks(
  { config, databaseUrl, store, lease, secrets, metrics, webhookCa }: WebhookOptions,
  stopping: AbortSignal,
): Promise<Webhooks> {
  const { postgres, clock, clusterId } = store;
  return openWebhooks({
    outbox: openOutbox(postgres),
    deliveries: openDeliveries(postgres),
    endpointRows: openEndpointRows(postgres),
    secrets,
    // Owners of endpoints choose the names, and who answers for them.
    dialer: openDialer({ allow: config.webhookAllow, ca: webhookCa, lookup: openResolver() }),
    epoch: lease.epoch,
    head: await store.changes.head(),
    kindOf: kindByName,
    openQueue: (hooks) =>
      openQueue(
        config.redisUrl ? { backend: 'redis', url: config.redisUrl } : { backend: 'postgres', url: databaseUrl },
        {
          ...hooks,
          name: `deliveries-${clusterId.slice(0, 8)}`,
          concurrency: QUEUE_CONCURRENCY,
          onError: (error) => metrics.observe.problem(`webhooks: ${error.message}`),
        },
      ),
    clock,
    chance: Math.random,
    onOutcome: metrics.observe.delivery,
    onProblem: metrics.observe.problem,
    stopping,
  });
}
