/**
 * Fans committed changes out to watchers. Fed by the committer in version order, before each
 * acknowledgement; it never waits for a watcher.
 *
 * I4: a watcher gets the changes of its range in version order with no gap and no repeat. It catches up in steps of
 * bounded size, from the log and then from the ring, each in a slice of the event loop (`slices.ts`), and goes live in the same
 * turn in which it has taken the last step.
 * I10: a watcher whose receiver does not keep up (`onChanges` answers false or throws) is ended without an ERROR; it resumes at
 * the version it read last. Live watchers hold no queue of their own: their position is an index into this tick's batch.
 *
 * A fixed tick coalesces: every 10 ms all new changes of a range are handed over at once (measured: facts, "HTTP").
 * What a tick takes is handed over in short slices, and orgs take turns: an org with thousands of watchers delays its own
 * watchers, and neither those of others nor requests.
 */
import type { CommittedChange } from '../../storage/commit/request.js';
import type { ChangesLog, LogLimit } from '../../storage/store.js';
import { openSlices, type Slices } from '../slices.js';
import type { Range, Watcher } from '../resource-service.js';
import { openRing, sizeOf, type RingLimits } from './ring.js';

export interface Hub {
  /** From the committer: versions strictly increase. */
  publish(changes: readonly CommittedChange[]): void;
  watch(range: Range, from: number, watcher: Watcher, signal: AbortSignal): Promise<'Watching' | 'Expired'>;
  readonly version: number;
  /** Up to this version every live watcher of the org has been handed the changes of its range. */
  settled(org: string): number;
  readonly watchers: number;
  /** Ends all watches cleanly. */
  drain(): void;
}

export interface HubDeps {
  readonly log: Pick<ChangesLog, 'after' | 'head'>;
  readonly slices: Slices;
  /** Version at which this process starts. */
  readonly start: number;
  readonly ring: RingLimits;
  /** Milliseconds of a clock that does not go back. */
  readonly now: () => number;
}

interface Live {
  readonly range: Range;
  readonly watcher: Watcher;
  ended: boolean;
}

/** What an org's watchers have not been handed yet. There is none while nothing waits. */
interface Flush {
  /** By kind, for the next tick. Undefined: more than FRESH_BYTES, which no watcher gets. */
  fresh: Map<string, CommittedChange[] | undefined>;
  bytes: number;
  /** What an earlier tick has taken is being handed over. */
  running: boolean;
  settled: number;
}

interface Step {
  readonly changes: readonly CommittedChange[];
  readonly through: number;
}

/** Changes are handed over for so long before another org has its turn (ms). */
const SLICE_MS = 2;
/** Milliseconds between flushes: beats waiting for the last flush to end (p99 34 against 70 ms, measured). */
const TICK_MS = 10;
/**
 * Changes of an org that wait for a tick because what the one before has taken is still being handed over. I10: when they
 * are more, the watchers of the kind are ended as slow ones are, and resume from the log.
 */
const FRESH_BYTES = 32 * 1024 * 1024;
/** Read from the ring or the log, and handed over, per step of catching up; the receiver drains in between. */
const CATCH_UP_STEP: LogLimit = { changes: 250, bytes: 256 * 1024 };

