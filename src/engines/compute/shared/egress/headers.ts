/** Which headers go on to the other side: those between two neighbours do not (RFC 9110, 7.6.1). Pure. */
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { HOP_BY_HOP } from '../../../../api/hop-by-hop.js';

/** `expect` is answered by this proxy. */
const NOT_FORWARDED: ReadonlySet<string> = new Set([...HOP_BY_HOP, 'expect']);

export function forwarded(message: Pick<IncomingMessage, 'headersDistinct'>): OutgoingHttpHeaders {
  const { headersDistinct } = message;
  const named = new Set((headersDistinct['connection'] ?? []).flatMap((value) => value.toLowerCase().split(/[\s,]+/)));
  const headers: OutgoingHttpHeaders = {};
  for (const [name, values] of Object.entries(headersDistinct)) {
    if (values === undefined || NOT_FORWARDED.has(name) || named.has(name)) continue;
    headers[name] = values.length === 1 ? values[0] : values;
  }
  return headers;
}
