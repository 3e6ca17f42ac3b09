/** Errors in OpenAI's dialect: `{error: {message, type, param, code}}`, and beside them what to do next and the id of the request. */
import type { DialectError } from '../dialect.js';

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'insufficient_quota',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'server_error',
  504: 'timeout',
  529: 'server_error',
};

export function errorBody({ status, code, message, param, fix, requestId }: DialectError): string {
  const type = TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
  return JSON.stringify({ error: { message, type, param: param ?? null, code, fix, requestId } });
}
