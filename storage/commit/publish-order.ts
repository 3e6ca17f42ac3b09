/**
 * Publishes changes in the order of their versions. Two batches may be under way, and the answer of the later one may come
 * first; versions are gapless, so a batch is published when everything below its first version is (I4).
 */
import { stampVersion } from '../../src/api/encode.js';
import type { QueuedCommit } from './queued-commit.js';
import type { CommitResult, CommittedChange } from './request.js';

const TYPES = { insert: 'ADDED', update: 'MODIFIED', delete: 'DELETED' } as const;

export interface PublishOrder {
  /** entries[i] has version first + i. Publishes what is next, then answers its commits. */
  committed(first: number, entries: readonly QueuedCommit[]): void;
  /** Newest version that is known to be committed. */
  newest(): number;
  /** The version that is missing before a committed batch; undefined when no batch waits. */
  missing(): number | undefined;
  /** From now on batches are answered and not published. Precondition: this process's cache and watches are at their end. */
  abandon(): void;
}

/** `head` is the version of the newest commit of the past. `publish` must not throw. */
export function openPublishOrder(head: number, publish: (changes: CommittedChange[]) => void): PublishOrder {
  let published = head;
  let newest = head;
  let abandoned = false;
  const early = new Map<number, readonly QueuedCommit[]>();

  function answerEarly(): void {
    // I2: they are in Postgres, and nothing reads this process's cache any more.
    for (const [first, entries] of early)
      entries.forEach((queued, i) => {
        // What is answered is the body itself.
        stampVersion(queued.request.write.body, first + i);
        queued.resolve(answerOf(queued, first + i));
      });
    early.clear();
  }

  return {
    committed(first, entries) {
      early.set(first, entries);
      newest = Math.max(newest, first + entries.length - 1);
      if (abandoned) return answerEarly();
      // I4: the next version and no other.
      for (let next = early.get(published + 1); next !== undefined; next = early.get(published + 1)) {
        const start = published + 1;
        early.delete(start);
        published += next.length;
        publish(next.map((queued, i) => changeOf(queued, start + i)));
        // I2: cache and watchers have it, Postgres has it; now it may be acknowledged.
        next.forEach((queued, i) => queued.resolve(answerOf(queued, start + i)));
      }
    },
    newest: () => newest,
    missing: () => (early.size === 0 ? undefined : published + 1),
    abandon() {
      abandoned = true;
      answerEarly();
    },
  };
}

function answerOf({ funded }: QueuedCommit, version: number): CommitResult {
  return { outcome: 'Committed', version, ...(funded && { funded }) };
}

function changeOf(queued: QueuedCommit, version: number): CommittedChange {
  const { address, uid, write } = queued.request;
  return {
    version,
    type: TYPES[write.op],
    address,
    uid,
    before: write.op === 'insert' ? undefined : queued.before,
    after: stampVersion(write.body, version),
  };
}
