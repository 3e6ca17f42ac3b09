/** Two bounded waits. Each takes a signal and takes its listener off again. */

/** Resolves after `ms`, or at once when the signal is aborted. Never rejects. */
export function delay(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}

/**
 * Settles like `promise`, or rejects with the signal's reason as soon as it is aborted. A request's deadline is shared
 * by many (`http/deadline.ts`), and an EventTarget's listeners cost more than the rest of this wait: each signal gets
 * one listener, which tells all who wait on it.
 */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    promise.catch(() => undefined); // it has no reader any more
    return Promise.reject(abortReason(signal));
  }
  return new Promise((resolve, reject) => {
    const waiters = waitersOf(signal);
    waiters.add(reject);
    promise.then(
      (value) => {
        waiters.delete(reject);
        resolve(value);
      },
      (error: unknown) => {
        waiters.delete(reject);
        reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });
}

type Waiters = Set<(reason: Error) => void>;

const waitersBySignal = new WeakMap<AbortSignal, Waiters>();

function waitersOf(signal: AbortSignal): Waiters {
  const known = waitersBySignal.get(signal);
  if (known !== undefined) return known;
  const waiters: Waiters = new Set();
  waitersBySignal.set(signal, waiters);
  signal.addEventListener(
    'abort',
    () => {
      const reason = abortReason(signal);
      for (const reject of waiters) reject(reason);
      waiters.clear();
    },
    { once: true },
  );
  return waiters;
}

function abortReason(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('aborted');
}
