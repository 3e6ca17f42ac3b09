/**
 * Owns the deadline that short requests share. One signal serves all requests of the same second, so that bounding a
 * wait costs nothing per request; each request gets at least `seconds` and at most one second more.
 */

export interface Deadlines {
  /** A signal that aborts between `seconds` and `seconds + 1` from now. */
  current(): AbortSignal;
  close(): void;
}

export function openDeadlines(seconds: number): Deadlines {
  const pending = new Set<NodeJS.Timeout>();
  let until = 0;
  let controller = new AbortController();

  return {
    current() {
      const now = performance.now();
      if (now >= until) {
        until = now + 1000;
        const mine = new AbortController();
        controller = mine;
        const timer = setTimeout(
          () => {
            pending.delete(timer);
            mine.abort(new DOMException('the request took too long', 'TimeoutError'));
          },
          (seconds + 1) * 1000,
        );
        timer.unref();
        pending.add(timer);
      }
      return controller.signal;
    },
    close() {
      for (const timer of pending) clearTimeout(timer);
      pending.clear();
    },
  };
}
