/**
 * An upstream behind HTTP: one pool of kept connections, as many as it may have requests. What it is sent is the body, the operator's key
 * and fixed headers, and for Anthropic's dialect the version and betas that the client named: nothing else of a client. Redirects are
 * answers like any other. Every wait is bounded: connecting, the head, silence in the body; aborting closes the connection at once.
 */
import { Pool } from 'undici';
import { exchange, type Exchange } from './exchange.js';
import { isAudio, type DialectName, type UpstreamOperation } from './dialects/dialect.js';
import type { Upstream, UpstreamCall, UpstreamFailure } from './upstream.js';

export interface HttpUpstreamSpec {
  readonly name: string;
  readonly dialect: DialectName;
  readonly baseURL: string;
  /** Undefined: none is sent. */
  readonly key: string | undefined;
  /** Fixed, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly class: string;
  readonly mayFetch: boolean;
  readonly maxConcurrent: number;
  readonly timeouts: { readonly connectMs: number; readonly firstByteMs: number; readonly idleMs: number };
}

const ANTHROPIC_VERSION = '2023-06-01';
const USER_AGENT = 'troupe';
/** For the whole of a probe. */
const PROBE_MS = 5_000;

/** What these two carry; anything else is not sent on. */
const VERSION = /^[\w.-]{1,64}$/;
const BETA = /^[\w.,=; -]{1,4096}$/;

export function openHttpUpstream(spec: HttpUpstreamSpec): Upstream {
  const { name, timeouts } = spec;
  const { origin } = new URL(spec.baseURL);
  // One more for probes. Undici's own time-outs are coarse and start late: `exchange` has its own.
  const pool = new Pool(origin, {
    connections: spec.maxConcurrent + 1,
    pipelining: 1,
    connect: { timeout: timeouts.connectMs },
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const pathOf = pathsBelow(spec);
  const fixed = fixedHeaders(spec);
  const common = { pool, name, idleMs: timeouts.idleMs, connectMs: timeouts.connectMs } satisfies Partial<Exchange>;
  let inFlight = 0;
  /** Requests under way, by tenant. */
  const tenants = new Map<string, number>();
  const share = shareOf(spec.maxConcurrent);
  const leave = (tenant: string): void => {
    inFlight -= 1;
    const left = (tenants.get(tenant) ?? 1) - 1;
    if (left > 0) tenants.set(tenant, left);
    else tenants.delete(tenant);
  };

  return {
    name,
    dialects: new Set([spec.dialect]),
    class: spec.class,
    mayFetch: spec.mayFetch,
    get inFlight() {
      return inFlight;
    },
    send(call) {
      if (call.signal.aborted)
        return Promise.resolve(failure('Aborted', `upstream ${name}: given up before it was asked`));
      // I10: no queue; the router takes another route, or says so.
      if (inFlight >= spec.maxConcurrent) {
        return Promise.resolve(
          failure('Busy', `upstream ${name}: ${spec.maxConcurrent} requests are under way, its maxConcurrent`),
        );
      }
      const { tenant } = call;
      const own = tenants.get(tenant) ?? 0;
      if (own >= share) {
        return Promise.resolve(
          failure(
            'Busy',
            `upstream ${name}: one organisation has ${own} requests under way, its share of maxConcurrent`,
          ),
        );
      }
      inFlight += 1;
      tenants.set(tenant, own + 1);
      return exchange({
        ...common,
        method: 'POST',
        path: pathOf[call.operation],
        headers: headersOf(call, spec.dialect, fixed),
        body: call.body,
        firstByteMs: timeouts.firstByteMs,
        signal: call.signal,
        over: () => leave(tenant),
      });
    },
    conceal: (text) => (spec.key === undefined ? text : text.replaceAll(spec.key, '…')),
    async probe(signal) {
      const headers = [...fixed, 'accept', 'application/json'];
      if (spec.dialect === 'Anthropic') headers.push('anthropic-version', ANTHROPIC_VERSION);
      const over = (): void => undefined;
      const path = pathOf.models;
      const answer = await exchange({ ...common, method: 'GET', path, headers, firstByteMs: PROBE_MS, signal, over });
      if (answer.outcome === 'Failed') return false;
      answer.discard();
      // A key may be kept from listing models (403), and some servers have no list (404): they answer all the same.
      return answer.status < 500 && answer.status !== 401;
    },
    close: () => pool.destroy(),
  };
}

/** I10: an organisation leaves an eighth of the places to others, where there are eight. */
function shareOf(maxConcurrent: number): number {
  return maxConcurrent - Math.floor(maxConcurrent / 8);
}

export function failure(reason: UpstreamFailure['reason'], message: string): UpstreamFailure {
  return { outcome: 'Failed', reason, message };
}

/** OpenAI's base URL ends in the version, Anthropic's need not. */
function pathsBelow({ dialect, baseURL }: HttpUpstreamSpec): Readonly<Record<UpstreamOperation | 'models', string>> {
  const base = new URL(baseURL).pathname.replace(/\/+$/, '');
  const root = dialect === 'Anthropic' && !base.endsWith('/v1') ? `${base}/v1` : base;
  return {
    '/v1/chat/completions': `${root}/chat/completions`,
    '/v1/completions': `${root}/completions`,
    '/v1/embeddings': `${root}/embeddings`,
    '/v1/messages': `${root}/messages`,
    '/v1/messages/count_tokens': `${root}/messages/count_tokens`,
    '/v1/audio/transcriptions': `${root}/audio/transcriptions`,
    '/v1/audio/speech': `${root}/audio/speech`,
    models: `${root}/models`,
  };
}

/** Names and values in turn, as undici takes them. */
function fixedHeaders({ dialect, key, headers }: HttpUpstreamSpec): readonly string[] {
  const list = ['user-agent', USER_AGENT, 'accept-encoding', 'identity', ...Object.entries(headers).flat()];
  if (key !== undefined) list.push(...(dialect === 'OpenAI' ? ['authorization', `Bearer ${key}`] : ['x-api-key', key]));
  return list;
}

function headersOf(
  { body, operation, stream, headers }: UpstreamCall,
  dialect: DialectName,
  fixed: readonly string[],
): string[] {
  const list = [...fixed, 'content-type', Buffer.isBuffer(body) ? 'application/json' : body.contentType];
  if (!Buffer.isBuffer(body)) list.push('content-length', String(body.length));
  list.push('accept', stream ? 'text/event-stream' : isAudio(operation) ? '*/*' : 'application/json');
  if (dialect === 'OpenAI') return list;
  const version = headers['anthropic-version'] ?? '';
  const beta = headers['anthropic-beta'] ?? '';
  list.push('anthropic-version', VERSION.test(version) ? version : ANTHROPIC_VERSION);
  if (BETA.test(beta)) list.push('anthropic-beta', beta);
  return list;
}
