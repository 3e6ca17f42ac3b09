/**
 * Errors in Anthropic's dialect: `{type: "error", error: {type, message}, request_id}`, and in `error` our code, the field and what to do next.
 * Clients expect status 529 with `overloaded_error`.
 */
import type { DialectError } from '../dialect.js';

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

/** By which clients that try it first know to send the whole conversation. */
const NO_THREADS = { error_code: 'thread_unsupported_request' };

export function errorBody({ status, code, message, param, fix, requestId }: DialectError): string {
  const type = TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
  const details = param === 'thread' ? NO_THREADS : undefined;
  return JSON.stringify({ type: 'error', error: { type, message, code, param, fix, details }, request_id: requestId });
}
