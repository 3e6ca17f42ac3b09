/** Metrics of everything behind HTTP. Labels are kinds, outcomes and names from the operator's file of upstreams: few, and never what a client names. */
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import type { ActorObserver, Actors } from '../../actors/open.js';
import type { Auditor } from '../../actors/money/auditor.js';
import type { Blocks } from '../../actors/inference/blocks.js';
import type { Webhooks } from '../../actors/delivery/open.js';
import type { InferenceRouter } from '../engines/inference/router.js';
import type { DiskWatch } from './disk-space.js';
import type { Log } from './log.js';
import { openProblemLog } from './problem-log.js';
import { openWorkMetrics, type WorkMetrics } from './work-metrics.js';

export interface Metrics {
  readonly registry: Registry;
  readonly work: WorkMetrics;
  readonly observe: ActorObserver & {
    /** An attempt to deliver a webhook has ended. */
    delivery(phase: string): void;
    /** A try to send a mail has left it in this phase. */
    mail(phase: string): void;
    /** How long the oldest row that a sweep should have removed has been overdue (ms). */
    overdue(sweep: string, ms: number): void;
  };
  /** Figures that are read when the metrics are scraped, from the leader's parts. */
  follow(actors: Pick<Actors, 'health' | 'sizes'>, webhooks: Pick<Webhooks, 'state'>): void;
  followAuditor(auditor: Pick<Auditor, 'view'>): void;
  followInference(router: Pick<InferenceRouter, 'upstreams'>, blocks: Pick<Blocks, 'figures'>): void;
  followDisk(disk: Pick<DiskWatch, 'free'>): void;
}

type UpstreamFigures = ReturnType<InferenceRouter['upstreams']>[number];

export interface MetricsOptions {
  readonly log: Log;
  /** Of the log, since the start. */
  lostLines(): number;
  /** As `/version` has it. */
  readonly version: string;
  /** Connections for reads. */
  readonly pool: { readonly totalCount: number; readonly idleCount: number; readonly waitingCount: number };
  /** Whether this process is the active one. */
  active(): boolean;
}

