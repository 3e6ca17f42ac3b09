/**
 * Makes one attempt to deliver: a POST through the guarded dialer, 15 s for the answer, whose status alone counts. Once that is
 * known, the body gets a second. Redirects are not followed. Source: spec, "Delivery rules".
 */
import type { IncomingMessage } from 'node:http';
import type { Dialer, DialResult } from '../dialer/dialer.js';
import type { SignedHeaders } from './sign.js';

/** From the first look-up of the name to the status of the answer (ms). */
const ANSWER_MS = 15_000;
/** From the status to the end of the answer (ms): who trickles a body must not hold a place with it. */
const BODY_MS = 1_000;
/** Of an answer's body that is read, so that its connection can be kept; a longer one costs the connection. */
const MOST_ANSWER_BYTES = 16 * 1024;

export interface Post {
  readonly url: string;
  readonly headers: SignedHeaders;
  readonly body: Uint8Array;
}

export type AttemptResult =
  /** 2xx. */
  | { readonly outcome: 'Taken'; readonly status: number }
  /** To be tried again; `status` is 0 when there was no response. Messages name the host at most. */
  | { readonly outcome: 'Refused'; readonly status: number; readonly message: string }
  /** The service may not connect there, so no later attempt can do better. */
  | { readonly outcome: 'Forbidden'; readonly message: string }
  /** The service stops; nothing is known. */
  | { readonly outcome: 'Stopped' };

export async function attempt(
  { url, headers, body }: Post,
  { dialer, signal, answerMs = ANSWER_MS }: { dialer: Dialer; signal: AbortSignal; answerMs?: number | undefined },
): Promise<AttemptResult> {
  if (signal.aborted) return { outcome: 'Stopped' };
  const ending = new AbortController();
  const stop = (): void => ending.abort();
  let late = false;
  const deadline = setTimeout(() => {
    late = true;
    stop();
  }, answerMs);
  signal.addEventListener('abort', stop, { once: true });
  try {
    const dialled = await dialer.dial(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
      signal: ending.signal,
      keep: true,
    });
    if (dialled.outcome === 'Answered') return await read(dialled.response);
    if (late) return refused(0, `the receiver did not answer within ${answerMs / 1_000} s`);
    return signal.aborted ? { outcome: 'Stopped' } : failed(dialled);
  } finally {
    clearTimeout(deadline);
    signal.removeEventListener('abort', stop);
  }
}

function refused(status: number, message: string): AttemptResult {
  return { outcome: 'Refused', status, message };
}

function failed({ reason, message }: Extract<DialResult, { outcome: 'Failed' }>): AttemptResult {
  if (reason === 'AddressRefused' || reason === 'URLRefused') return { outcome: 'Forbidden', message };
  return refused(0, message);
}

/** The status alone counts; what can be read of the body is read so that the connection can be kept. */
async function read(response: IncomingMessage): Promise<AttemptResult> {
  const status = response.statusCode ?? 0;
  const late = setTimeout(() => response.destroy(), BODY_MS);
  try {
    let bytes = 0;
    for await (const part of response) {
      bytes += part instanceof Uint8Array ? part.length : 0;
      if (bytes > MOST_ANSWER_BYTES) break;
    }
  } catch {
    // Broken off or too slow: its connection is gone, its status is known.
  } finally {
    clearTimeout(late);
  }
  if (status >= 200 && status < 300) return { outcome: 'Taken', status };
  if (status >= 300 && status < 400) {
    return refused(status, `the receiver answered with a redirect (${status}), which is not followed`);
  }
  return refused(status, `the receiver answered ${status}`);
}
