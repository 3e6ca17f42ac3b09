/** What is refused before anything is made for a request: a second Host or key, and addresses that have spent their rate. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { toStatus } from '../src/api/errors/status.js';
import { refuse } from '../src/api/refusal.js';

/**
 * The header that a request may have once and has twice: to be refused, since each end of a proxy might take another one (RFC 9112, 3.2;
 * RFC 9110, 11.6.2). Node keeps the first and says nothing. For every request, so names are read by their length first.
 */
export function repeatedHeader({ rawHeaders }: IncomingMessage): 'Host' | 'Authorization' | undefined {
  let hosts = 0;
  let keys = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? '';
    if (name.length === 4) {
      if (name.toLowerCase() === 'host') hosts += 1;
    } else if (name.length === 13 && name.toLowerCase() === 'authorization') keys += 1;
  }
  if (hosts > 1) return 'Host';
  return keys > 1 ? 'Authorization' : undefined;
}

/** The header by which a client asks to act as another caller (`kubectl --as`). Left unread, it would act as itself without knowing. */
export function impersonation({ rawHeaders }: IncomingMessage): string | undefined {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? '';
    // Few names begin so.
    if ((name.startsWith('I') || name.startsWith('i')) && name.toLowerCase().startsWith('impersonate-')) return name;
  }
  return undefined;
}

/** For a client address that has spent what it may send without a known key: no work, no line, and the connection ends. */
export async function refuseCheaply(res: ServerResponse): Promise<void> {
  res.shouldKeepAlive = false;
  res.writeHead(SPENT.httpStatus, SPENT_HEADERS);
  res.end(SPENT_BODY);
}

/** Made once: it has no id of its request, and names its page by a path. */
const SPENT = toStatus(
  refuse('TooManyRequests', 'this address sends too many requests without a known key', { retryAfterSeconds: 1 })
    .refusal,
  { requestId: '', docsBase: '' },
);
const SPENT_BODY = JSON.stringify(SPENT.body);
const SPENT_HEADERS = {
  ...{ 'content-type': 'application/json', 'content-length': Buffer.byteLength(SPENT_BODY) },
  ...{ ...SPENT.headers, 'cache-control': 'no-store' },
};
