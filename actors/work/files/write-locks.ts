/**
 * Orders the changes of files among the clients of the API: a condition that held still holds when the change is made. A
 * change with a condition looks at the file and then replaces or removes it, in two steps of the programs inside; no other change may come
 * between. So it takes the lock of its box alone, and the changes without a condition share it. There is one lock for each box, not for each
 * path: two spellings, links and hard links of one file cannot pass each other.
 *
 * Programs inside do not take it, and neither does tar, which unpacks an archive for as long as its client sends.
 *
 * Order of arrival: a change waits for all that came before it. Bounds (I10): WAIT_MS and MAX_WAITING for each box; a change that would
 * wait longer is refused, and has changed nothing. How long one is held is bounded by its script, which ends with its client.
 */
import { refuse, type RefusalError } from '../../../src/api/refusal.js';

/** What is longest in a held lock is the hash of a large file: tens of seconds. */
const WAIT_MS = 30_000;
/** Each holds at most the bytes of one small file. */
const MAX_WAITING = 256;

export type Sharing = 'Alone' | 'Shared';

interface Waiter {
  readonly sharing: Sharing;
  /** It has the lock from here on. */
  begin(): void;
}

/** Of one box. */
interface Lock {
  /** How many changes go on; of one that is alone: 1. */
  held: number;
  alone: boolean;
  readonly waiting: Waiter[];
}

export class WriteLocks {
  private readonly locks = new Map<string, Lock>();
  private readonly waitMs: number;

  constructor(waitMs: number = WAIT_MS) {
    this.waitMs = waitMs;
  }

  /** Boxes in which something is being changed. */
  get size(): number {
    return this.locks.size;
  }

  /** Runs `change` when it may. Refuses with Unavailable when it would wait too long. Rejects with the signal while it waits. */
  async run<T>(work: string, sharing: Sharing, signal: AbortSignal, change: () => Promise<T>): Promise<T> {
    const lock = this.locks.get(work) ?? { held: 0, alone: false, waiting: [] };
    this.locks.set(work, lock);
    if (lock.waiting.length === 0 && mayBegin(lock, sharing)) take(lock, sharing);
    else await this.turn(lock, sharing, signal);
    try {
      return await change();
    } finally {
      lock.held -= 1;
      if (lock.held === 0) lock.alone = false;
      this.next(work, lock);
    }
  }

  private turn(lock: Lock, sharing: Sharing, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (lock.waiting.length >= MAX_WAITING) throw busy();
    return new Promise((resolve, reject) => {
      const over = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', leave);
      };
      const giveUp = (error: unknown): void => {
        over();
        lock.waiting.splice(lock.waiting.indexOf(waiter), 1);
        // Those behind it may have waited for it alone. The lock itself is held, else it would not have waited.
        admit(lock);
        reject(error);
      };
      const leave = (): void => giveUp(signal.reason);
      const waiter: Waiter = {
        sharing,
        begin() {
          over();
          resolve();
        },
      };
      const timer = setTimeout(() => giveUp(busy()), this.waitMs);
      signal.addEventListener('abort', leave, { once: true });
      lock.waiting.push(waiter);
    });
  }

  private next(work: string, lock: Lock): void {
    admit(lock);
    if (lock.held === 0) this.locks.delete(work);
  }
}

/** Those at the head of the queue that may begin. */
function admit(lock: Lock): void {
  for (let first = lock.waiting[0]; first && mayBegin(lock, first.sharing); first = lock.waiting[0]) {
    lock.waiting.shift();
    take(lock, first.sharing);
    first.begin();
  }
}

const mayBegin = ({ held, alone }: Lock, sharing: Sharing): boolean => held === 0 || (sharing === 'Shared' && !alone);

function take(lock: Lock, sharing: Sharing): void {
  lock.held += 1;
  lock.alone = sharing === 'Alone';
}

function busy(): RefusalError {
  return refuse('Unavailable', 'other changes of files in this Sandbox or Workspace with a condition take too long', {
    retryAfterSeconds: 5,
    fix: 'Nothing was changed. Send the request again, with fewer conditional changes at a time.',
  });
}
