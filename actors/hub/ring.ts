/**
 * The newest committed changes in memory, in version order: what a watch that resumes after a short break needs.
 *
 * I10: bounded by bytes and count. When it is full the oldest fall out, and a watch from below its start reads the
 * changes log instead.
 */
import type { CommittedChange } from '../../storage/commit/request.js';
import type { LogLimit } from '../../storage/store.js';

export interface Ring {
  push(change: CommittedChange): void;
  /** Changes above `version` are all here when this is at most `version`. */
  readonly start: number;
  readonly end: number;
  /**
   * Changes above `version`, oldest first, until they reach the limit: all of them when the last one's version is `end`.
   * Only sound when `start <= version`.
   */
  after(version: number, limit: LogLimit): readonly CommittedChange[];
}

export interface RingLimits {
  readonly maxBytes: number;
  readonly maxChanges: number;
}

/** `start`: the version at which this process began; nothing older can be here. */
export function openRing(start: number, limits: RingLimits): Ring {
  /** Up to `head` they have fallen out. */
  let changes: (CommittedChange | undefined)[] = [];
  let head = 0;
  let bytes = 0;
  let first = start;
  let last = start;

  function evict(): void {
    while (head < changes.length && (bytes > limits.maxBytes || changes.length - head > limits.maxChanges)) {
      const oldest = changes[head];
      if (!oldest) break;
      bytes -= sizeOf(oldest);
      first = oldest.version;
      changes[head] = undefined; // I10: thousands of them would stay until the list is cut
      head += 1;
    }
    if (head > 4096 && head * 2 > changes.length) {
      changes = changes.slice(head);
      head = 0;
    }
  }

  return {
    push(change) {
      changes.push(change);
      bytes += sizeOf(change);
      last = change.version;
      evict();
    },
    get start() {
      return first;
    },
    get end() {
      return last;
    },
    after(version, limit) {
      let low = head;
      let high = changes.length;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((changes[middle]?.version ?? 0) <= version) low = middle + 1;
        else high = middle;
      }
      let end = low;
      const most = Math.min(changes.length, low + limit.changes);
      for (let held = 0; end < most && held < limit.bytes; end += 1) {
        const change = changes[end];
        if (change) held += sizeOf(change);
      }
      return changes.slice(low, end).filter((change) => change !== undefined);
    },
  };
}

/** The bodies are shared with cache and log readers; they are counted all the same, as the ring alone may keep them. */
export function sizeOf(change: CommittedChange): number {
  return change.after.length + (change.before?.length ?? 0) + 200;
}
