/**
 * Keeps the link to the one runner: connects, starts a runner when none is there, and begins anew when the connection
 * ends. All callers share one connection; while there is none they wait, each until its own signal or until WAIT_MS passed.
 *
 * Who died? Each start of a runner has an id of its own, told in its hello. A connection that comes back with the same id was
 * only broken; with another id the runner had died, and `onLost` is called once, before the list of the new one is read.
 */
import type { EngineLog } from '../shared/log/stored-log.js';
import { Connection, type Ask } from './connection.js';
import { ConnectionEnded, EngineRefusal } from '../shared/refusal.js';
import { lastWords, pause, startRunner, type RunnerPlace } from './start-runner.js';
import { NEWER_JOURNAL_EXIT } from '../../../runner/journal/format.js';
import type { Event } from '../../../runner/protocol/messages.js';

/** How long a request waits for a runner before it is refused as Unavailable. */
const WAIT_MS = 20_000;
/** Connections over which one request is tried. A request that kills its runner must not kill for ever. */
const ATTEMPTS = 3;
/** A runner that was started needs this long at most until it listens (it may have to clean up); then another is started. */
const START_MS = 30_000;

export interface LinkHooks {
  readonly onEvent: (event: Event) => void;
  /** A connection is there, new or again. */
  readonly onConnected: (connection: Connection) => void;
  /** The runner that we knew is dead. */
  readonly onLost: (reason: string) => void;
}

type State =
  | { readonly kind: 'connecting'; readonly ready: Promise<Connection> }
  | { readonly kind: 'connected'; readonly connection: Connection }
  | { readonly kind: 'closed' };

export class Link {
  private readonly place: RunnerPlace;
  private readonly epoch: number;
  private readonly hooks: LinkHooks;
  private readonly log: EngineLog;
  private readonly over = new AbortController();
  private state: State;
  private known: string | undefined;

  constructor(place: RunnerPlace, epoch: number, hooks: LinkHooks, log: EngineLog) {
    this.place = place;
    this.epoch = epoch;
    this.hooks = hooks;
    this.log = log;
    this.state = { kind: 'connecting', ready: this.connect() };
  }

  /** Asks again over the next connection when one breaks under way, at most ATTEMPTS times. */
  async ask(request: Ask, signal: AbortSignal): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      const connection = await this.connection(signal);
      try {
        return await connection.ask(request, signal);
      } catch (error) {
        if (!(error instanceof ConnectionEnded) || attempt === ATTEMPTS) throw error;
        // By then the state is no longer `connected`, so that the next turn waits for a new one.
        await connection.closed;
      }
    }
  }

  async connection(signal: AbortSignal): Promise<Connection> {
    signal.throwIfAborted();
    switch (this.state.kind) {
      case 'connected':
        return this.state.connection;
      case 'closed':
        throw new EngineRefusal('Unavailable', 'the engine is closed');
      case 'connecting':
        return this.within(this.state.ready, signal);
    }
  }

  close(): void {
    this.over.abort();
    if (this.state.kind === 'connected') this.state.connection.close();
    this.state = { kind: 'closed' };
  }

  /**
   * Gives up only when closed, or when no runner of this version can ever start here: one that cannot start now may do so later,
   * and callers have their own patience.
   */
  private async connect(): Promise<Connection> {
    let startedAt = 0;
    let refusal: EngineRefusal | undefined;
    for (let attempt = 0; ; attempt++) {
      try {
        const connection = await Connection.open(this.place.layout.socket, this.epoch, (event) =>
          this.hooks.onEvent(event),
        );
        this.connected(connection);
        return connection;
      } catch (error) {
        this.over.signal.throwIfAborted();
        if (refusal !== undefined) throw refusal;
        const { code } = error as NodeJS.ErrnoException;
        const absent = code === 'ENOENT' || code === 'ECONNREFUSED';
        if (!absent) {
          // One that ends instead of an answer has said why in its own log.
          const said = lastWords(this.place);
          this.log.warn({ error: (error as Error).message, said }, 'the runner does not answer');
        }
        if (absent && Date.now() - startedAt > START_MS) {
          startedAt = Date.now();
          startRunner(this.place, (exitCode) => {
            // It ended before it served: begin anew, after a pause that grows.
            this.log.warn({ exitCode, said: lastWords(this.place) }, 'the runner ended');
            startedAt = 0;
            if (exitCode === NEWER_JOURNAL_EXIT) refusal = new EngineRefusal('Failed', reasonOf(lastWords(this.place)));
          });
        }
        await pause(attempt, this.over.signal);
      }
    }
  }

  private connected(connection: Connection): void {
    if (this.state.kind === 'closed') return connection.close();
    const { runner, pid, version } = connection.welcome;
    const died = this.known !== undefined && this.known !== runner;
    this.known = runner;
    this.log.info({ runner, pid, version }, 'connected to the runner');
    this.state = { kind: 'connected', connection };
    if (died) this.hooks.onLost('RunnerLost');
    void connection.closed.then(() => {
      if (this.state.kind === 'closed') return;
      this.log.warn({ runner }, 'the connection to the runner ended');
      const ready = this.connect();
      // Each waiter has its own handling; without a waiter a closing must not count as unhandled.
      ready.catch(() => undefined);
      this.state = { kind: 'connecting', ready };
    });
    this.hooks.onConnected(connection);
  }

  private async within(ready: Promise<Connection>, signal: AbortSignal): Promise<Connection> {
    let give: (error: Error) => void = () => undefined;
    const given = new Promise<never>((_, reject) => {
      give = reject;
    });
    const late = (): void => give(new EngineRefusal('Unavailable', `no runner answers: ${lastWords(this.place)}`));
    const abort = (): void => give(signal.reason as Error);
    const timer = setTimeout(late, WAIT_MS);
    signal.addEventListener('abort', abort, { once: true });
    try {
      return await Promise.race([ready, given]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    }
  }
}

/** Without the time and what the log says before it. */
function reasonOf(words: string): string {
  return words.replace(/^\S+ cannot start: /, '');
}
