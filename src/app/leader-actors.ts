/** The actors of this deployment: their settings, and the parts of storage, engines and webhooks that they use. */
import type { PaymentDeps } from '../../actors/deps.js';
import { openActors, type Actors } from '../../actors/open.js';
import type { Inputs } from '../../actors/work/inputs.js';
import type { Webhooks } from '../../actors/delivery/open.js';
import type { CommittedChange } from '../../storage/commit/request.js';
import { openAdmissionSwitch } from '../../storage/admissions.js';
import type { AttemptTokens } from '../../storage/envelope/attempt-tokens.js';
import { priceTags } from '../../storage/envelope/price-tags.js';
import { openLeaderRows } from '../../storage/ledger/leader-rows.js';
import { openRehearsal } from '../../storage/ledger/rehearsal.js';
import { openRunHistoryRows } from '../../storage/run-history.js';
import { openFullOrg } from '../../storage/org-quota.js';
import { openTimers } from '../../storage/queues/timers.js';
import { neverDialled } from '../engines/dialer/never-dialled.js';
import { allowAddresses } from '../engines/dialer/special-addresses.js';
import type { MailEngine } from '../engines/mail/engine.js';
import { STORED_KINDS } from '../kinds/index.js';
import type { Prices } from './catalog/prices.js';
import type { LeaderDeps } from './leader.js';
import { attemptAccess } from './attempt-api.js';
import type { DiskWatch } from './disk-space.js';
import { queueBackend } from './webhooks.js';
import { keepOutput } from './work-files.js';

/** Watch history kept in memory; older changes are read from Postgres. */
const RING_BYTES = 32 * 2 ** 20;

export interface LeaderActorsParts {
  readonly webhooks: Webhooks;
  readonly disk: DiskWatch;
  readonly inputs: Inputs;
  readonly tokens: AttemptTokens;
  readonly prices: Prices;
  readonly mail: MailEngine | undefined;
  readonly payments: PaymentDeps;
  readonly stopping: AbortSignal;
  /** Each change, before the reply to its write. */
  committed(change: CommittedChange): void;
  /** Aborts `stopping`. */
  end(): void;
}

export function openLeaderActors(deps: LeaderDeps, parts: LeaderActorsParts): Promise<Actors> {
  const { config, store, lease, blobs, engine, metrics } = deps;
  const { webhooks, disk, inputs, tokens, prices, mail, payments, stopping } = parts;
  const webhookAllow = allowAddresses(config.webhookAllow ?? []);
  return openActors({
    kinds: STORED_KINDS,
    clock: store.clock,
    objects: store.objects,
    log: store.changes,
    pending: store.pending,
    responses: store.responses,
    secrets: deps.secrets,
    ledger: openLeaderRows(store.postgres),
    async openCommitter(publish) {
      const committer = await store.openCommitter({
        lease,
        publish,
        onFenced(why) {
          metrics.observe.problem('commits to Postgres', `nothing more is written: ${why}`);
          // This process stops being the leader, and begins again with what the database holds.
          void lease.release();
        },
        objectsPerOrg: config.quotaObjects,
      });
      return webhooks.follow(committer);
    },
    openTimers: (fire) =>
      openTimers({
        store: store.pending,
        clock: store.clock,
        backend: queueBackend(deps),
        name: `timers-${store.clusterId.slice(0, 8)}`,
        fire,
        onError: (error) => metrics.observe.problem('the timers', error.message),
        signal: stopping,
      }),
    engine,
    endpoints: deps.endpoints,
    prices: prices.current,
    priceTags: priceTags(deps.keys),
    runHistory: openRunHistoryRows(store.postgres),
    rehearse: openRehearsal(store.postgres),
    fullOrg: openFullOrg(store.postgres, config.quotaObjects),
    payments,
    mail: mail && { engine: mail, onOutcome: metrics.observe.mail },
    inputs,
    access: engine?.apiDirectory === undefined ? undefined : attemptAccess(engine.apiDirectory, tokens),
    keepOutput: keepOutput(blobs, stopping),
    admissions: openAdmissionSwitch(store.postgres),
    shortage: disk.shortage,
    neverDialled: (url) => neverDialled(url, webhookAllow),
    forgetBlobs: blobs.forgetProject,
    abandonDeliveries: webhooks.abandon,
    settings: {
      cacheBytes: config.cacheBytes,
      ringBytes: RING_BYTES,
      attemptsPerOrg: config.quotaAttempts,
      mostOfKind: new Map([
        ['WebhookEndpoint', config.quotaEndpoints],
        ['Budget', config.quotaBudgets],
      ]),
      orgMachinePercent: config.quotaMachinePercent,
      unfundedGraceMs: config.unfundedGraceSeconds * 1_000,
      mailboxLimit: config.mailboxMessages,
      passivateAfterMs: config.passivationSeconds * 1_000,
    },
    stopping,
    onFenced: parts.end,
    onChange(change) {
      webhooks.committed(change);
      metrics.work.committed(change);
      parts.committed(change);
      deps.onChange(change);
    },
    observe: metrics.observe,
  });
}
