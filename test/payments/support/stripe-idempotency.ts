/**
 * Stripe's rule of Idempotency-Keys: the first answer to a key is given again, status and body, as long as the request is the same; another
 * request with the key is an error. A request that fails its checks before anything is done is not kept. Pure but for its memory.
 */
export interface Replied {
  readonly status: number;
  readonly body: string;
}

export interface IdempotencyKeys {
  /** `request`: all that the request says. `run` is called once for a key, and says whether its answer is kept. */
  run(
    key: string,
    request: string,
    run: () => Replied & { readonly kept: boolean },
  ): Replied & { readonly replayed: boolean };
}

export function openIdempotencyKeys(): IdempotencyKeys {
  const known = new Map<string, { readonly request: string; readonly replied: Replied }>();
  return {
    run(key, request, run) {
      const first = known.get(key);
      if (first === undefined) {
        const { status, body, kept } = run();
        if (kept) known.set(key, { request, replied: { status, body } });
        return { status, body, replayed: false };
      }
      if (first.request === request) return { ...first.replied, replayed: true };
      const message =
        'Keys for idempotent requests can only be used with the same parameters they were first used with.';
      return { status: 400, body: JSON.stringify({ error: { type: 'idempotency_error', message } }), replayed: false };
    },
  };
}
