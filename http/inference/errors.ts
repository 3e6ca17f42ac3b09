/**
 * How a failed request of the data plane leaves: in the dialect of its client, with our code, the request's id, and Retry-After only where a
 * retry can help. Both official clients try 408, 409, 429 and 5xx again by themselves; `x-should-retry: false` keeps them from what
 * cannot help.
 */
import { toStatus } from '../../src/api/errors/status.js';
import { RefusalError, type Refusal } from '../../src/api/refusal.js';
import type { Dialect, DialectError, LimitState } from '../../src/engines/inference/dialects/dialect.js';
import { LimitError } from '../../actors/inference/limit-error.js';
import type { HttpLog } from '../deps.js';
import { traceOf } from '../errors.js';
import type { Exchange } from '../exchange.js';
import { JSON_TYPE, reply, type Headers } from '../reply.js';
import { refusalOf } from '../small-chunks.js';

/** Money that is used up. */
const NO_MONEY = 402;

/** Anthropic's own status for a service that has no room; its clients know it. */
const OVERLOADED = 529;

/** Longest Retry-After that is sent (s): one client sleeps as long as it is told, whatever that is, and another ignores more. */
const MOST_RETRY_AFTER = 60;

interface Answer {
  readonly status: number;
  readonly error: DialectError;
  readonly headers: Headers;
}

/** `upstreamStatus`: of an upstream that refused the request itself. */
export class UpstreamRefusal extends RefusalError {
  readonly status: number;
  constructor(status: number, refusal: Refusal) {
    super(refusal);
    this.name = 'UpstreamRefusal';
    this.status = status;
  }
}

/** Ends the request in whatever way is still possible. Returns the HTTP status for metrics; 499 for a client that left. */
export function answerInferenceError(x: Exchange, error: unknown, dialect: Dialect, log: HttpLog, now: number): number {
  if (x.abandoned) return 499;
  const { status, error: said, headers } = explain(x, error, dialect, log, now);
  if (refusalOf(x.req) !== undefined) x.res.shouldKeepAlive = false;
  if (x.res.headersSent) {
    // A stream says it in its own way before it comes to this.
    x.res.destroy();
    return status;
  }
  reply(x, status, dialect.errorBody(said), headers);
  return status;
}

function explain(x: Exchange, error: unknown, dialect: Dialect, log: HttpLog, now: number): Answer {
  const told = refusalFor(x, error, log);
  // The table advises blobs, of which models know nothing.
  const isLarge = told.code === 'RequestEntityTooLarge' && told.fix === undefined;
  const refusal = isLarge ? { ...told, fix: 'Send less at once: fewer turns, or smaller images.' } : told;
  const known = toStatus(refusal, { requestId: x.requestId, docsBase: x.base });
  const status = error instanceof UpstreamRefusal ? error.status : known.httpStatus;
  const retry = retryAfter(known.headers['Retry-After']);
  const headers: Headers = {
    'content-type': JSON_TYPE,
    'cache-control': 'no-store',
    'request-id': x.requestId,
    ...(retry === undefined ? {} : { 'retry-after': retry }),
    ...(retry === undefined && mayBeRetried(status) ? { 'x-should-retry': 'false' } : {}),
    ...(error instanceof LimitError ? dialect.limitHeaders(error.state, now) : {}),
  };
  if (status === 401) headers['www-authenticate'] = 'Bearer';
  // What is stopped has room enough, and says 503 to everybody.
  const shown = status === 503 && retry !== undefined && dialect.name === 'Anthropic' ? OVERLOADED : status;
  return { status: shown, error: { ...dialectError(x, refusal), status: shown }, headers };
}

export function dialectError(x: Exchange, refusal: Refusal): DialectError {
  const { body, httpStatus } = toStatus(refusal, { requestId: x.requestId, docsBase: x.base });
  const param = refusal.causes?.[0]?.field;
  return {
    ...{ status: httpStatus, code: refusal.code, message: body.message, fix: body.fix, requestId: x.requestId },
    param: param === '' ? undefined : param,
  };
}

/** What is not ours to tell becomes an internal error, with its trace in the log (I11: never its message). */
export function refusalFor(x: Exchange, error: unknown, log: HttpLog): Refusal {
  if (error instanceof RefusalError) return error.refusal;
  if (error instanceof DOMException && error.name === 'TimeoutError')
    return { code: 'Unavailable', message: 'the request took too long', retryAfterSeconds: 1 };
  log.error({ requestId: x.requestId, verb: x.verb, resource: x.resource, ...traceOf(error) }, 'request failed');
  return { code: 'InternalError', message: 'an internal error occurred' };
}

function retryAfter(given: string | undefined): string | undefined {
  return given === undefined ? undefined : String(Math.min(MOST_RETRY_AFTER, Number(given)));
}

/** By some client: those of both vendors leave 402 alone, others do not. */
function mayBeRetried(status: number): boolean {
  return status === NO_MONEY || status === 408 || status === 409 || status === 429 || status >= 500;
}

export function answerHeaders(x: Exchange, dialect: Dialect, limits: LimitState, now: number): Headers {
  return { 'request-id': x.requestId, 'cache-control': 'no-store', ...dialect.limitHeaders(limits, now) };
}
