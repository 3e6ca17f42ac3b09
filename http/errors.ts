/**
 * The one funnel through which every failed request leaves (decisions, "HTTP status of codes"): a refusal becomes
 * its `Status`, a client that left becomes nothing, and all else is an InternalError with the request's id in the log.
 *
 * I11: what is logged of an unknown error is its name, its code and where it happened, never its whole message or the
 * request: messages of parsers and of the database quote what they were given.
 */
import { PROTOCOL_TABLE, type ProtocolReason } from '../src/api/errors/protocol.js';
import { docsPath, toStatus } from '../src/api/errors/status.js';
import type { ErrorEntry } from '../src/api/errors/table.js';
import { RefusalError, type Cause, type Refusal } from '../src/api/refusal.js';
import type { HttpLog } from './deps.js';
import type { Exchange } from './exchange.js';
import { JSON_TYPE, reply, type Headers } from './reply.js';
import { refusalOf } from './small-chunks.js';

/** Answers of the protocol that are no registered code: kube-apiserver's own reasons, which its clients look for. */
export class ProtocolError extends Error {
  readonly reason: ProtocolReason;
  readonly causes: readonly Cause[];

  constructor(reason: ProtocolReason, message: string, causes: readonly Cause[] = []) {
    super(message);
    this.name = 'ProtocolError';
    this.reason = reason;
    this.causes = causes;
  }
}

/** The list or read names a version that does not exist yet: 504, as clients of Kubernetes expect it. */
export function tooLargeVersion(asked: number, current: number): ProtocolError {
  const cause: Cause = { field: '', reason: 'ResourceVersionTooLarge', message: 'Too large resource version' };
  return new ProtocolError('Timeout', `Too large resource version: ${asked}, current: ${current}`, [cause]);
}

export function notAcceptable(): ProtocolError {
  return new ProtocolError(
    'NotAcceptable',
    'only the following media types are accepted: application/json, application/yaml',
  );
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

function protocolStatus(x: Exchange, { reason, message, causes }: ProtocolError): Answer {
  const entry: ErrorEntry = PROTOCOL_TABLE[reason];
  const { status, fix, retryAfterSeconds } = entry;
  const details = {
    ...(causes.length > 0 ? { causes } : {}),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
  const body = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    details,
    code: status,
    docs: x.base + docsPath(reason),
    fix,
    requestId: x.requestId,
  };
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  return { status, body: JSON.stringify(body), headers };
}

function refusalAnswer(x: Exchange, refusal: Refusal): Answer {
  const { httpStatus, headers, body } = toStatus(refusal, { requestId: x.requestId, docsBase: x.base });
  return { status: httpStatus, body: JSON.stringify(body), headers };
}

/** Errors of koa-body and friends carry an HTTP status; anything of 4xx is the client's. */
function foreignStatus(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('status' in error)) return undefined;
  const { status } = error;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : undefined;
}

function foreignRefusal(status: number): Refusal {
  if (status === 413) return { code: 'RequestEntityTooLarge', message: 'the request body is too large' };
  if (status === 415) return { code: 'UnsupportedMediaType', message: 'the content type is not supported here' };
  return { code: 'BadRequest', message: 'the request body cannot be read' };
}

/** What is said to the client for any error. Logs what is our fault. */
function explain(x: Exchange, error: unknown, log: HttpLog): Answer {
  if (error instanceof RefusalError) return refusalAnswer(x, error.refusal);
  if (error instanceof ProtocolError) return protocolStatus(x, error);
  if (error instanceof DOMException && error.name === 'TimeoutError') {
    return refusalAnswer(x, { code: 'Unavailable', message: 'the request took too long', retryAfterSeconds: 1 });
  }
  const foreign = foreignStatus(error);
  if (foreign !== undefined) return refusalAnswer(x, foreignRefusal(foreign));
  log.error(
    { requestId: x.requestId, traceId: x.traceId, verb: x.verb, resource: x.resource, ...traceOf(error) },
    'request failed',
  );
  return refusalAnswer(x, { code: 'InternalError', message: 'an internal error occurred' });
}

/** Name, code and stack frames of an error; not its message (I11). */
export function traceOf(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { error: typeof error };
  const frames = (error.stack ?? '')
    .split('\n')
    .filter((line) => line.startsWith('    at '))
    .slice(0, 12);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return { error: error.name, code, frames: frames.map((line) => line.trim()) };
}

/** Ends the request in whatever way is still possible. Returns the HTTP status for metrics; 499 for a client that left. */
export function answerError(x: Exchange, error: unknown, log: HttpLog): number {
  if (x.abandoned) return 499;
  const answer = explain(x, error, log);
  if (x.left) {
    x.upgrade?.socket.destroy();
    return answer.status;
  }
  if (refusalOf(x.req) !== undefined) x.res.shouldKeepAlive = false;
  if (x.res.headersSent) {
    // The answer had begun: cutting the connection is the only way to say that it is not whole.
    x.res.destroy();
    return answer.status;
  }
  const headers: Headers = { 'content-type': JSON_TYPE, 'cache-control': 'no-cache, private', ...answer.headers };
  if (answer.status === 401) headers['www-authenticate'] = 'Bearer';
  reply(x, answer.status, answer.body, headers);
  return answer.status;
}

/** The refusal's `Status`, for an ERROR event within a stream. */
export function statusObject(x: Exchange, refusal: Refusal): unknown {
  return toStatus(refusal, { requestId: x.requestId, docsBase: x.base }).body;
}
