/**
 * Follows logs: knows for each log that has followers whether it may still grow, and wakes them when it did.
 * The runner is asked once per log and connection, however many follow it here; after a broken connection it is asked again,
 * and a runner that does not know the log (because it is a new one) ends the following.
 */
import type { Connection } from './connection.js';
import { EngineRefusal } from '../shared/refusal.js';
import type { Link } from './link.js';

/** Should a wake-up get lost, the file is looked at this often. */
const BACKSTOP_MS = 1_000;

interface Followed {
  readonly work: string;
  readonly container: string;
  followers: number;
  /** Grows with every wake-up. */
  version: number;
  ended: boolean;
  askedOn: Connection | undefined;
  readonly wake: Set<() => void>;
}

export class LogFollowers {
  private readonly logs = new Map<string, Followed>();

  grown(work: string, container: string, ended: boolean): void {
    const followed = this.logs.get(`${work}/${container}`);
    if (followed === undefined) return;
    followed.ended ||= ended;
    wake(followed);
  }

  /** All are to ask again. */
  reconnected(): void {
    for (const followed of this.logs.values()) wake(followed);
  }

  /** All have seen the last: nobody will tell of more. */
  close(): void {
    for (const followed of this.logs.values()) {
      followed.ended = true;
      wake(followed);
    }
  }

  /** Runs `read` whenever there may be more, the last time after the log has ended. */
  async *follow<T>(
    link: Link,
    work: string,
    container: string,
    read: () => AsyncIterable<T>,
    signal: AbortSignal,
  ): AsyncGenerator<T> {
    const key = `${work}/${container}`;
    const followed = this.logs.get(key) ?? {
      work,
      container,
      followers: 0,
      version: 0,
      ended: false,
      askedOn: undefined,
      wake: new Set(),
    };
    this.logs.set(key, followed);
    followed.followers++;
    try {
      for (;;) {
        signal.throwIfAborted();
        await ask(link, followed, signal);
        const { ended, version } = followed;
        yield* read();
        // What was written before the end was announced has been read now.
        if (ended) return;
        if (version === followed.version) await changed(followed, signal);
      }
    } finally {
      followed.followers--;
      if (followed.followers === 0) {
        this.logs.delete(key);
        // Only saves messages: the runner forgets it with the log's end or the connection's.
        followed.askedOn?.ask({ op: 'unfollow', work, container }, AbortSignal.timeout(5_000)).catch(() => undefined);
      }
    }
  }
}

async function ask(link: Link, followed: Followed, signal: AbortSignal): Promise<void> {
  if (followed.ended) return;
  try {
    const connection = await link.connection(signal);
    if (followed.askedOn === connection) return;
    const { work, container } = followed;
    const answer = (await connection.ask({ op: 'follow', work, container }, signal)) as { readonly mayGrow: boolean };
    followed.askedOn = connection;
    if (!answer.mayGrow) followed.ended = true;
  } catch (error) {
    // No runner at the moment: read what is there, and ask again.
    if (!(error instanceof EngineRefusal)) throw error;
  }
}

function wake(followed: Followed): void {
  followed.version++;
  for (const waiting of [...followed.wake]) waiting();
}

function changed(followed: Followed, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      followed.wake.delete(end);
      done();
    };
    const timer = setTimeout(end, BACKSTOP_MS);
    signal.addEventListener('abort', end, { once: true });
    followed.wake.add(end);
  });
}
