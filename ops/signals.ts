/** Owns what signals mean: the first SIGTERM or SIGINT asks for a drain, a second one ends the process at once. */
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
  return stopping.signal;
}

/** Resolves when any of the signals is aborted. */
export function anyAborted(...signals: readonly AbortSignal[]): Promise<void> {
  const any = AbortSignal.any([...signals]);
  if (any.aborted) return Promise.resolve();
  return new Promise((resolve) => any.addEventListener('abort', () => resolve(), { once: true }));
}
