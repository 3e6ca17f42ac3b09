// A receiver of webhooks: verifies the signature, drops what it has seen before, prints the rest. Needs Node 20 alone.
// SECRETS: a file with the endpoint's secrets, one per line (two during a rotation). TLS_CERT, TLS_KEY: PEM files. PORT.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { buffer } from 'node:stream/consumers';

const { SECRETS, TLS_CERT, TLS_KEY, PORT = '9443' } = process.env;
const seen = new Set();

function keys() {
  const lines = readFileSync(SECRETS, 'utf8').matchAll(/^whsec_(.+)$/gm);
  return Array.from(lines, ([, key]) => Buffer.from(key, 'base64'));
}

function isSigned({ 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': given = '' }, body) {
  if (!(Math.abs(Date.now() / 1000 - Number(time)) < 300)) return false;
  const made = keys().map((key) => createHmac('sha256', key).update(`${id}.${time}.`).update(body).digest('base64'));
  const right = made.map((signature) => Buffer.from(`v1,${signature}`));
  const sent = given.split(' ').map((signature) => Buffer.from(signature));
  return right.some((one) => sent.some((other) => one.length === other.length && timingSafeEqual(one, other)));
}

async function take(request, response) {
  const body = await buffer(request);
  const id = request.headers['webhook-id'];
  if (!isSigned(request.headers, body)) return response.writeHead(401).end();
  if (!seen.has(id)) {
    const { type, data } = JSON.parse(body);
    process.stdout.write(`${type} ${data.object.kind}/${data.object.metadata.name} ${data.event.message}\n`);
    seen.add(id); // in earnest: in the transaction of what the event makes you do
    if (seen.size > 10_000) seen.delete(seen.values().next().value);
  }
  return response.writeHead(204).end();
}

const tls = { cert: readFileSync(TLS_CERT), key: readFileSync(TLS_KEY) };
const server = createServer(tls, (request, response) => void take(request, response).catch(() => response.destroy()));
server.listen(Number(PORT), () => process.stdout.write(`listening on port ${PORT}\n`));
