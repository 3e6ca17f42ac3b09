/** Limits of InferenceEndpoints at a running service: what is admitted, and what a client that is refused is told. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { parsed, textAt, type Answer } from '../e2e/client.js';
import { until } from '../e2e/until.js';
import {
  CHAT,
  endpointsIn,
  makeEndpoint,
  MESSAGES,
  openStream,
  said,
  shareGateway,
  statusesOf,
  told,
  type Gateway,
} from './support/gateway.js';
import { chatAnswer, json } from './support/upstreams.js';

const LOAD_CLIENT = fileURLToPath(new URL('./support/load-client.js', import.meta.url));

let gateway: Gateway;
test.before(async () => {
  gateway = await shareGateway();
});
test.after.always(async () => gateway?.close());

function ask(name: string, more: object = {}, to = CHAT): Promise<Answer> {
  return gateway.owner.post(to, { model: `endpoint/${name}`, max_tokens: 10, messages: said('Hello'), ...more });
}

function checkRefused(t: ExecutionContext, { status, headers, body, text }: Answer, named: RegExp): void {
  t.is(status, 429, text);
  t.is(textAt(body, 'error', 'type'), 'rate_limit_error');
  t.regex(textAt(body, 'error', 'message'), named);
  const seconds = Number(headers.get('retry-after'));
  t.true(Number.isInteger(seconds) && seconds >= 1 && seconds <= 61, `Retry-After: ${headers.get('retry-after')}`);
  t.is(headers.get('x-should-retry'), null, 'trying again helps');
}

test('requests beyond rpm are refused, and each answer says in the dialect of its client how many are left', async (t) => {
  for (const [name, to, limit, remaining, reset] of [
    ['rpm-openai', CHAT, 'x-ratelimit-limit-requests', 'x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests'],
    [
      ...['rpm-anthropic', MESSAGES, 'anthropic-ratelimit-requests-limit'],
      ...['anthropic-ratelimit-requests-remaining', 'anthropic-ratelimit-requests-reset'],
    ],
  ] as const) {
    await makeEndpoint(gateway.owner, name ?? '', { model: 'echo', limits: { rpm: 3 } });
    for (const left of ['2', '1', '0']) {
      const { status, headers, text } = await ask(name ?? '', {}, to);
      t.is(status, 200, text);
      t.is(headers.get(limit ?? ''), '3');
      t.is(headers.get(remaining ?? ''), left);
    }
    const refused = await ask(name ?? '', {}, to);
    checkRefused(t, refused, /rpm/);
    t.is(refused.headers.get(remaining ?? ''), '0');
    const resets = refused.headers.get(reset ?? '') ?? '';
    if (to === CHAT) t.regex(resets, /^1m\d|^\d+(\.\d+)?s$/);
    else t.true(Date.parse(resets) > Date.now(), resets);
  }
});

test('requests that could use more tokens than tpm leaves are refused; what a request held and did not use is there again', async (t) => {
  const { owner } = gateway;
  await makeEndpoint(owner, 'tpm', { model: 'echo', limits: { tpm: 2_000 } });
  for (let i = 0; i < 3; i += 1) t.is((await ask('tpm', { max_tokens: 1_500 })).status, 200, 'it used next to nothing');
  const used = await ask('tpm', { max_tokens: 1_500, messages: told({ tokens: 1_200 }) });
  t.is(used.status, 200, used.text);
  t.is(used.headers.get('x-ratelimit-limit-tokens'), '2000');
  const refused = await ask('tpm', { max_tokens: 1_500 });
  checkRefused(t, refused, /tpm/);
  const left = Number(refused.headers.get('x-ratelimit-remaining-tokens'));
  t.true(left > 400 && left <= 800, `${left}`);
  const claude = await ask('tpm', { max_tokens: 1_500 }, MESSAGES);
  checkRefused(t, claude, /tpm/);
  t.is(claude.headers.get('anthropic-ratelimit-tokens-limit'), '2000');
  t.is((await ask('tpm', { max_tokens: 100 })).status, 200, 'a smaller one fits');
});

test('while as many streams run as maxConcurrent allows one more is refused; when one is left its place is free at once', async (t) => {
  const { owner } = gateway;
  await makeEndpoint(owner, 'concurrent', { model: 'echo', limits: { maxConcurrent: 2, rpm: 1_000 } });
  const slow = { model: 'endpoint/concurrent', max_tokens: 1_000, messages: told({ tokens: 1_000, rate: 20 }) };
  const streams = [await openStream(owner, CHAT, slow), await openStream(owner, CHAT, slow)];
  t.deepEqual(statusesOf(streams.map(({ response }) => response)), { 200: 2 });
  checkRefused(t, await ask('concurrent'), /maxConcurrent/);
  checkRefused(t, await ask('concurrent', {}, MESSAGES), /maxConcurrent/);
  streams[0]?.leave();
  await until('its place is free', async () => (await ask('concurrent')).status === 200, 3_000);
  streams[1]?.leave();
});

test('never more requests are under way than maxConcurrent, however many clients ask', async (t) => {
  const { owner, upstreams } = gateway;
  let [running, most, answered] = [0, 0, 0];
  upstreams.on('counted', (response) => {
    running += 1;
    most = Math.max(most, running);
    setTimeout(() => {
      running -= 1;
      answered += 1;
      json(response, 200, chatAnswer('Hi', { input: 1, output: 1 }));
    }, 10);
  });
  await makeEndpoint(owner, 'counted', { model: 'counted', limits: { maxConcurrent: 3, rpm: 100_000 } });
  const eager = async (): Promise<void> => {
    await until('it is admitted', async () => (await ask('counted')).status === 200);
  };
  await Promise.all(Array.from({ length: 30 }, eager));
  t.is(most, 3);
  t.is(answered, 30);
});

test('of what four clients in processes of their own ask in three seconds exactly as many requests are admitted as rpm says', async (t) => {
  const { owner } = gateway;
  await makeEndpoint(owner, 'loaded', { model: 'echo', limits: { rpm: 120, maxConcurrent: 256 } });
  const run = promisify(execFile);
  const clients = Array.from({ length: 4 }, async () => {
    const { stdout } = await run(process.execPath, [
      ...[LOAD_CLIENT, `${owner.url}${CHAT}`, owner.key, 'endpoint/loaded', '4', '3000'],
    ]);
    return parsed(stdout) as Record<string, number>;
  });
  const counts = await Promise.all(clients);
  const sum = (status: string): number => counts.reduce((all, one) => all + (one[status] ?? 0), 0);
  t.is(sum('200'), 120, JSON.stringify(counts));
  t.true(sum('429') > 0);
  t.deepEqual([...new Set(counts.flatMap((one) => Object.keys(one)))].toSorted(), ['200', '429']);
});

test('changed limits hold for the very next request, and what was used before counts', async (t) => {
  const { owner } = gateway;
  await makeEndpoint(owner, 'changed', { model: 'echo', limits: { rpm: 1 } });
  const change = async (limits: object): Promise<void> => {
    const { status, text } = await owner.merge(`${endpointsIn('default')}/changed`, { spec: { limits } });
    t.is(status, 200, text);
  };
  t.is((await ask('changed')).status, 200);
  t.is((await ask('changed')).status, 429);
  for (let rpm = 2; rpm < 12; rpm += 1) {
    await change({ rpm });
    t.is((await ask('changed')).status, 200, `rpm ${rpm}`);
    t.is((await ask('changed')).status, 429, `rpm ${rpm}`);
  }
  await change({ rpm: 100 });
  t.is((await ask('changed')).headers.get('x-svc-endpoint-generation'), '12');
  await change({ rpm: 5 });
  t.is((await ask('changed')).status, 429);
});
