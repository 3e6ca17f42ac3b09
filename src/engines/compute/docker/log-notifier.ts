/** Wakes the followers of logs: each log has a count that grows with what is written, and an end. */

/** Should a wake-up get lost, the file is looked at this often. */
const BACKSTOP_MS = 1_000;

export class LogNotifier {
  private readonly waiting = new Map<string, Set<() => void>>();

  grown(work: string): void {
    for (const wake of this.waiting.get(work) ?? []) wake();
  }

  /** All see the end of what there is. */
  close(): void {
    for (const work of this.waiting.keys()) this.grown(work);
  }

  /** Runs `read` whenever there may be more, the last time after `ended` says so. */
  async *follow<T>(
    work: string,
    read: () => AsyncIterable<T>,
    ended: () => boolean,
    signal: AbortSignal,
  ): AsyncGenerator<T> {
    for (;;) {
      signal.throwIfAborted();
      const last = ended();
      let grew = false;
      const wakes = this.waiting.get(work) ?? new Set();
      this.waiting.set(work, wakes);
      let wake = (): void => {
        grew = true;
      };
      const woken = (): void => wake();
      wakes.add(woken);
      try {
        yield* read();
        if (last) return;
        if (!grew && !ended()) {
          await new Promise<void>((done) => {
            const end = (): void => {
              clearTimeout(timer);
              signal.removeEventListener('abort', end);
              done();
            };
            const timer = setTimeout(end, BACKSTOP_MS);
            signal.addEventListener('abort', end, { once: true });
            wake = end;
          });
        }
      } finally {
        wakes.delete(woken);
        if (wakes.size === 0) this.waiting.delete(work);
      }
    }
  }
}
