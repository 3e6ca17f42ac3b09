/**
 * Owns telling a Sandbox that something goes on inside of it from outside: when the first command begins, when the last
 * one has ended, and every minute between. A letter that is lost is made up for by the next; one who dies says no more, and
 * what it kept awake lapses (`ActivitySeen`).
 *
 * I10: one entry per object in which something runs; what runs is bounded by the streams of the front door.
 */
import type { Address } from '../../src/api/address.js';
import type { Letter } from '../../src/kinds/letter.js';

const REPEAT_MS = 60_000;

export interface Activity {
  /** Something has begun; the returned call says that it has ended, harmless twice. */
  begin(owner: Address, uid: string, epoch: number): () => void;
}

interface Going {
  readonly owner: Address;
  readonly uid: string;
  readonly epoch: number;
  count: number;
}

export interface ActivityDeps {
  tell(to: Address, uid: string, letter: Letter): void;
  now(): number;
  readonly stopping: AbortSignal;
}

export function openActivity({ tell, now, stopping }: ActivityDeps): Activity {
  const all = new Map<string, Going>();
  const say = ({ owner, uid, epoch }: Going, busy: boolean): void =>
    tell(owner, uid, { letter: 'ActivitySeen', epoch, at: now(), busy });
  const repeat = setInterval(() => {
    for (const going of all.values()) say(going, true);
  }, REPEAT_MS);
  repeat.unref();
  stopping.addEventListener('abort', () => clearInterval(repeat), { once: true });

  return {
    begin(owner, uid, epoch) {
      const key = `${uid}.${epoch}`;
      const going = all.get(key) ?? { owner, uid, epoch, count: 0 };
      all.set(key, going);
      going.count += 1;
      if (going.count === 1) say(going, true);
      let over = false;
      return () => {
        if (over) return;
        over = true;
        going.count -= 1;
        if (going.count > 0) return;
        all.delete(key);
        say(going, false);
      };
    },
  };
}
