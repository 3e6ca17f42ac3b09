/** Sound: recordings that are written down and texts that are spoken, by the official client, at the price that the model says. */
import test from 'ava';
import { toFile } from 'openai';
import { showUSD, USD } from '../../src/money/usd.js';
import { textAt, valueAt } from '../e2e/client.js';
import { until } from '../e2e/until.js';
import {
  makeEndpoint,
  NO_LIMITS,
  openaiOf,
  openStream,
  settledCost,
  shareGateway,
  usageOf,
  type Gateway,
} from './support/gateway.js';
import { priceOf } from './support/prices.js';
import { json, streamHead } from './support/upstreams.js';

const SPEECH = '/v1/audio/speech';
const TRANSCRIPTIONS = '/v1/audio/transcriptions';

let gateway: Gateway;
test.before(async () => {
  gateway = await shareGateway();
});
test.after.always(async () => gateway?.close());

/** Silence of so many seconds: 8,000 samples of a byte each. */
function wav(seconds: number): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(36 + seconds * 8_000, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8_000, 24);
  head.writeUInt32LE(8_000, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(seconds * 8_000, 40);
  return Buffer.concat([head, Buffer.alloc(Math.round(seconds * 8_000), 0x80)]);
}

const frame = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;

test.serial(
  'a recording is written down: the file goes to the upstream as it came, whatever stands before it, and its seconds are charged',
  async (t) => {
    const { owner, service, upstreams } = gateway;
    upstreams.on('hears-seconds', (response) =>
      json(response, 200, { text: 'Hello', usage: { type: 'duration', seconds: 7 } }),
    );
    const uid = await makeEndpoint(owner, 'hears', { model: 'hears-seconds', limits: NO_LIMITS });
    const sound = wav(10);
    const client = openaiOf(owner, owner.key);
    const file = await toFile(sound, 'a “b".wav', { type: 'audio/wav' });
    // The client sends the fields in the order of the call.
    const answer = await client.audio.transcriptions
      .create({ file, language: 'en', model: 'endpoint/hears', timestamp_granularities: ['word'] })
      .withResponse();
    t.is(answer.data.text, 'Hello');
    t.is(answer.response.headers.get('x-svc-cost-usd'), '0.07');
    t.is(await settledCost(service, uid), '0.07');
    const seen = upstreams.seen('hears-seconds').at(-1);
    t.is(seen?.path, '/hears-seconds/v1/audio/transcriptions');
    const { text = '' } = seen ?? {};
    // Without the samples, which would fill the page.
    const shown = text.slice(0, text.indexOf('RIFF') + 4);
    t.regex(shown, /name="model"\r\n\r\nvendor-hears-seconds\r\n/);
    t.regex(shown, /name="language"\r\n\r\nen\r\n/);
    t.regex(shown, /name="timestamp_granularities\[\]"\r\n\r\nword\r\n/);
    t.regex(shown, /name="file"; filename="a _b_[^"]*wav"\r\nContent-Type: audio\/wav\r\n\r\nRIFF/);
    t.is(seen?.headers.authorization, 'Bearer sk-operator-5d1f0c9b');
    // At least as many as are charged always.
    upstreams.on('hears-seconds', (response) =>
      json(response, 200, { text: '', usage: { type: 'duration', seconds: 0.4 } }),
    );
    const brief = await client.audio.transcriptions
      .create({ file: await toFile(wav(1), 'a.wav'), model: 'hears-seconds' })
      .withResponse();
    t.is(brief.response.headers.get('x-svc-cost-usd'), '0.02');
    // Nothing is reported: what the samples take. More is reported than can be: what was held.
    upstreams.on(
      'hears-seconds',
      (response) => void response.writeHead(200, { 'content-type': 'text/plain' }).end('Hello\n'),
    );
    const plain = await client.audio.transcriptions
      .create({ file: await toFile(sound, 'a.wav'), model: 'hears-seconds', response_format: 'text' })
      .withResponse();
    t.is(plain.data, 'Hello\n');
    t.is(plain.response.headers.get('x-svc-cost-usd'), '0.10006', 'ten seconds, and a header that counts as sound');
    upstreams.on('hears-seconds', (response) => json(response, 200, { text: '', duration: 5_000 }));
    const long = await client.audio.transcriptions
      .create({ file: await toFile(sound, 'a.wav'), model: 'hears-seconds' })
      .withResponse();
    t.is(long.response.headers.get('x-svc-cost-usd'), '0.10006');
    await until('the status shows it', async () => (await usageOf(owner, 'hears')).requests === 1);
  },
);

