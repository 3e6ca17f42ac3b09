/**
 * Signals: the first SIGTERM or SIGINT begins a drain, a second one ends the process at once; SIGHUP has the catalogs read again,
 * and never ends the process.
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
  // A standby has no catalogs to read: it reads them when it becomes the leader.
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
