/**
 * Ends a wait when its caller's signal is not enough. The timer holds the controller: a signal of
 * `AbortSignal.timeout` that only feeds an `AbortSignal.any` may be collected as garbage, and then nothing ever ends.
 */

export interface Deadline {
  /** Aborted after the time, or with the caller's signal and for its reason. */
  readonly signal: AbortSignal;
  /** To be called when the wait is over: takes the timer and the listener away. */
  clear(): void;
}

/** What `run` comes to, with a signal that ends `ms` from now or with `signal`. */
export async function within<T>(ms: number, signal: AbortSignal, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const ends = deadline(ms, signal);
  try {
    return await run(ends.signal);
  } finally {
    ends.clear();
  }
}

/** `ms` from now, or when `signal` is aborted. */
export function deadline(ms: number, signal: AbortSignal): Deadline {
  const controller = new AbortController();
  const timer = setTimeout(() => {
    signal.removeEventListener('abort', stop);
    controller.abort(new Error(`not done within ${ms} ms`));
  }, ms);
  const clear = (): void => {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  };
  function stop(): void {
    clearTimeout(timer);
    controller.abort(signal.reason);
  }
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  return { signal: controller.signal, clear };
}