test.serial('a transcription comes in events, and is charged by the tokens that the last one tells', async (t) => {
  const { owner, service, upstreams } = gateway;
  upstreams.on('hears-tokens', (response) => {
    streamHead(response);
    const usage = { type: 'tokens', input_tokens: 30, output_tokens: 4, total_tokens: 34 };
    response.end(
      frame({ type: 'transcript.text.delta', delta: 'Hel' }) +
        frame({ type: 'transcript.text.delta', delta: 'lo' }) +
        frame({ type: 'transcript.text.done', text: 'Hello', usage }),
    );
  });
  const uid = await makeEndpoint(owner, 'hears-tokens', { model: 'hears-tokens', limits: NO_LIMITS });
  const stream = await openaiOf(owner, owner.key).audio.transcriptions.create({
    ...{ file: await toFile(wav(2), 'a.wav'), model: 'endpoint/hears-tokens', stream: true as const },
  });
  const types: string[] = [];
  for await (const { type } of stream) types.push(type);
  t.deepEqual(types, ['transcript.text.delta', 'transcript.text.delta', 'transcript.text.done']);
  t.is(await settledCost(service, uid), priceOf(30, 4).toFixed());
});

test.serial('a text is spoken as it comes, and its characters are charged, also to who leaves', async (t) => {
  const { owner, service, upstreams } = gateway;
  const sound = Buffer.alloc(300_000, 7);
  upstreams.on(
    'speaks-characters',
    (response) => void response.writeHead(200, { 'content-type': 'audio/mpeg' }).end(sound),
  );
  const uid = await makeEndpoint(owner, 'speaks', { model: 'speaks-characters', limits: NO_LIMITS });
  const asked = { model: 'endpoint/speaks', input: 'x'.repeat(1_000), voice: 'alloy' } as const;
  const answer = await openaiOf(owner, owner.key).audio.speech.create(asked);
  t.is(answer.headers.get('content-type'), 'audio/mpeg');
  t.is(answer.headers.get('x-svc-cost-usd'), '0.015');
  t.true(Buffer.from(await answer.arrayBuffer()).equals(sound));
  t.is(await settledCost(service, uid), '0.015');
  t.deepEqual(upstreams.seen('speaks-characters').at(-1)?.body, { ...asked, model: 'vendor-speaks-characters' });
  upstreams.on('speaks-characters', (response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg' });
    response.write(sound);
  });
  const leaving = await openStream(owner, SPEECH, asked);
  t.is(leaving.response.status, 200);
  leaving.leave();
  await until('the upstream is given up', () => upstreams.seen('speaks-characters').at(-1)?.left === true);
  t.is(await settledCost(service, uid), '0.03');
  upstreams.on('speaks-characters', (response) => json(response, 500, { error: { message: 'no' } }));
  t.is((await owner.post(SPEECH, asked)).status, 503);
  t.is(await settledCost(service, uid), '0.03', 'what fails costs nothing');
});

test.serial('speech that is billed by tokens is asked for in events, which tell them', async (t) => {
  const { owner, service, upstreams } = gateway;
  upstreams.on('speaks-tokens', (response) => {
    streamHead(response);
    const usage = { input_tokens: 9, output_tokens: 50, total_tokens: 59 };
    response.end(frame({ type: 'speech.audio.delta', audio: 'AAAA' }) + frame({ type: 'speech.audio.done', usage }));
  });
  const uid = await makeEndpoint(owner, 'speaks-tokens', { model: 'speaks-tokens', limits: NO_LIMITS });
  const asked = { model: 'endpoint/speaks-tokens', input: 'Hello', voice: 'alloy' };
  const refused = await owner.post(SPEECH, asked);
  t.is(refused.status, 400, refused.text);
  t.is(textAt(refused.body, 'error', 'param'), 'stream_format');
  const stream = await openStream(owner, SPEECH, { ...asked, stream_format: 'sse' });
  t.is(await stream.ended, 'End');
  t.regex(stream.text(), /speech\.audio\.delta[^]*speech\.audio\.done/);
  t.is(await settledCost(service, uid), priceOf(9, 50).toFixed());
});

