/**
 * The receiver of the webhook measurements: an https server in a process of its own that verifies each delivery, takes
 * it, and notes when it came. Started by `parts/webhooks.ts`, which asks for what has come so far.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import { z } from 'zod';

/** The first message to this process. */
export const opening = z.object({ key: z.string(), cert: z.string() });
/** Further ones: the secret of an endpoint by its path, or a wish to know. */
export const further = z.union([
  z.object({ path: z.string(), secret: z.string() }),
  z.object({ ask: z.literal(true), from: z.int() }),
]);

/** What this process answers: its port first, then how many have come and the newest of them. */
export type Answer =
  | { readonly port: number }
  | {
      readonly count: number;
      readonly unique: number;
      readonly unverified: number;
      /** ms from the event (as its body says) to its arrival, of all from the one asked for on. */
      readonly lags: readonly number[];
      /** ms since the epoch, of the same. */
      readonly times: readonly number[];
    };

const ids = new Set<string>();
const secrets = new Map<string, Buffer>();
const lags: number[] = [];
const times: number[] = [];
let unverified = 0;

function isSigned(request: IncomingMessage, body: Buffer): boolean {
  const secret = secrets.get(request.url ?? '');
  if (secret === undefined) return true;
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': given } = request.headers;
  const made = createHmac('sha256', secret)
    .update(`${String(id)}.${String(time)}.`)
    .update(body)
    .digest();
  return String(given)
    .split(' ')
    .some((one) => {
      const bytes = Buffer.from(one.replace(/^v1,/, ''), 'base64');
      return bytes.length === made.length && timingSafeEqual(bytes, made);
    });
}

function take(request: IncomingMessage, body: Buffer): void {
  const now = Date.now();
  const time = /"timestamp":"([^"]+)"/.exec(body.toString('latin1', 0, 200))?.[1] ?? '';
  ids.add(String(request.headers['webhook-id']));
  lags.push(now - Date.parse(time));
  times.push(now);
  if (!isSigned(request, body)) unverified += 1;
}

function open({ key, cert }: z.infer<typeof opening>): void {
  const server = createServer({ key, cert, keepAlive: true }, (request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      take(request, parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts));
      response.writeHead(204).end();
    });
  });
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (address !== null && typeof address !== 'string') tell({ port: address.port });
  });
}

function tell(answer: Answer): void {
  process.send?.(answer);
}

process.on('message', (message) => {
  const begin = opening.safeParse(message);
  if (begin.success) {
    open(begin.data);
    return;
  }
  const more = further.parse(message);
  if ('secret' in more) secrets.set(more.path, Buffer.from(more.secret.slice('whsec_'.length), 'base64'));
  else {
    const { from } = more;
    tell({ count: times.length, unique: ids.size, unverified, lags: lags.slice(from), times: times.slice(from) });
  }
});
process.on('disconnect', () => process.exit(0));
