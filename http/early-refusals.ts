/** What is refused before anything is made for a request: a second Host, and addresses that have spent their rate. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { toStatus } from '../src/api/errors/status.js';
import { refuse } from '../src/api/refusal.js';

/** RFC 9112, 3.2: to be refused, since each end of a proxy might take another one. Node keeps the first and says nothing. */
export function hasTwoHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts > 1;
}

/** For a client address that has spent what it may send without a known key: no work, no line, and the connection ends. */
export function refuseCheaply(res: ServerResponse): void {
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
