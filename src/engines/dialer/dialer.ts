/**
 * The one way out of the service to an address that a client chose: inputs by URL, webhooks. It has no
 * policy about contents, retries or redirects; a redirect is an answer like any other.
 *
 * What it holds to:
 * - https only, no credentials in the URL, certificates checked.
 * - A name is resolved once. Only its addresses on the public internet (or allowed ones) are dialled, and exactly those:
 *   the connection gets them instead of the name, so a second answer of the name server changes nothing.
 * - Every wait has a bound: name and connection, the first byte of the answer, silence within it.
 * - A connection is kept only for who asks for it, and taken again only for addresses that were checked anew (`connection-pool.ts`).
 * - Messages name the host only: paths and queries may carry secrets (I11).
 */
import { once } from 'node:events';
import { lookup as systemLookup } from 'node:dns/promises';
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import { deadline } from '../../deadline.js';
import { openConnectionPool, type ConnectionPool } from './connection-pool.js';
import { SlicedAgent, type Checked } from './sliced-agent.js';
import { allowAddresses, specialAddress, type AllowedAddresses } from './special-addresses.js';

/** Bound for the name, the connection and TLS together (ms). */
const CONNECT_MS = 10_000;
/** Bound from the request to the head of the answer, and for silence while its body comes (ms). */
const SILENCE_MS = 30_000;
/** Bytes of an answer's headers. */
const MOST_HEADER_BYTES = 16 * 1024;
/** Answers `1xx` before the answer itself. */
const MOST_HINTS = 16;

export interface DialerOptions {
  /** Special addresses and ranges that may be dialled all the same; none by default. */
  readonly allow?: readonly string[] | undefined;
  /** Certificates (PEM) of authorities that are trusted beside the usual ones. */
  readonly ca?: readonly string[] | undefined;
  /** All addresses of a name; the system's resolver by default. */
  readonly lookup?: ((host: string) => Promise<readonly string[]>) | undefined;
  readonly connectMs?: number | undefined;
  readonly silenceMs?: number | undefined;
}

export interface DialRequest {
  readonly method: 'GET' | 'HEAD' | 'POST';
  readonly headers?: OutgoingHttpHeaders | undefined;
  readonly body?: Uint8Array | undefined;
  readonly signal: AbortSignal;
  /** A connection of an earlier request may serve this one, and this one's a later. For what may be sent twice: default no. */
  readonly keep?: boolean | undefined;
}

export type DialFailure = {
  readonly outcome: 'Failed';
  readonly reason:
    | 'URLRefused'
    | 'AddressRefused'
    | 'NameNotFound'
    | 'TLSFailed'
    | 'ConnectionFailed'
    | 'TimedOut'
    | 'Aborted';
  /** For the user who gave the URL; names the host at most. */
  readonly message: string;
  /** Whether the same may go well a moment later. */
  readonly retryable: boolean;
};

export type DialResult =
  /** The body has to be read or destroyed. It errors when the connection breaks or falls silent. */
  { readonly outcome: 'Answered'; readonly response: IncomingMessage } | DialFailure;

export interface Dialer {
  dial(url: string, request: DialRequest): Promise<DialResult>;
  /** Ends what was kept. */
  close(): void;
}

export function openDialer(options: DialerOptions = {}): Dialer {
  const allowed = allowAddresses(options.allow ?? []);
  const lookup = options.lookup ?? lookupAll;
  // Made once: to read all authorities takes longer than to shake hands.
  const ca = options.ca?.length ? createSecureContext({ ca: [...rootCertificates, ...options.ca] }) : undefined;
  const connectMs = options.connectMs ?? CONNECT_MS;
  const silenceMs = options.silenceMs ?? SILENCE_MS;
  const kept = openConnectionPool(ca);

  return {
    async dial(text, request) {
      const url = checkUrl(text);
      if (!(url instanceof URL)) return url;
      const host = url.hostname.replace(/^\[|\]$/g, '');
      // At every request, also when a connection is kept: what the name means now decides.
      const addresses = await resolve(host, { lookup, allowed, connectMs, signal: request.signal });
      if ('outcome' in addresses) return request.signal.aborted ? aborted(host) : addresses;
      return send(url, host, addresses, request, { ca, connectMs, silenceMs, kept });
    },
    close: () => kept.close(),
  };
}

function refused(message: string): DialFailure {
  return { outcome: 'Failed', reason: 'URLRefused', message, retryable: false };
}

function checkUrl(text: string): URL | DialFailure {
  if (!URL.canParse(text)) return refused('this is not a URL');
  const url = new URL(text);
  if (url.protocol !== 'https:') return refused('only https URLs are fetched');
  if (url.username !== '' || url.password !== '') return refused('a URL must not hold a user name or password');
  if (url.hostname === '') return refused('the URL names no host');
  return url;
}

async function lookupAll(host: string): Promise<string[]> {
  const found = await systemLookup(host, { all: true });
  return found.map((entry) => entry.address);
}

interface Resolving {
  readonly lookup: (host: string) => Promise<readonly string[]>;
  readonly allowed: AllowedAddresses;
  readonly connectMs: number;
  readonly signal: AbortSignal;
}

