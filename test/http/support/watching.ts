/** Reads a watch in tests: events as they come, waited for with a deadline. */
import { at, text } from './json.js';

export interface Watching {
  readonly status: number;
  readonly events: readonly unknown[];
  /** `ADDED a`, `BOOKMARK`, … of all events so far. */
  seen(): string[];
  /** Waits until so many events came (at most 5 s). */
  until(count: number): Promise<readonly unknown[]>;
  /** Waits until the server ended the stream (at most 5 s). `cut`: without a proper end. */
  ended(): Promise<'ended' | 'cut'>;
  stop(): void;
}

const DEADLINE_MS = 5_000;

export async function watching(open: (signal: AbortSignal) => Promise<Response>): Promise<Watching> {
  const abort = new AbortController();
  const answer = await open(abort.signal);
  const events: unknown[] = [];
  const waiters = new Set<() => void>();
  let over: 'ended' | 'cut' | undefined;

  async function pump(): Promise<void> {
    let rest = '';
    const decoder = new TextDecoder();
    try {
      for await (const chunk of answer.body ?? []) {
        rest += decoder.decode(chunk, { stream: true });
        for (;;) {
          const end = rest.indexOf('\n');
          if (end < 0) break;
          events.push(JSON.parse(rest.slice(0, end)));
          rest = rest.slice(end + 1);
        }
        for (const wake of waiters) wake();
      }
      over = 'ended';
    } catch {
      over = 'cut';
    }
    for (const wake of waiters) wake();
  }
  void pump();

  function wait(done: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiters.delete(look);
        reject(new Error(`the watch did not get there; seen: ${seen().join(', ')}`));
      }, DEADLINE_MS);
      function look(): void {
        if (!done()) return;
        clearTimeout(timer);
        waiters.delete(look);
        resolve();
      }
      waiters.add(look);
      look();
    });
  }

  function seen(): string[] {
    return events.map((event) => {
      const name = at(event, 'object.metadata.name');
      return typeof name === 'string' ? `${text(event, 'type')} ${name}` : text(event, 'type');
    });
  }

  return {
    status: answer.status,
    events,
    seen,
    async until(count) {
      await wait(() => events.length >= count);
      return events;
    },
    async ended() {
      await wait(() => over !== undefined);
      return over ?? 'cut';
    },
    stop: () => abort.abort(),
  };
}
