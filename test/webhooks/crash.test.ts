/**
 * The service is killed while it delivers, again and again: every event reaches every endpoint, and what comes more than once
 * comes under the same webhook-id. `CRASH_ROUNDS` says how often (2; `npm run test:crash` more).
 */
import test from 'ava';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { objectOf, path, textAt } from '../e2e/client.js';
import { startRunning, type Running } from '../e2e/running.js';
import { missing } from '../engines/dialer/server.js';
import { openReceiver, verify, type Hook } from './receiver.js';

const run = missing === undefined ? test : test.skip;
const ROUNDS = Number(process.env['CRASH_ROUNDS'] ?? 2);
const ENDPOINTS = path('webhookendpoints', '');
const JOBS = path('jobs', 'default');
/** Writers side by side, and how long they write between two kills. */
const WRITERS = 8;
const ROUND_MS = 700;
const ALL_MS = 60_000;

/** Makes Jobs and cancels them until the service is gone; answers those whose end was acknowledged. */
async function write(service: Running, prefix: string, stop: AbortSignal): Promise<string[]> {
  const client = service.client();
  const acknowledged: string[] = [];
  for (let i = 0; !stop.aborted; i += 1) {
    const name = `${prefix}-${i}`;
    try {
      const made = await client.post(JOBS, objectOf('Job', name, { command: ['true'], state: 'Suspended' }));
      if (made.status !== 201) continue;
      const ended = await client.merge(`${JOBS}/${name}`, { spec: { state: 'Cancelled' } });
      if (ended.status === 200) acknowledged.push(name);
    } catch {
      await delay(5);
    }
  }
  return acknowledged;
}

run('SIGKILL during deliveries loses none, and what comes twice has the same id', async (t) => {
  t.timeout(60_000 + ROUNDS * 30_000);
  const dir = await mkdtemp(join(tmpdir(), 'troupe-webhooks-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const receiver = await openReceiver(t, dir);
  const env = { TROUPE_WEBHOOK_CA: receiver.caFile, TROUPE_WEBHOOK_ALLOW: '127.0.0.0/8', TROUPE_COMPUTE: 'off' };
  const service = await startRunning(t, { env });
  const hooks: Hook[] = [];
  const secrets: string[] = [];
  for (const name of ['one', 'two', 'three']) {
    const hook = receiver.hook(name);
    // Slow enough that many are in hand when the process dies.
    hook.answer((response) => void setTimeout(() => response.writeHead(204).end(), 15));
    const spec = { url: hook.url, eventTypes: ['job.cancelled'] };
    const made = await service.client().post(ENDPOINTS, objectOf('WebhookEndpoint', name, spec));
    t.is(made.status, 201, made.text);
    hooks.push(hook);
    secrets.push(textAt(made.body, 'status', 'signingSecret'));
  }

  const acknowledged: string[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const stop = new AbortController();
    const writing = Array.from({ length: WRITERS }, (_, i) => write(service, `r${round}-w${i}`, stop.signal));
    await delay(ROUND_MS + Math.random() * ROUND_MS);
    await service.kill();
    stop.abort();
    acknowledged.push(...(await Promise.all(writing)).flat());
    await service.start();
  }
  t.true(acknowledged.length > ROUNDS * 10, `${acknowledged.length} only`);

  let repeats = 0;
  for (const [i, hook] of hooks.entries()) {
    const received = await hook.until(
      'every acknowledged event has come',
      (all) => {
        const names = new Set(all.map(({ body }) => textAt(body, 'data', 'object', 'metadata', 'name')));
        return acknowledged.every((name) => names.has(name));
      },
      ALL_MS,
    );
    const ids = new Map<string, Set<string>>();
    for (const one of received) {
      const name = textAt(one.body, 'data', 'object', 'metadata', 'name');
      ids.set(name, (ids.get(name) ?? new Set()).add(one.id));
    }
    t.deepEqual(
      [...ids].filter(([, seen]) => seen.size !== 1),
      [],
    );
    repeats += received.length - ids.size;
    for (const one of received.slice(-20)) t.notThrows(() => verify(secrets[i] ?? '', one));
  }
  t.log(`${acknowledged.length} events, 3 endpoints, ${ROUNDS} kills, ${repeats} repeats`);
});
