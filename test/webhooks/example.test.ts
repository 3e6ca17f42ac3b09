/** The example of a receiver: it takes what is signed, prints it once, and refuses the rest. */
import test from 'ava';
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { attempt } from '../../src/engines/delivery/attempt.js';
import { sign } from '../../src/engines/delivery/sign.js';
import { openDialer } from '../../src/engines/dialer/dialer.js';
import { deliveryBody } from '../../src/kinds/webhookendpoint/body.js';
import { makeSecret } from '../../src/kinds/webhookendpoint/secret.js';
import { freePort } from '../../src/app/free-port.js';
import { until } from '../e2e/until.js';
import { certificates, missing } from '../engines/dialer/server.js';

const run = missing === undefined ? test : test.skip;
const CONSUMER = join('ops', 'examples', 'webhook-consumer', 'consumer.mjs');

run('the example of a receiver verifies, drops repeats and prints', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'troupe-consumer-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const file = (name: string): string => join(dir, name);
  const { ca, cert, key } = await certificates();
  const secrets = [1, 2].map((seed) => makeSecret((length) => new Uint8Array(length).fill(seed)));
  await writeFile(file('cert'), cert);
  await writeFile(file('key'), key);
  await writeFile(file('secrets'), '');
  const port = await freePort();
  const env = { SECRETS: file('secrets'), TLS_CERT: file('cert'), TLS_KEY: file('key'), PORT: String(port) };
  const consumer = spawn(process.execPath, [CONSUMER], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => void consumer.kill());
  let printed = '';
  consumer.stdout.on('data', (part: Buffer) => (printed += part.toString('utf8')));
  await until('it listens', () => printed.includes('listening'));

  const dialer = openDialer({ ca: [ca], allow: ['127.0.0.1'] });
  t.teardown(() => dialer.close());
  const object = { apiVersion: 'svc.dev/v1', kind: 'Job', name: 'j', project: 'default', uid: 'u', status: {} };
  const text = deliveryBody({ type: 'job.failed', time: 0, reason: 'Failed', message: 'it broke', count: 1, object });
  const body = Buffer.from(text);
  const signal = new AbortController().signal;
  const deliver = async (id: string, keys: readonly Uint8Array[], now = Date.now()) => {
    const headers = sign(id, now, body, keys);
    const result = await attempt({ url: `https://127.0.0.1:${port}/`, headers, body }, { dialer, signal });
    return 'status' in result ? result.status : 0;
  };
  const [old, fresh] = secrets.map(({ bytes }) => bytes);
  if (old === undefined || fresh === undefined) throw new Error('no secrets');
  t.is(await deliver('msg_1', [old]), 401, 'it has no secret yet');
  t.is(await deliver('msg_1', [new Uint8Array(0)]), 401, 'and nothing is no secret');
  await writeFile(file('secrets'), secrets.map((secret) => `${secret.text}\n`).join(''));
  t.is(await deliver('msg_1', [old]), 204);
  t.is(await deliver('msg_1', [fresh, old]), 204);
  t.is(await deliver('msg_2', [fresh]), 204);
  t.is(await deliver('msg_3', [new Uint8Array(32)]), 401);
  t.is(await deliver('msg_3', [fresh], Date.now() - 310_000), 401, 'too old');
  await until('both are printed', () => printed.split('job.failed').length === 3);
  t.is(printed, `listening on port ${port}\n${'job.failed Job/j it broke\n'.repeat(2)}`);
});