async function resolve(
  host: string,
  { lookup, allowed, connectMs, signal }: Resolving,
): Promise<readonly string[] | DialFailure> {
  let found: readonly string[];
  if (isIP(host) === 0) {
    const { signal: bounded, clear } = deadline(connectMs, signal);
    try {
      // The system's resolver cannot be stopped; its late answer is dropped.
      found = await orAborted(lookup(host), bounded);
    } catch {
      const message = bounded.aborted ? `the name ${host} was not resolved in time` : notPublic(host);
      return { outcome: 'Failed', reason: bounded.aborted ? 'TimedOut' : 'NameNotFound', message, retryable: true };
    } finally {
      clear();
    }
  } else {
    found = [host];
  }
  const dialled = found.filter((address) => allowed.has(address) || specialAddress(address) === undefined);
  if (dialled.length > 0) return dialled;
  return {
    outcome: 'Failed',
    reason: found.length === 0 ? 'NameNotFound' : 'AddressRefused',
    message: notPublic(host),
    retryable: false,
  };
}

/**
 * The same words whether the name means nothing or an address that is not for users: they must not learn which names
 * there are behind this service, nor where they lead.
 */
function notPublic(host: string): string {
  return `no public address was found for ${host}; only the public internet may be reached`;
}

async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const settled = new AbortController();
  try {
    const stopped = once(signal, 'abort', { signal: settled.signal }).then(() => Promise.reject(new Error('aborted')));
    return await Promise.race([work, stopped]);
  } finally {
    settled.abort();
  }
}

interface Bounds {
  readonly ca: SecureContext | undefined;
  readonly connectMs: number;
  readonly silenceMs: number;
  readonly kept: ConnectionPool;
}

async function send(
  url: URL,
  host: string,
  addresses: readonly string[],
  request: DialRequest,
  bounds: Bounds,
): Promise<DialResult> {
  const first = await sendOnce(url, host, addresses, request, bounds);
  // The other end had closed the kept connection before it read the request, as it may at any time.
  const result = first === 'Stale' ? await sendOnce(url, host, addresses, { ...request, keep: false }, bounds) : first;
  return result === 'Stale' ? failure(host, new Error('stale')) : result;
}

function sendOnce(
  url: URL,
  host: string,
  addresses: readonly string[],
  { method, headers, body, signal, keep = false }: DialRequest,
  bounds: Bounds,
): Promise<DialResult | 'Stale'> {
  return new Promise((done) => {
    const lent = keep ? bounds.kept.lend(url.origin, addresses) : undefined;
    // A connection of its own for each other request: one that is kept would outlive the check of its address.
    const agent = lent?.agent ?? new SlicedAgent({ keepAlive: false, maxSockets: 1 });
    const over = (): void => (lent === undefined ? agent.destroy() : lent.giveBack());
    const options: RequestOptions & Checked = {
      method,
      headers: { 'user-agent': 'troupe', ...headers, ...(body === undefined ? {} : { 'content-length': body.length }) },
      agent,
      signal,
      addresses,
      lookup: pinned(addresses),
      maxHeaderSize: MOST_HEADER_BYTES,
      ...(bounds.ca === undefined ? {} : { secureContext: bounds.ca }),
    };
    const request = httpsRequest(url, options);
    const connecting = setTimeout(() => request.destroy(new SilenceError()), bounds.connectMs);
    // For the head as a whole: one that comes byte by byte is never silent.
    let waiting: NodeJS.Timeout | undefined;
    request.once('socket', (socket) => {
      const connected = (): void => {
        clearTimeout(connecting);
        waiting = setTimeout(() => request.destroy(new SilenceError()), bounds.silenceMs);
      };
      if (request.reusedSocket) connected();
      else socket.once('secureConnect', connected);
    });
    let hints = 0;
    request.on('information', () => {
      if ((hints += 1) > MOST_HINTS) request.destroy(new Error('too many answers before the answer'));
    });
    request.once('response', (response) => {
      clearTimeout(waiting);
      response.setTimeout(bounds.silenceMs, () => response.destroy(new SilenceError()));
      response.once('close', over);
      done({ outcome: 'Answered', response });
    });
    // Also after the answer: the reader of the body hears it there.
    request.on('error', (error) => {
      clearTimeout(connecting);
      clearTimeout(waiting);
      over();
      if (signal.aborted) done(aborted(host));
      else done(request.reusedSocket && isReset(error) ? 'Stale' : failure(host, error));
    });
    request.end(body);
  });
}

function isReset(error: Error): boolean {
  return 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
}

/** Answers every question for a name with the checked addresses. */
function pinned(addresses: readonly string[]): LookupFunction {
  const entries = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, options, answer) => {
    const [first] = entries;
    if (options.all === true) answer(null, entries);
    else if (first === undefined) answer(new Error('no address'), '');
    else answer(null, first.address, first.family);
  };
}

class SilenceError extends Error {}

function aborted(host: string): DialFailure {
  return { outcome: 'Failed', reason: 'Aborted', message: `the request to ${host} was given up`, retryable: false };
}

function failure(host: string, error: Error): DialFailure {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (error instanceof SilenceError) {
    return { outcome: 'Failed', reason: 'TimedOut', message: `${host} did not answer in time`, retryable: true };
  }
  if (/CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO|EPROTO/.test(code)) {
    return {
      outcome: 'Failed',
      reason: 'TLSFailed',
      message: `no trusted connection to ${host} (${code})`,
      retryable: false,
    };
  }
  return {
    outcome: 'Failed',
    reason: 'ConnectionFailed',
    message: `the connection to ${host} failed${code === '' ? '' : ` (${code})`}`,
    retryable: true,
  };
}
