/**
 * Owns telling a Sandbox that something goes on inside of it from outside: when the first command begins, when the last
 * one has ended, and every minute between. A letter that is lost is made up for by the next; one who dies says no more, and
 * what it kept awake lapses (`ActivitySeen`).
 *
 * I10: one entry (and one timer) per object in which something runs; what runs is bounded by the streams of the front door.
 */
import type { Address } from '../../src/api/address.js';
import type { Letter } from '../../src/kinds/letter.js';

const REPEAT_MS = 60_000;
/** What happens again within this is one activity, so that not each key that is typed is told. */
const LINGER_MS = 15_000;

export interface Activity {
  /** Something has begun; the returned call says that it has ended, harmless twice. */
  begin(owner: Address, uid: string, epoch: number): () => void;
  /** Something has happened that has no end of its own: a key was typed, a port was written to. Cheap. */
  touch(owner: Address, uid: string, epoch: number): void;
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
  const lingering = new Map<string, NodeJS.Timeout>();
  stopping.addEventListener(
    'abort',
    () => {
      clearInterval(repeat);
      for (const timer of lingering.values()) clearTimeout(timer);
    },
    { once: true },
  );

  function begin(owner: Address, uid: string, epoch: number): () => void {
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
  }

  return {
    begin,
    touch(owner, uid, epoch) {
      const key = `${uid}.${epoch}`;
      const known = lingering.get(key);
      if (known) {
        known.refresh();
        return;
      }
      const over = begin(owner, uid, epoch);
      const timer = setTimeout(() => {
        lingering.delete(key);
        over();
      }, LINGER_MS);
      timer.unref();
      lingering.set(key, timer);
    },
  };
}