export function openHub(deps: HubDeps): Hub {
  const ring = openRing(deps.start, deps.ring);
  const live = new Map<string, Set<Live>>();
  const flushes = new Map<string, Flush>();
  /** For live watchers: each tick is handed over in the time that it takes, however many orgs have one. */
  const handOvers = openSlices(Infinity, deps.now);
  let ticking = false;
  let count = 0;
  let drained = false;

  function publish(changes: readonly CommittedChange[]): void {
    for (const change of changes) {
      const before = ring.end;
      ring.push(change);
      const { org, kind } = change.address;
      if (count === 0 || !live.has(bucketOf(org, kind))) continue;
      let flush = flushes.get(org);
      if (flush === undefined) {
        flushes.set(org, (flush = { fresh: new Map(), bytes: 0, running: false, settled: before }));
      }
      add(flush, kind, change);
      if (!flush.running) arm();
    }
  }

  function add(flush: Flush, kind: string, change: CommittedChange): void {
    flush.bytes += sizeOf(change);
    const waiting = flush.fresh.get(kind);
    if (flush.bytes > FRESH_BYTES) flush.fresh.set(kind, undefined);
    else if (waiting) waiting.push(change);
    else if (!flush.fresh.has(kind)) flush.fresh.set(kind, [change]);
  }

  function arm(): void {
    if (ticking) return;
    ticking = true;
    setTimeout(tick, TICK_MS);
  }

  function tick(): void {
    ticking = false;
    for (const [org, flush] of flushes) {
      if (flush.running) continue;
      flush.running = true;
      void handOver(org, flush);
    }
  }

  /** I4: the next tick of the org takes nothing before this has come to its end. Never rejects. */
  async function handOver(org: string, flush: Flush): Promise<void> {
    const batch = flush.fresh;
    flush.fresh = new Map();
    flush.bytes = 0;
    const version = ring.end;
    let until = -Infinity;
    for (const [kind, changes] of batch) {
      const shared = new Map<string, readonly CommittedChange[]>();
      // A watcher that went live after these changes were taken has them already from the ring: its position tells.
      for (const entry of Array.from(live.get(bucketOf(org, kind)) ?? [])) {
        if (deps.now() >= until) {
          await handOvers.next(org);
          until = deps.now() + SLICE_MS;
        }
        if (changes === undefined) end(entry, 'Slow');
        else serve(entry, changes, sharedOf(entry.range, changes, shared), version);
      }
    }
    flush.settled = version;
    flush.running = false;
    if (flush.fresh.size > 0) arm();
    else flushes.delete(org);
  }

  const positions = new WeakMap<Live, number>();

  /** `ranged`: the tick's changes of the entry's range, one array for all watchers of that range. */
  function serve(
    entry: Live,
    changes: readonly CommittedChange[],
    ranged: readonly CommittedChange[],
    version: number,
  ): void {
    if (entry.ended) return;
    const position = positions.get(entry) ?? 0;
    const unseen = (ranged[0]?.version ?? 0) > position;
    const mine = unseen ? ranged : ranged.filter((change) => change.version > position);
    positions.set(entry, Math.max(position, changes.at(-1)?.version ?? 0));
    if (mine.length > 0 && !hand(entry, mine, version)) end(entry, 'Slow');
  }

  /** What a receiver throws ends that receiver alone. */
  function hand({ watcher }: Live, changes: readonly CommittedChange[], version: number): boolean {
    try {
      return watcher.onChanges(changes, version);
    } catch {
      return false;
    }
  }

  function end(entry: Live, reason: 'Draining' | 'Expired' | 'Slow'): void {
    if (remove(entry)) entry.watcher.onEnd(reason);
  }

  function remove(entry: Live): boolean {
    if (entry.ended) return false;
    entry.ended = true;
    const bucket = bucketOf(entry.range.org, entry.range.kind.kind);
    const entries = live.get(bucket);
    if (entries?.delete(entry)) count -= 1;
    if (entries?.size === 0) live.delete(bucket);
    return true;
  }

  /** Hands over everything above `from` up to the ring's end and registers, in one turn. False: that is more than a step. */
  function goLive(entry: Live, from: number): boolean {
    if (from < ring.start) return false;
    const rest = ring.after(from, CATCH_UP_STEP);
    if ((rest.at(-1)?.version ?? ring.end) < ring.end) return false;
    const missed = rest.filter((change) => inBucket(entry.range, change) && inRange(entry.range, change));
    // I4: a list may be ahead of the hub (it reads Postgres), and what it has shown must not come again.
    positions.set(entry, Math.max(from, ring.end));
    const bucket = bucketOf(entry.range.org, entry.range.kind.kind);
    const entries = live.get(bucket) ?? new Set();
    entries.add(entry);
    live.set(bucket, entries);
    count += 1;
    if (missed.length > 0 && !hand(entry, missed, ring.end)) end(entry, 'Slow');
    else if (drained) end(entry, 'Draining');
    return true;
  }

  /** The next changes of the range above `from`, and how far they reach. */
  async function nextStep(range: Range, from: number): Promise<Step | 'Expired'> {
    if (from >= ring.start) {
      const all = ring.after(from, CATCH_UP_STEP);
      const changes = all.filter((change) => inBucket(range, change) && inRange(range, change));
      return { changes, through: all.at(-1)?.version ?? from };
    }
    const read = await deps.log.after(range.org, range.kind.kind, from, CATCH_UP_STEP);
    if (read.outcome === 'Expired') return 'Expired';
    await deps.slices.next(range.org);
    return { changes: read.changes.filter((change) => inRange(range, change)), through: read.through };
  }

  return {
    publish,
    async watch(range, from, watcher, signal) {
      const entry: Live = { range, watcher, ended: false };
      // A list reads Postgres and may be ahead of what was published; a version above both was never given by this database.
      if (from > ring.end && from > (await deps.log.head())) return 'Expired';
      let position = from;
      for (;;) {
        await deps.slices.next(range.org);
        if (signal.aborted || goLive(entry, position)) break;
        const step = await nextStep(range, position);
        if (step === 'Expired') return 'Expired';
        position = Math.max(position, step.through);
        if (step.changes.length > 0 && !hand(entry, step.changes, position)) {
          entry.ended = true;
          watcher.onEnd('Slow');
          return 'Watching';
        }
        await watcher.drained?.(signal);
      }
      if (signal.aborted) remove(entry);
      else signal.addEventListener('abort', () => remove(entry), { once: true });
      return 'Watching';
    },
    get version() {
      return ring.end;
    },
    settled: (org) => flushes.get(org)?.settled ?? ring.end,
    get watchers() {
      return count;
    },
    drain() {
      // One that is still catching up is ended when it has caught up: nothing will ever be published again.
      drained = true;
      for (const entries of live.values()) for (const entry of Array.from(entries)) end(entry, 'Draining');
    },
  };
}

function bucketOf(org: string, kind: string): string {
  return `${org}/${kind}`;
}

function inBucket(range: Range, { address }: CommittedChange): boolean {
  return address.org === range.org && address.kind === range.kind.kind;
}

/**
 * The changes of a range within one tick. The very same array goes to every watcher of the range, so that what a receiver
 * makes of it (frames, joined chunks) is made once for all of them.
 */
function sharedOf(
  range: Range,
  changes: readonly CommittedChange[],
  shared: Map<string, readonly CommittedChange[]>,
): readonly CommittedChange[] {
  const { project, name } = range;
  if (project === undefined && name === undefined) return changes;
  const key = `${project ?? '*'}/${name ?? '*'}`;
  const known = shared.get(key);
  if (known) return known;
  const mine = changes.filter((change) => inRange(range, change));
  shared.set(key, mine);
  return mine;
}

function inRange(range: Range, { address }: CommittedChange): boolean {
  return (
    (range.project === undefined || address.project === range.project) &&
    (range.name === undefined || address.name === range.name)
  );
}
