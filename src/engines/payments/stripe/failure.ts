/**
 * What an error of the `stripe` package means. Only an answer that Stripe gave for good is a refusal: a declined card, or a request that cannot
 * be carried out. Everything else leaves the outcome open, so that the same call is made again with the same key; so do faults that an
 * operator has to mend, such as a refused key. Messages are ours: Stripe's own repeat parts of keys and paths (I11).
 */
import type { Stripe } from 'stripe';
import type { Unreachable } from '../processor.js';

export interface Rejected {
  readonly outcome: 'Rejected';
  /** Card: what its bank or Stripe says of the card. Request: the request itself. */
  readonly about: 'Card' | 'Request';
  /** HTTP status. */
  readonly status: number;
  readonly code: string | undefined;
  /** Name of the parameter that is wrong. */
  readonly param: string | undefined;
  /** Of a card: Stripe's sentence for its holder. Of a request: code and number, by which an operator finds it in Stripe's log. */
  readonly message: string;
}

/** `knownKey`: the key was used for another request before, which may have been carried out. */
export type Failure = Rejected | (Unreachable & { readonly knownKey?: true });

/** Undefined: it is no error of the package, but a fault of this program. */
export function failureOf(error: unknown, { StripeError }: typeof Stripe.errors): Failure | undefined {
  if (!(error instanceof StripeError)) return undefined;
  const { code, param, statusCode: status } = error;
  // Another request with this key is under way, or an object is locked.
  if (status === 409) return unreachable('Stripe works on another request for the same', error);
  switch (error.type) {
    case 'StripeCardError':
      return {
        outcome: 'Rejected',
        about: 'Card',
        status: status ?? 402,
        code,
        param,
        message: sentence(error.message),
      };
    case 'StripeInvalidRequestError':
      return { outcome: 'Rejected', about: 'Request', status: status ?? 400, code, param, message: reference(error) };
    case 'StripeAuthenticationError':
    case 'StripePermissionError':
      return unreachable('Stripe refuses the key, or the key may not do this', error);
    case 'StripeRateLimitError':
      return unreachable('Stripe gets too many requests from this account', error);
    case 'StripeIdempotencyError':
      return { ...unreachable('Stripe knows this key from a request with other parameters', error), knownKey: true };
    case 'StripeConnectionError':
      return { outcome: 'Unreachable', message: `Stripe does not answer${causeOf(error.detail)}` };
    default:
      return unreachable('Stripe has failed', error);
  }
}

function unreachable(said: string, error: Stripe.errors.StripeError): Unreachable {
  return { outcome: 'Unreachable', message: `${said} (${reference(error)})` };
}

/** Words of Stripe that hold nothing secret. */
function reference({ code, statusCode, requestId }: Stripe.errors.StripeError): string {
  const parts = [code, statusCode === undefined ? undefined : `status ${statusCode}`, requestId];
  const known = parts.filter((part) => typeof part === 'string' && /^[\w .-]{1,100}$/.test(part));
  return known.length === 0 ? 'without a reason' : known.join(', ');
}

/** The code of an error of the network, such as ECONNREFUSED. */
function causeOf(detail: unknown): string {
  const code = (detail as { readonly code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' && /^[A-Z_]{1,40}$/.test(code) ? ` (${code})` : '';
}

/** Of what Stripe says to payers, at most a line. */
export function sentence(text: string): string {
  const line = text.replaceAll(/\p{Cc}+/gu, ' ').trim();
  return line === '' ? 'The card was declined.' : line.slice(0, 300);
}
