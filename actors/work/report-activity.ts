/**
 * Reports to a Sandbox or Workspace that a client does something inside: when that begins, when it has ended, and every minute
 * between. A message that is lost is made up for by the next; a process that dies reports no more, and what it kept active lapses
 * (`ActivitySeen`).
 *
 * Each message may be a commit, so short activities are reported together: a beginning once it has lasted BRIEF_MS, and an end once
 * nothing has followed for REST_MS.
 *
 * I10: one entry (and one timer) per object in which something runs; what runs is bounded by the streams of the HTTP and SSH servers.
 */
import type { Address } from '../../src/api/address.js';
import type { ObjectMessage } from '../../src/kinds/object-message.js';

const REPEAT_MS = 60_000;
const BRIEF_MS = 200;
const REST_MS = 1_000;
/** What happens again within this is one activity, so that not each key that is typed is reported. */
const LINGER_MS = 15_000;

export interface Activity {
  /** Something has begun; the returned call ends it, harmless twice. */
  begin(owner: Address, uid: string, epoch: number): () => void;
  /** Something has happened that has no end of its own: a key was typed, a port was written to. Cheap. */
  touch(owner: Address, uid: string, epoch: number): void;
}

interface Going {
  readonly owner: Address;
  readonly uid: string;
  readonly epoch: number;
  count: number;
  /** Since when nothing has rested for REST_MS. */
  readonly since: number;
  /** Its beginning was reported. */
  reported: boolean;
  /** Of the last end, ms. */
  endedAt: number;
  /** Reports the beginning or the end. */
  timer: NodeJS.Timeout | undefined;
}

export interface ActivityDeps {
  tell(to: Address, uid: string, message: ObjectMessage): void;
  now(): number;
  readonly stopping: AbortSignal;
}

export function openActivity({ tell, now, stopping }: ActivityDeps): Activity {
  const all = new Map<string, Going>();
  const say = ({ owner, uid, epoch }: Going, busy: boolean, at: number): void =>
    tell(owner, uid, { type: 'ActivitySeen', epoch, at, busy });
  const repeat = setInterval(() => {
    for (const going of all.values()) if (going.count > 0) say(going, true, now());
  }, REPEAT_MS);
  repeat.unref();
  const lingering = new Map<string, NodeJS.Timeout>();
  stopping.addEventListener(
    'abort',
    () => {
      clearInterval(repeat);
      for (const timer of lingering.values()) clearTimeout(timer);
      for (const { timer } of all.values()) clearTimeout(timer);
    },
    { once: true },
  );

  function later(going: Going, ms: number, act: () => void): void {
    clearTimeout(going.timer);
    going.timer = stopping.aborted ? undefined : setTimeout(act, ms).unref();
  }

  function sayBusy(going: Going): void {
    clearTimeout(going.timer);
    going.reported = true;
    say(going, true, now());
  }

  function begin(owner: Address, uid: string, epoch: number): () => void {
    const key = `${uid}.${epoch}`;
    const fresh: Going = { owner, uid, epoch, count: 0, since: now(), reported: false, endedAt: 0, timer: undefined };
    const going = all.get(key) ?? fresh;
    all.set(key, going);
    going.count += 1;
    const left = going.since + BRIEF_MS - now();
    if (going.reported) clearTimeout(going.timer);
    else if (left <= 0) sayBusy(going);
    else if (going.count === 1) later(going, left, () => sayBusy(going));
    let over = false;
    return () => {
      if (over) return;
      over = true;
      going.count -= 1;
      if (going.count > 0) return;
      going.endedAt = now();
      later(going, REST_MS, () => {
        all.delete(key);
        say(going, false, going.endedAt);
      });
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
