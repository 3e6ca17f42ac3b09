/** Webhooks from the outside: a service of its own process, a receiver over https, and what passes between them. */
import anyTest, { type TestFn } from 'ava';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listAt, numberAt, objectOf, path, textAt, type Client } from '../e2e/client.js';
import { startRunning, type Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { openReceiver, verify, type Hook, type Receiver } from './receiver.js';
import { missing } from '../engines/dialer/server.js';

const test = anyTest as TestFn<{ service: Running; receiver: Receiver; client: Client }>;
const run = missing === undefined ? test.serial : test.serial.skip;
const ENDPOINTS = path('webhookendpoints', '');

const ends: (() => unknown)[] = [];
const whole = { teardown: (end: () => unknown) => void ends.push(end) };

test.before(async (t) => {
  if (missing !== undefined) return;
  t.timeout(120_000);
  const dir = await mkdtemp(join(tmpdir(), 'troupe-webhooks-'));
  whole.teardown(() => rm(dir, { recursive: true, force: true }));
  const receiver = await openReceiver(whole, dir);
  const env = { TROUPE_WEBHOOK_CA: receiver.caFile, TROUPE_WEBHOOK_ALLOW: '127.0.0.0/8', TROUPE_COMPUTE: 'off' };
  const service = await startRunning(whole, { env });
  t.context = { service, receiver, client: service.client() };
});

test.after.always(async () => {
  for (const end of ends.toReversed()) await end();
});

/** A new endpoint with its secret. */
async function make(client: Client, name: string, hook: Hook, spec: object = {}): Promise<string> {
  const made = await client.post(ENDPOINTS, objectOf('WebhookEndpoint', name, { url: hook.url, ...spec }));
  if (made.status !== 201) throw new Error(made.text);
  return textAt(made.body, 'status', 'signingSecret');
}

run('a new endpoint gets a signed ping, and its secret is shown once', async (t) => {
  const { client, receiver } = t.context;
  const hook = receiver.hook('first');
  const secret = await make(client, 'first', hook, { eventTypes: ['job.failed'] });
  t.regex(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  const [ping] = await hook.until('the ping comes', (received) => received.length > 0);
  if (ping === undefined) throw new Error('no ping');
  t.notThrows(() => verify(secret, ping));
  t.throws(() => verify('whsec_AAAA', ping));
  t.is(textAt(ping.body, 'type'), 'webhookendpoint.ping');
  t.is(textAt(ping.body, 'data', 'object', 'kind'), 'WebhookEndpoint');
  t.is(textAt(ping.body, 'data', 'object', 'metadata', 'name'), 'first');
  t.is(numberAt(ping.body, 'data', 'event', 'count'), 1);
  const read = await client.get(`${ENDPOINTS}/first`);
  t.is(textAt(read.body, 'status', 'signingSecret'), '');
  const seen = await until('the status tells of it', async () => {
    const { body } = await client.get(`${ENDPOINTS}/first`);
    return numberAt(body, 'status', 'deliveries24h', 'succeeded') === 1 && body;
  });
  t.is(numberAt(seen, 'status', 'lastDelivery', 'statusCode'), 204);
  t.is(numberAt(seen, 'status', 'lastDelivery', 'attempt'), 1);
  t.is(textAt(listAt(seen, 'status', 'conditions')[0], 'status'), 'True');
});
