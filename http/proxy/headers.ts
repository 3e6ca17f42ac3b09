/**
 * What of a message's head passes through the proxy to a port inside, and what does not. Pure; heads are flat lists of name and
 * value as Node gives them (`rawHeaders`), so that order and repeats are kept.
 *
 * Inwards goes nothing that is ours: no key (Authorization, the bearer subprotocol), no cookie that we have set. Outwards
 * comes nothing by which hostile code could speak for the whole origin instead of for its own path; references are in
 * `references.ts`.
 */
import { HOP_BY_HOP } from '../../src/api/hop-by-hop.js';
import { isOurCookie, scopeCookie } from './cookies.js';
import { MOST_REFERRING, outwardLink, outwardLocation, outwardRefresh, type Passage } from './references.js';

const NEVER_IN = new Set([
  ...HOP_BY_HOP,
  'authorization',
  'host',
  // Answered by the server in front.
  'expect',
  'http2-settings',
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-prefix',
  'x-forwarded-proto',
  'x-real-ip',
  'x-request-id',
]);

/**
 * What would hold for more than the page: for the whole origin, for what a browser asks of others in its name, or for a proxy
 * in front of this service, which would send a file or another page in place of the answer.
 */
const NEVER_OUT = new Set([
  ...HOP_BY_HOP,
  'accept-ch',
  'activate-storage-access',
  'alt-svc',
  'clear-site-data',
  'content-security-policy-report-only',
  'critical-ch',
  'expect-ct',
  'nel',
  'no-vary-search',
  'origin-agent-cluster',
  'public-key-pins',
  'report-to',
  'reporting-endpoints',
  'sec-session-registration',
  'secure-session-registration',
  'set-cookie2',
  'set-login',
  'sourcemap',
  'speculation-rules',
  'strict-transport-security',
  'use-as-dictionary',
  // A browser would ask for a password in the name of this host, and what is typed never goes in.
  'www-authenticate',
  'x-lighttpd-send-file',
  'x-lighttpd-send-tempfile',
  'x-request-id',
  'x-reproxy-url',
  'x-sendfile',
  'x-sendfile2',
  'x-sourcemap',
]);

/** Of the proxy in front (nginx): redirects inside of it, buffering, caching, speed. */
const TO_THE_PROXY = 'x-accel-';

/** By it a script asks for more pages than those below its own directory. */
const SCOPE = 'service-worker-allowed';

export interface Inward {
  readonly rawHeaders: readonly string[];
  /** Names that `Connection` lists, too, are dropped. */
  readonly connection: string | undefined;
  /** Of a WebSocket, with the credential taken out. */
  readonly subprotocols: readonly string[] | undefined;
  readonly client: { readonly address: string; readonly host: string; readonly scheme: 'http' | 'https' };
  readonly requestId: string;
  /** What it asks to become; undefined: a plain request. */
  readonly upgrade: string | undefined;
  readonly body: Body;
}

/** `Length`: its header says how long it is. `Empty`: none follows, where one could. */
export type Body = 'None' | 'Empty' | 'Length' | 'Chunked';

export function inwardHeaders(from: Inward, { prefix, port }: Passage): string[] {
  const { client, subprotocols, upgrade } = from;
  const dropped = listed(from.connection);
  const headers: string[] = ['Host', `localhost:${port}`];
  for (const [name, value] of pairs(from.rawHeaders)) {
    const lower = name.toLowerCase();
    if (NEVER_IN.has(lower) || dropped.has(lower)) continue;
    if (lower === 'sec-websocket-protocol') continue;
    if (lower === 'cookie') {
      const kept = value.split(';').filter((cookie) => !isOurCookie(cookie));
      if (kept.length > 0) headers.push(name, kept.join(';').trim());
      continue;
    }
    headers.push(name, value);
  }
  if (subprotocols !== undefined && subprotocols.length > 0) {
    headers.push('Sec-WebSocket-Protocol', subprotocols.join(', '));
  }
  headers.push('X-Forwarded-For', client.address, 'X-Forwarded-Proto', client.scheme, 'X-Forwarded-Prefix', prefix);
  if (client.host !== '') headers.push('X-Forwarded-Host', client.host);
  headers.push('X-Request-Id', from.requestId);
  if (upgrade !== undefined) headers.push('Connection', 'Upgrade', 'Upgrade', upgrade);
  else if (from.body === 'Chunked') headers.push('Transfer-Encoding', 'chunked');
  else if (from.body === 'Empty') headers.push('Content-Length', '0');
  return headers;
}

/** `connection`: of the answer. */
export function outwardHeaders(
  rawHeaders: readonly string[],
  connection: string | undefined,
  passage: Passage,
): string[] {
  const dropped = listed(connection);
  const headers: string[] = [];
  let referring = 0;
  for (const [name, value] of pairs(rawHeaders)) {
    const lower = name.toLowerCase();
    if (NEVER_OUT.has(lower) || lower.startsWith(TO_THE_PROXY) || dropped.has(lower)) continue;
    if (lower === 'set-cookie') {
      const scoped = scopeCookie(value, passage.prefix);
      if (scoped !== undefined) headers.push(name, scoped);
    } else if (lower === SCOPE) {
      // Whatever it says: a worker of this port may have all of the port, and nothing above.
      headers.push(name, `${passage.prefix}/`);
    } else {
      const rewrite = REFERENCES.get(lower);
      if (rewrite !== undefined && ++referring > MOST_REFERRING) continue;
      const rewritten = rewrite === undefined ? value : rewrite(value, passage);
      if (rewritten !== undefined) headers.push(name, rewritten);
    }
  }
  return headers;
}

const REFERENCES: ReadonlyMap<string, (value: string, passage: Passage) => string | undefined> = new Map([
  ['location', outwardLocation],
  ['content-location', outwardLocation],
  ['refresh', outwardRefresh],
  ['link', outwardLink],
]);

const USUALLY_WITH_BODY = new Set(['POST', 'PUT', 'PATCH']);

export function bodyOf(method: string, headers: Readonly<Record<string, unknown>>): Body {
  if (headers['transfer-encoding'] !== undefined) return 'Chunked';
  if (headers['content-length'] !== undefined) return 'Length';
  return USUALLY_WITH_BODY.has(method) ? 'Empty' : 'None';
}

function listed(connection: string | undefined): ReadonlySet<string> {
  return new Set((connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
}

function* pairs(raw: readonly string[]): Generator<readonly [name: string, value: string]> {
  for (let i = 0; i + 1 < raw.length; i += 2) yield [raw[i] ?? '', raw[i + 1] ?? ''];
}
