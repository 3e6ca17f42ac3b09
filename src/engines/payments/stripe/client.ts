/**
 * Calls Stripe through its package. One call of the processor is one `Ask`: all its requests share one deadline and one signal, and the
 * package's retries lie within. The package is loaded at the first call, so that a service without Stripe never reads it.
 */
import type { Stripe } from 'stripe';
import { within } from '../../../deadline.js';
import { failureOf, type Failure } from './failure.js';
import { httpClient, openAgent } from './http-client.js';

/** After the first try; half a second and more between them. */
const RETRIES = 2;

export interface Answered<T> {
  readonly outcome: 'Answered';
  readonly value: T;
}

export type Asked<T> = Answered<T> | Failure;

/** Makes requests with the client that it gives. Rejects for faults of this program only. */
export type Ask = <T>(requests: (stripe: Stripe) => Promise<T>) => Promise<Asked<T>>;

export interface ClientOptions {
  readonly secretKey: string;
  /** Origin of the API. */
  readonly url: string;
  /** Longest time of one `Ask`, ms. */
  readonly withinMs: number;
}

/** Gives a call its `Ask`, which `signal` ends early. */
export type Begin = <T>(signal: AbortSignal, call: (ask: Ask) => Promise<T>) => Promise<T>;

export function openClient({ secretKey, url, withinMs }: ClientOptions): Begin {
  const { hostname, port, protocol } = new URL(url);
  const isPlain = protocol === 'http:';
  const at = {
    host: hostname.replaceAll(/[[\]]/g, ''),
    port: port === '' ? (isPlain ? 80 : 443) : Number(port),
    protocol: isPlain ? ('http' as const) : ('https' as const),
  };
  const agent = openAgent(at.protocol);

  const askUntil =
    (ends: AbortSignal): Ask =>
    async (requests) => {
      const { default: Client } = await import('stripe');
      try {
        // A client for each call costs a tenth of a millisecond, and has the signal of its call.
        const stripe = new Client(secretKey, {
          ...{ ...at, httpClient: httpClient(agent, ends), telemetry: false },
          ...{ timeout: withinMs, maxNetworkRetries: RETRIES },
        });
        return { outcome: 'Answered', value: await beforeEnd(requests(stripe), ends) };
      } catch (error) {
        if (ends.aborted) return { outcome: 'Unreachable', message: 'Stripe did not answer in time' };
        const failure = failureOf(error, Client.errors);
        if (failure === undefined) throw error;
        return failure;
      }
    };
  return (signal, call) => within(withinMs, signal, (ends) => call(askUntil(ends)));
}

/** Rejects at the end of `signal`: the package's pauses before its retries do not know it. */
function beforeEnd<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = (): void => reject(new DOMException('the call has ended', 'AbortError'));
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
    const over = (): void => signal.removeEventListener('abort', end);
    work.then(
      (value) => (over(), resolve(value)),
      (error: unknown) => (over(), reject(error instanceof Error ? error : new Error(String(error)))),
    );
  });
}