export function openMetrics({ log, lostLines, version, pool, active }: MetricsOptions): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const logProblem = openProblemLog(log, () => performance.now());
  const crashes = new Counter({
    name: 'troupe_actor_crashes_total',
    help: 'Crashes of resource actors.',
    labelNames: ['kind', 'parked'],
    registers,
  });
  const effects = new Counter({
    name: 'troupe_effects_total',
    help: 'Tries of effects, by their outcome.',
    labelNames: ['type', 'outcome'],
    registers,
  });
  const deliveries = new Counter({
    name: 'troupe_webhook_attempts_total',
    help: 'Attempts to deliver webhooks, by the phase that they left the delivery in.',
    labelNames: ['phase'],
    registers,
  });
  const mails = new Counter({
    name: 'troupe_mail_tries_total',
    help: 'Tries to send a mail, by the phase that they left it in: Sent, Failed for good, or Waiting for the next try.',
    labelNames: ['phase'],
    registers,
  });
  const overdue = new Gauge({
    name: 'troupe_overdue_row_seconds',
    help: 'Time for which the oldest row that should be gone has been there, by the sweep that removes it.',
    labelNames: ['sweep'],
    registers,
  });
  const problems = new Counter({
    name: 'troupe_problems_total',
    help: 'Faults that were logged and survived.',
    registers,
  });

  const lost = new Counter({
    name: 'troupe_log_lines_lost_total',
    help: 'Lines of the log that could not be written.',
    registers,
    collect() {
      lost.reset();
      lost.inc(lostLines());
    },
  });

  const gauge = (name: string, help: string, read: () => number): void => {
    registry.removeSingleMetric(name);
    const made = new Gauge({
      name,
      help,
      registers,
      collect() {
        made.set(read());
      },
    });
  };
  new Gauge({
    name: 'troupe_build_info',
    help: 'Version of the program; the value is always 1.',
    labelNames: ['version', 'node'],
    registers,
  }).set({ version, node: process.version }, 1);
  gauge('troupe_leader', 'Whether this process is the active one (1) or a standby (0).', () => Number(active()));
  gauge('troupe_database_connections', 'Connections to Postgres for reads.', () => pool.totalCount);
  gauge('troupe_database_connections_idle', 'Of them, those without a statement.', () => pool.idleCount);
  gauge('troupe_database_reads_waiting', 'Reads that wait for a connection.', () => pool.waitingCount);

  return {
    registry,
    work: openWorkMetrics(registry),
    observe: {
      crash(address, errorClass, parked) {
        crashes.inc({ kind: address.kind, parked: String(parked) });
        log.error({ kind: address.kind, name: address.name, errorClass, parked }, 'an actor crashed');
      },
      effect: (type, outcome) => effects.inc({ type, outcome }),
      delivery: (phase) => deliveries.inc({ phase }),
      mail: (phase) => mails.inc({ phase }),
      overdue: (sweep, ms) => overdue.set({ sweep }, seconds(ms)),
      problem(part, message) {
        problems.inc();
        logProblem(part, message);
      },
    },
    followAuditor(auditor) {
      gauge(
        'troupe_ledger_findings',
        'Things that differed in the last audit of the ledger.',
        () => auditor.view().lastPass?.findings ?? 0,
      );
      gauge(
        'troupe_ledger_last_audit_timestamp_seconds',
        'When the last whole audit of the ledger ended; 0: none has since this process became the active one.',
        () => seconds(auditor.view().lastPass?.endTime ?? 0),
      );
    },
    followInference(router, blocks) {
      const ofUpstreams = (name: string, help: string, read: (upstream: UpstreamFigures) => number): void => {
        registry.removeSingleMetric(name);
        const made = new Gauge({
          ...{ name, help, labelNames: ['upstream'], registers },
          collect() {
            for (const one of router.upstreams()) made.set({ upstream: one.name }, read(one));
          },
        });
      };
      ofUpstreams('troupe_upstream_in_flight', 'Requests under way at an upstream of models.', (one) => one.inFlight);
      ofUpstreams('troupe_upstream_up', 'Whether an upstream serves one of its models now (1).', ({ up }) =>
        Number(up),
      );
      gauge('troupe_inference_blocks', 'Holds that requests to models draw on.', () => blocks.figures().blocks);
      gauge('troupe_inference_waiting', 'Requests to models that wait for the ledger.', () => blocks.figures().waiting);
      gauge(
        'troupe_inference_unposted_usd',
        'USD that requests to models have used and that are not known to be posted; a killed process loses them.',
        () => Number(blocks.figures().unpostedUSD.billionths) / 1e9,
      );
    },
    followDisk(disk) {
      gauge('troupe_disk_free_bytes', 'Bytes free on the fullest disk of data directory and blobs.', disk.free);
    },
    follow(actors, webhooks) {
      gauge('troupe_actors', 'Resource actors in memory.', () => actors.sizes().actors);
      gauge('troupe_watchers', 'Watches that are open.', () => actors.sizes().watchers);
      gauge('troupe_cached_objects', 'Objects in the cache.', () => actors.sizes().cached);
      gauge('troupe_cache_bytes', 'Bytes in the cache.', () => actors.sizes().cacheBytes);
      gauge('troupe_effects_in_hand', 'Effects not yet carried out.', () => actors.health().effects);
      gauge('troupe_oldest_message_seconds', 'Age of the oldest unhandled message.', () =>
        seconds(actors.health().oldestMessageMs),
      );
      gauge('troupe_oldest_effect_seconds', 'Time since the last try of the effect that was tried longest ago.', () =>
        seconds(actors.health().oldestEffectMs),
      );
      gauge('troupe_webhooks_waiting', 'Due deliveries in memory.', () => webhooks.state().waiting);
      gauge('troupe_webhooks_in_hand', 'Attempts under way.', () => webhooks.state().inHand);
      gauge('troupe_commits_waiting', 'Commits waiting for a transaction.', () => actors.health().commitsWaiting);
      gauge('troupe_oldest_commit_seconds', 'Age of the oldest waiting commit.', () =>
        seconds(actors.health().oldestCommitMs),
      );
    },
  };
}

function seconds(ms: number): number {
  return ms / 1_000;
}
