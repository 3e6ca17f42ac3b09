/**
 * Owns what signals mean: the first SIGTERM or SIGINT asks for a drain, a second one ends the process at once; SIGHUP asks
 * for the catalogs to be read again, and never ends it.
 */
import { setMaxListeners } from 'node:events';

export function stopSignal(onFirst: (signal: string) => void): AbortSignal {
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  const ask = (signal: NodeJS.Signals): void => {
    if (stopping.signal.aborted) process.exit(1);
    onFirst(signal);
    stopping.abort();
  };
  process.on('SIGTERM', ask);
  process.on('SIGINT', ask);
  // A standby has no catalogs to read: it reads them when its term begins.
  process.on('SIGHUP', () => undefined);
  return stopping.signal;
}

/** Calls `handler` at each SIGHUP, until `until` is aborted. */
export function onHangup(handler: () => void, until: AbortSignal): void {
  if (until.aborted) return;
  process.on('SIGHUP', handler);
  until.addEventListener('abort', () => process.off('SIGHUP', handler), { once: true });
}

/** Resolves when any of the signals is aborted. */
export function anyAborted(...signals: readonly AbortSignal[]): Promise<void> {
  const any = AbortSignal.any([...signals]);
  if (any.aborted) return Promise.resolve();
  return new Promise((resolve) => any.addEventListener('abort', () => resolve(), { once: true }));
}
