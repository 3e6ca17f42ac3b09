/**
 * Metrics of the work itself: how long Attempts wait for a place and need to start, how many objects with work under way are
 * in which phase, and what the machine has and has promised. Labels are kinds, phases and resources: few, and never a name.
 *
 * Waits are measured between commits as this process publishes them, since times in a status are whole seconds; an Attempt
 * that was made by another process is left out. I10: MOST_FOLLOWED Attempts are followed on their way to their start; beyond
 * that the oldest are left out.
 */
import { LRUCache } from 'lru-cache';
import { Gauge, Histogram, type Registry } from 'prom-client';
import type { ResourceService } from '../../actors/resource-service.js';
import { decodeObject } from '../api/encode.js';
import { parseBytes, parseMilliCpu } from '../api/quantity.js';
import { LOCAL_NODE } from '../kinds/node/index.js';
import type { NodeStatus } from '../kinds/node/schema.js';
import type { CommittedChange } from '../../storage/commit/request.js';
import type { CountedPhase } from '../../storage/phases.js';
import { atMost } from '../lru-bound.js';

const MOST_FOLLOWED = 20_000;
/** Seconds. From a warm box to a queue that lasts for an hour. */
const BOUNDS = [0.1, 0.5, 2, 10, 60, 600, 3_600];
/** Phases are counted at most so often, ms. */
const COUNT_EVERY_MS = 15_000;

const ACQUIRED = Buffer.from('"acquiredTime":');
const STARTED = Buffer.from('"commandStartedTime":');

interface Followed {
  readonly madeAt: number;
  acquiredAt: number | undefined;
}

export interface WorkMetrics {
  /** For each committed change, in order. */
  committed(change: CommittedChange): void;
  /** What is read when the metrics are scraped, from the leader. */
  follow(resources: Pick<ResourceService, 'peek'>, countPhases: () => Promise<readonly CountedPhase[]>): void;
}

export function openWorkMetrics(registry: Registry, now: () => number = () => performance.now()): WorkMetrics {
  const registers = [registry];
  const labelNames = ['owner'];
  const queued = new Histogram({
    name: 'troupe_attempt_queue_seconds',
    help: 'Time from the creation of an Attempt until it gets a place, by the kind that it runs for.',
    ...{ labelNames, buckets: BOUNDS, registers },
  });
  const starting = new Histogram({
    name: 'troupe_attempt_start_seconds',
    help: 'Time from the place of an Attempt until its program starts, by the kind that it runs for.',
    ...{ labelNames, buckets: BOUNDS, registers },
  });
  const followed = new LRUCache<string, Followed>(atMost(MOST_FOLLOWED));

  function committed({ address, type, uid, after }: CommittedChange): void {
    if (address.kind !== 'Attempt') return;
    if (type === 'ADDED') {
      followed.set(uid, { madeAt: now(), acquiredAt: undefined });
      return;
    }
    const attempt = followed.get(uid);
    if (attempt === undefined) return;
    if (attempt.acquiredAt === undefined && after.includes(ACQUIRED)) attempt.acquiredAt = now();
    if (attempt.acquiredAt !== undefined && after.includes(STARTED)) {
      followed.delete(uid);
      const owner = decodeObject(after).metadata.ownerReferences?.[0]?.kind ?? '';
      queued.observe({ owner }, (attempt.acquiredAt - attempt.madeAt) / 1_000);
      starting.observe({ owner }, (now() - attempt.acquiredAt) / 1_000);
    } else if (type === 'DELETED') followed.delete(uid);
  }

  function gauge(
    name: string,
    help: string,
    labels: readonly string[],
    read: (made: Gauge) => void | Promise<void>,
  ): void {
    registry.removeSingleMetric(name);
    const made: Gauge = new Gauge({ name, help, labelNames: [...labels], registers, collect: () => read(made) });
  }

  return {
    committed,
    follow(resources, countPhases) {
      let countedAt = -Infinity;
      const status = (): NodeStatus | undefined => {
        const body = resources.peek(LOCAL_NODE);
        return body && decodeObject<unknown, NodeStatus>(body).status;
      };
      gauge(
        'troupe_objects_active',
        'Objects with something under way, by kind and phase; counted every 15 s.',
        ['kind', 'phase'],
        async (made) => {
          if (now() - countedAt < COUNT_EVERY_MS) return;
          countedAt = now();
          const counts = await countPhases();
          made.reset();
          for (const { kind, phase, count } of counts) made.set({ kind, phase }, count);
        },
      );
      gauge('troupe_attempts_waiting', 'Attempts in the queue for a place.', [], (made) =>
        made.set(status()?.waiting ?? 0),
      );
      for (const [what, help] of [
        ['allocatable', 'What the machine may promise to work'],
        ['allocated', 'What is promised to work'],
      ] as const) {
        const unit = `${help}: cores of cpu, bytes of memory and disk.`;
        gauge(`troupe_node_${what}`, unit, ['resource'], (made) => {
          const { cpu, memory, disk } = status()?.[what] ?? {};
          made.set({ resource: 'cpu' }, (parseMilliCpu(cpu ?? '0') ?? 0) / 1_000);
          made.set({ resource: 'memory' }, parseBytes(memory ?? '0') ?? 0);
          made.set({ resource: 'disk' }, parseBytes(disk ?? '0') ?? 0);
        });
      }
    },
  };
}
