/**
 * A request on its way to a model: it has left its place in flight, and is counted among the streams (`../streams.ts`), which bounds those of a key and an
 * org. It ends with its client, its credential, what pays for it, and the service.
 */
import { refuse, type Refusal, type RefusalError } from '../../src/api/refusal.js';
import type { Forwarded } from '../../src/engines/inference/router.js';
import { INVOKE, type InferenceTarget } from '../../actors/inference/service.js';
import type { Exchange } from '../exchange.js';
import type { ServerContext } from '../server-context.js';
import type { Opened } from './answer.js';
import { UpstreamRefusal } from './errors.js';

/** Made once, since an error costs more than the rest of an end. */
const GIVEN_UP = new DOMException('the request was given up', 'AbortError');

export interface UnderWay {
  readonly signal: AbortSignal;
  /** Gives the upstream up. */
  abort(): void;
  /** Why it was given up from outside. */
  endedBy(): Refusal | undefined;
  /** The answer that has begun. Throws why there is none. */
  opened(forwarded: Forwarded): Opened;
  /** A stream registers itself anew, with what it needs to end one that has begun, and follows its client by itself. */
  leaveToStream(): void;
  /** Harmless twice. */
  end(): void;
}

export function goUnderWay(
  x: Exchange,
  { inference, streams }: Pick<ServerContext, 'inference' | 'streams'>,
  target: InferenceTarget,
): UnderWay {
  const giveUp = new AbortController();
  const abort = (): void => giveUp.abort(GIVEN_UP);
  // One signal for the client and for all else that ends the request: two of them cost as much as reading it.
  x.res.once('close', abort);
  if (x.res.destroyed) abort();
  let revoked: RefusalError | undefined;
  const leave = streams.add(x, {
    allows: (caller) => caller.may(INVOKE, target.project),
    revoke(refusal) {
      revoked ??= refusal;
      abort();
    },
    end: () => undefined,
    cut() {
      revoked ??= refuse('Unavailable', 'the service is shutting down', { retryAfterSeconds: 2 });
      abort();
    },
  });
  const unfollow = inference.follow(target, () => {
    revoked ??= refuse('NotFound', 'what pays for this request is being deleted');
    abort();
  });
  const leaveToStream = (): void => {
    leave();
    x.res.off('close', abort);
  };
  return {
    ...{ signal: giveUp.signal, abort, leaveToStream },
    endedBy: () => revoked?.refusal,
    opened(forwarded) {
      if (revoked !== undefined) throw revoked;
      if (forwarded.outcome !== 'Answered') throw refusalOf(forwarded);
      return forwarded;
    },
    end() {
      unfollow();
      leaveToStream();
    },
  };
}

function refusalOf(forwarded: Exclude<Forwarded, { outcome: 'Answered' }>): Error {
  if (forwarded.outcome === 'Refused') {
    const { status, error } = forwarded;
    const code = status === 413 ? 'RequestEntityTooLarge' : 'BadRequest';
    return new UpstreamRefusal(status, {
      code,
      message: error.message,
      causes: [{ field: error.param ?? '', reason: 'FieldValueInvalid', message: error.message }],
      fix: "The model's upstream says so: correct the request.",
    });
  }
  const retryAfterSeconds = forwarded.retryAfterSeconds ?? 1;
  switch (forwarded.reason) {
    case 'Overloaded':
      return refuse('CapacityUnavailable', "the model's upstreams take no more requests now", {
        retryAfterSeconds,
        fix: 'Try again a little later, or use another model.',
      });
    case 'TimedOut':
      return refuse('Unavailable', "the model's upstream did not answer in time", { retryAfterSeconds });
    case 'Aborted':
    case 'Unavailable':
      return refuse('Unavailable', 'no upstream of the model answers', {
        retryAfterSeconds,
        fix: 'Try again a little later, or use another model: GET /v1/models?available=true lists those that answer.',
      });
  }
}