test.serial(
  'a recording of 30 MB passes without being in memory, and a cap holds what it may cost before the upstream is asked',
  async (t) => {
    const { owner, upstreams } = gateway;
    upstreams.on('hears-seconds', (response) =>
      json(response, 200, { text: 'long', usage: { type: 'duration', seconds: 3_000 } }),
    );
    const sound = wav(3_750);
    const form = new FormData();
    form.set('file', new Blob([new Uint8Array(sound)]), 'long.wav');
    form.set('model', 'endpoint/hears-capped');
    await makeEndpoint(owner, 'hears-capped', { model: 'hears-seconds', limits: NO_LIMITS, maxCostUSD: '40.00' });
    const send = () =>
      fetch(new URL(TRANSCRIPTIONS, owner.url), {
        method: 'POST',
        headers: { authorization: `Bearer ${owner.key}` },
        body: form,
      });
    const answer = await send();
    t.is(answer.status, 200, await answer.clone().text());
    t.is(answer.headers.get('x-svc-cost-usd'), showUSD(new USD('30')));
    const before = upstreams.seen('hears-seconds').length;
    const second = await send();
    t.is(second.status, 402, 'ten are left, and it may cost 37.50');
    t.is(upstreams.seen('hears-seconds').length, before);
  },
);

test.serial(
  'what is no form, no sound or not for this model is refused by its field, in the dialect of the client',
  async (t) => {
    const { owner } = gateway;
    const send = async (
      fields: Readonly<Record<string, string | Blob>>,
    ): Promise<{ status: number; body: unknown }> => {
      const form = new FormData();
      for (const [name, value] of Object.entries(fields)) form.append(name, value);
      const headers = { authorization: `Bearer ${owner.key}` };
      const answer = await fetch(new URL(TRANSCRIPTIONS, owner.url), { method: 'POST', headers, body: form });
      return { status: answer.status, body: await answer.json() };
    };
    const file = new Blob([new Uint8Array(wav(1))]);
    const cases: readonly (readonly [Readonly<Record<string, string | Blob>>, number, string | null])[] = [
      [{ model: 'hears-seconds' }, 400, 'file'],
      [{ file }, 400, 'model'],
      [{ file, model: 'none' }, 404, 'model'],
      [{ file, model: 'echo' }, 400, 'model'],
      [{ file, model: 'hears-seconds', base_url: 'http://x' }, 400, 'base_url'],
      [{ file, model: 'hears-seconds', Model: 'x' }, 400, 'Model'],
      [{ file: new Blob([]), model: 'hears-seconds' }, 400, 'file'],
      [{ sound: file, model: 'hears-seconds' }, 400, 'file'],
    ];
    for (const [fields, status, param] of cases) {
      const answer = await send(fields);
      const label = Object.keys(fields).join();
      t.is(answer.status, status, `${label}: ${JSON.stringify(answer.body)}`);
      t.is(valueAt(answer.body, 'error', 'param') as string | null, param, label);
    }
    const plain = await owner.post(TRANSCRIPTIONS, { model: 'hears-seconds' });
    t.is(plain.status, 415, plain.text);
    const broken = await fetch(new URL(TRANSCRIPTIONS, owner.url), {
      ...{ method: 'POST', body: 'no form at all' },
      headers: { authorization: `Bearer ${owner.key}`, 'content-type': 'multipart/form-data; boundary=x' },
    });
    t.is(broken.status, 400, await broken.text());
    for (const [body, param] of [
      [{ model: 'speaks-characters', voice: 'a' }, 'input'],
      [{ model: 'speaks-characters', input: '' }, 'input'],
      [{ model: 'speaks-characters', input: 'a', stream_format: 'x' }, 'stream_format'],
      [{ model: 'hears-seconds', input: 'a' }, 'model'],
    ] as const) {
      const answer = await owner.post(SPEECH, body);
      t.is(answer.status, 400, answer.text);
      t.is(textAt(answer.body, 'error', 'param'), param);
    }
  },
);
