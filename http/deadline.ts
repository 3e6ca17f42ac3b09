/**
 * The deadline that short requests share. One signal serves many requests of the same second, so that bounding a
 * wait costs nothing per request; each request gets at least `seconds` and at most one second more.
 *
 * I10: a signal is shared by at most SHARE requests, because adding a listener walks all that are there; one timer per
 * second ends all signals of that second.
 */
import { setMaxListeners } from 'node:events';

export interface Deadlines {
  /** A signal that aborts between `seconds` and `seconds + 1` from now. */
  current(): AbortSignal;
  close(): void;
}

const SHARE = 128;

export function openDeadlines(seconds: number): Deadlines {
  const pending = new Set<NodeJS.Timeout>();
  let until = 0;
  let uses = SHARE;
  let signal = new AbortController().signal;
  let ofThisSecond: AbortController[] = [];

  function nextSecond(now: number): void {
    until = now + 1000;
    uses = SHARE;
    const mine: AbortController[] = [];
    ofThisSecond = mine;
    const timer = setTimeout(
      () => {
        pending.delete(timer);
        const reason = new DOMException('the request took too long', 'TimeoutError');
        for (const controller of mine) controller.abort(reason);
      },
      (seconds + 1) * 1000,
    );
    timer.unref();
    pending.add(timer);
  }

  return {
    current() {
      const now = performance.now();
      if (now >= until) nextSecond(now);
      if (uses >= SHARE) {
        const controller = new AbortController();
        ofThisSecond.push(controller);
        signal = controller.signal;
        setMaxListeners(0, signal);
        uses = 0;
      }
      uses += 1;
      return signal;
    },
    close() {
      for (const timer of pending) clearTimeout(timer);
      pending.clear();
    },
  };
}
