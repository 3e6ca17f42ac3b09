/**
 * The one kind of connection to Postgres that this service makes. Its end never ends the process, and no wait on it lasts for
 * ever, whatever becomes of the network.
 *
 * Errors. A pool listens to its idle connections only, pg reports an end more than once (the server's last message, then the
 * socket's), and a library may take all listeners off a connection that it is done with: an 'error' that has no listener
 * would be thrown. The caller that waits for an answer gets the error from there.
 *
 * Waits. Packets may vanish silently (a firewall that forgets, a route that is gone, a proxy that hangs), and the
 * kernel gives up after hours. So an answer is awaited for `query_timeout`, a connection for `connectionTimeoutMillis`, an
 * orderly end for `CLOSE_WITHIN`; an idle connection is probed by both ends, so that ours is replaced and Postgres lets go of
 * the locks that a vanished process held.
 */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Pool, type ClientConfig, type PoolClient, type PoolConfig } from 'pg';

/** Longest wait for a new connection, and for an answer of one that names no time of its own (ms). */
export const CONNECT_WITHIN = 5_000;
const ANSWER_WITHIN = 30_000;
/** Longest wait for the other end to close, after which the socket is destroyed (ms). */
const CLOSE_WITHIN = 2_000;
/** Longest wait of a pool that is ended for the answers under way (ms). */
const END_WITHIN = 3_000;
/** Idle time before the first probe (ms); then one each second, and after ten without an answer the connection is dead (libuv). */
const PROBE_AFTER = 10_000;

/** The same on Postgres's side of one session: seconds of idle time, seconds between probes, probes; ms without an acknowledgement. */
export const PROBED_BY_SERVER =
  'SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 4; SET tcp_user_timeout = 30000';

export class ErrorSafeClient extends Client {
  constructor(config: ClientConfig = {}) {
    super({
      connectionTimeoutMillis: CONNECT_WITHIN,
      query_timeout: ANSWER_WITHIN,
      ...config,
      keepAlive: true,
      keepAliveInitialDelayMillis: PROBE_AFTER,
    });
  }

  override emit(event: string | symbol, ...args: unknown[]): boolean {
    if (event === 'error' && this.listenerCount('error') === 0) return false;
    return super.emit(event, ...args);
  }

  override end(): Promise<void>;
  override end(callback: (error: Error) => void): void;
  override end(callback?: (error: Error) => void): Promise<void> | undefined {
    // pg waits for the answers under way, and for the other end to close.
    const late = setTimeout(() => socketOf(this).destroy(), CLOSE_WITHIN).unref();
    this.once('end', () => clearTimeout(late));
    if (callback === undefined) return super.end();
    super.end(callback);
    return undefined;
  }
}

/** A pool of such connections, whose end waits a bounded time for what is under way. */
export class ErrorSafePool extends Pool {
  readonly #open = new Set<PoolClient>();

  constructor(config: PoolConfig) {
    super({ ...config, Client: ErrorSafeClient });
    // An idle connection that dies is replaced by the pool, which reports it and needs a listener, too.
    this.on('error', () => {});
    this.on('connect', (client) => void this.#open.add(client));
    this.on('remove', (client) => void this.#open.delete(client));
  }

  override async end(callback?: () => void): Promise<void> {
    await this.#endWithin(END_WITHIN);
    callback?.();
  }

  async #endWithin(ms: number): Promise<void> {
    const over = new AbortController();
    const late = sleep(ms, undefined, { signal: over.signal }).catch(() => {});
    await Promise.race([super.end(), late]);
    over.abort();
    // Who still waits for an answer of one of these gets the error.
    for (const client of this.#open) socketOf(client).destroy();
  }
}

/** pg has no word for it. */
export function socketOf(client: Client | PoolClient): Socket {
  return (client as unknown as { readonly connection: { readonly stream: Socket } }).connection.stream;
}
