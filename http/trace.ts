/** Reads the ids that a client gives its request, so that its lines and ours can be brought together. Pure; what has no good form counts as not given. */

const REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9._:/+=-]{0,127}$/;
/** W3C Trace Context, version 00 and those that begin alike. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;
/** A later version of `traceparent` may say more behind; this is more than any does. */
const LONGEST = 512;

/** Of `X-Request-Id`. */
export function readRequestId(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' && REQUEST_ID.test(header) ? header : undefined;
}

/** The trace id of `traceparent`. */
export function readTraceId(header: string | undefined): string | undefined {
  if (header === undefined || header.length > LONGEST) return undefined;
  return TRACEPARENT.exec(header)?.[1];
}
