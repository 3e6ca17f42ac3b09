/** The way to the daemon: where it listens, and what its errors mean to the engine's callers. */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';
import type Docker from 'dockerode';
import { EngineRefusal } from '../shared/refusal.js';

const DEFAULT_HOST = 'unix:///var/run/docker.sock';

export interface Daemon {
  readonly docker: Docker;
  /** Breaks off whatever was asked and is not answered, streams too; not those both ways, which are their owners'. */
  close(): void;
}

/** `unix:///path`, `tcp://host:port`, `http(s)://host:port`. */
export async function openDaemon(host: string = DEFAULT_HOST): Promise<Daemon> {
  // It takes a tenth of a second to load, which only who has a daemon is to wait for.
  const { default: Client } = await import('dockerode');
  const url = host.startsWith('unix://') ? undefined : new URL(host.replace(/^tcp:/, 'http:'));
  // As with the agent that Node takes when there is none.
  const kept = { keepAlive: true, timeout: 5_000 };
  const agent = url?.protocol === 'https:' ? new HttpsAgent(kept) : new HttpAgent(kept);
  // For each request docker-modem writes down all of its options, whether anybody reads it or not: with the agent's connections that is
  // seconds of processor beside a hundred of them.
  Object.defineProperty(agent, inspect.custom, { value: () => 'Agent' });
  const docker = new Client(
    url === undefined
      ? { socketPath: host.slice('unix://'.length) }
      : {
          host: url.hostname,
          port: Number(url.port || 2375),
          protocol: url.protocol === 'https:' ? 'https' : 'http',
        },
  );
  // An option of the constructor that its types do not have.
  (docker.modem as { agent?: HttpAgent }).agent = agent;
  return { docker, close: () => agent.destroy() };
}

/** Undefined for what is no answer of the daemon. */
export function statusOf(error: unknown): number | undefined {
  const { statusCode } = error as { statusCode?: unknown };
  return typeof statusCode === 'number' ? statusCode : undefined;
}

/** The daemon's own words, without dockerode's around them. */
export function wordsOf(error: unknown): string {
  const { json, message } = error as { json?: { message?: unknown }; message?: string };
  const words = typeof json?.message === 'string' ? json.message : (message ?? String(error));
  return words.replace(/^\(HTTP code \d+\) [a-z ]+ - /, '').trim();
}

/** A container of this name exists. Podman calls that a fault of its own. */
export function isTaken(error: unknown): boolean {
  return statusOf(error) === 409 || (statusOf(error) === 500 && /already in use/.test(wordsOf(error)));
}

/** What cannot be reached or answers nonsense may be asked again; what the daemon refuses is said. */
export function refusalOf(error: unknown): Error {
  if (error instanceof EngineRefusal) return error;
  const status = statusOf(error);
  if (status === undefined)
    return new EngineRefusal('Unavailable', `the Docker daemon cannot be reached: ${wordsOf(error)}`);
  return new EngineRefusal(status >= 500 || status === 429 ? 'Unavailable' : 'Failed', wordsOf(error));
}

/** Runs it with the daemon's errors as refusals; the caller's own signal wins. */
export async function asked<T>(signal: AbortSignal, act: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  try {
    return await act();
  } catch (error) {
    signal.throwIfAborted();
    throw refusalOf(error);
  }
}

/**
 * A request that becomes a stream both ways. Refused, it would keep its connection for good: nobody ends what was to be written. So it
 * is aborted then; `signal` counts until there is a stream.
 */
export async function twoWays<T>(act: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> {
  const stop = new AbortController();
  const abort = (): void => stop.abort(signal?.reason);
  signal?.throwIfAborted();
  signal?.addEventListener('abort', abort, { once: true });
  try {
    return await act(stop.signal);
  } catch (error) {
    stop.abort();
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

/** Undefined when there is none. */
export async function found<T>(act: Promise<T>): Promise<T | undefined> {
  try {
    return await act;
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
}

/** Longest that a daemon needs to end and forget a container. */
const GONE_MS = 60_000;

/** Ends and forgets the container; one that is being removed by another request is waited for. The signal ends the wait, not what was begun. */
export async function removeContainer(container: Docker.Container, signal?: AbortSignal): Promise<void> {
  const until = Date.now() + GONE_MS;
  for (;;) {
    try {
      await found(container.remove({ force: true, v: true, abortSignal: signal }));
      return;
    } catch (error) {
      // 500: it could not be ended at once, or something of it is still in use.
      const status = statusOf(error);
      if ((status !== 409 && status !== 500) || Date.now() > until) throw error;
      await delay(50, undefined, { signal });
    }
  }
}

/** The promise, or the signal's reason when that comes first. */
export async function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  // Nobody hears of it when the signal comes first.
  promise.catch(() => undefined);
  signal.throwIfAborted();
  let abort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
