/** Sound: recordings that are written down and texts that are spoken, by the official client, at the price that the model says. */
import test from 'ava';
import { connect } from 'node:net';
import { APIError, toFile } from 'openai';
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
    // More is reported than can be: what was held is charged, and nobody gets it.
    upstreams.on('hears-seconds', (response) => json(response, 200, { text: 'much', duration: 5_000 }));
    const long = await t.throwsAsync(
      client.audio.transcriptions.create({ file: await toFile(sound, 'a.wav'), model: 'endpoint/hears' }),
      { instanceOf: APIError },
    );
    t.is(long?.status, 402);
    t.is(long?.headers?.get('x-svc-cost-usd'), '0.11', 'ten seconds, and a header that counts as sound');
    t.is(await settledCost(service, uid), '0.18');
    // What breaks off in the middle costs nothing.
    upstreams.on(
      'hears-seconds',
      (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{"text":"Hel'),
    );
    await t.throwsAsync(
      client.audio.transcriptions.create({ file: await toFile(sound, 'a.wav'), model: 'endpoint/hears' }),
    );
    t.is(await settledCost(service, uid), '0.18');
    // Servers round up.
    upstreams.on('hears-seconds', (response) =>
      json(response, 200, { text: 'Hi', usage: { type: 'duration', seconds: 3 } }),
    );
    const odd = await client.audio.transcriptions
      .create({ file: await toFile(wav(2.5), 'a.wav'), model: 'hears-seconds' })
      .withResponse();
    t.is(odd.response.headers.get('x-svc-cost-usd'), '0.03');
    await until('the status shows it', async () => (await usageOf(owner, 'hears')).requests >= 3);
  },
);

test.serial(
  'the seconds are told whatever form is asked for: a text comes as JSON first, subtitles have their times, and else the file tells',
  async (t) => {
    const { owner, upstreams } = gateway;
    const client = openaiOf(owner, owner.key);
    const send = async (response_format: 'text' | 'srt' | 'vtt' | 'json', bytes: Buffer = Buffer.alloc(8_000, 1)) =>
      client.audio.transcriptions
        .create({ file: await toFile(bytes, 'a.ogg'), model: 'hears-seconds', response_format })
        .withResponse();
    const says = (type: string, text: string): void =>
      upstreams.on('hears-seconds', (response) => void response.writeHead(200, { 'content-type': type }).end(text));
    says('application/json', JSON.stringify({ text: 'Hello', usage: { type: 'duration', seconds: 9 } }));
    const text = await send('text');
    t.is(JSON.stringify(text.data), JSON.stringify('Hello\n'));
    t.is(text.response.headers.get('content-type'), 'text/plain; charset=utf-8');
    t.is(text.response.headers.get('x-svc-cost-usd'), '0.09');
    t.regex(upstreams.seen('hears-seconds').at(-1)?.text ?? '', /name="response_format"\r\n\r\njson\r\n/);
    says('text/plain', '1\n00:00:00,000 --> 00:00:04,000\nHel\n\n2\n00:00:04,000 --> 00:00:12,500\nlo\n');
    t.is((await send('srt')).response.headers.get('x-svc-cost-usd'), '0.125');
    says('text/vtt', 'WEBVTT\n\n00:00.000 --> 00:11.000\nHello\n');
    t.is((await send('vtt')).response.headers.get('x-svc-cost-usd'), '0.11');
    says('application/json', JSON.stringify({ text: 'Hello' }));
    t.is((await send('json')).response.headers.get('x-svc-cost-usd'), '0.02', 'a second for each 4,000 bytes');
    t.is((await send('json', wav(10))).response.headers.get('x-svc-cost-usd'), '0.10006', 'what its samples take');
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
  const events: unknown[] = [];
  for await (const event of stream) events.push(event);
  t.deepEqual(
    events.map((event) => textAt(event, 'type')),
    ['transcript.text.delta', 'transcript.text.delta', 'transcript.text.done'],
  );
  t.is(textAt(events[2], 'usage', 'x-svc-cost-usd'), priceOf(30, 4).toFixed());
  t.is(await settledCost(service, uid), priceOf(30, 4).toFixed());
});

test.serial(
  'a text is spoken as it comes, and its characters are charged, also to who leaves or has got a part of it',
  async (t) => {
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
    let breakOff = (): void => undefined;
    upstreams.on('speaks-characters', (response) => {
      response.writeHead(200, { 'content-type': 'audio/mpeg' });
      response.write(sound);
      breakOff = () => void response.destroy();
    });
    const emoji = { ...asked, input: '\u{1f600}'.repeat(1_000) };
    const breaking = await openStream(owner, SPEECH, emoji);
    await until('some of it is there', () => breaking.text().length > 0);
    breakOff();
    t.not(await breaking.ended, 'End');
    t.is(await settledCost(service, uid), '0.045', 'some of it was spoken; a sign of two units is one character');
  },
);

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
  t.true(stream.text().includes(`"x-svc-cost-usd":"${priceOf(9, 50).toFixed()}"`), stream.text());
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
      [{ file, model: 'hears-seconds', stream: 'True' }, 400, 'stream'],
      [{ file, model: 'hears-seconds', stream: '1' }, 400, 'stream'],
      [{ file, model: 'hears-seconds', url: 'data:audio/wav;base64,AAAA' }, 400, 'url'],
      [{ file, model: 'hears-seconds', file_id: 'file-1' }, 400, 'file_id'],
      [{ file, model: 'hears-seconds', service_tier: 'priority' }, 400, 'service_tier'],
    ];
    for (const [fields, status, param] of cases) {
      const answer = await send(fields);
      const label = Object.keys(fields).join();
      t.is(answer.status, status, `${label}: ${JSON.stringify(answer.body)}`);
      t.is(valueAt(answer.body, 'error', 'param') as string | null, param, label);
    }
    const twice = new FormData();
    for (const stream of ['true', 'false']) twice.append('stream', stream);
    const refused = await fetch(new URL(TRANSCRIPTIONS, owner.url), {
      ...{ method: 'POST', headers: { authorization: `Bearer ${owner.key}` }, body: twice },
    });
    t.is(refused.status, 400);
    t.is(textAt(await refused.json(), 'error', 'param'), 'stream');
    // A parser takes far longer over parts than over bytes, and a part may have no name.
    for (const part of ['\r\n\r\n', (n: number) => `\r\nContent-Disposition: form-data; name="f${n}"\r\n\r\nx\r\n`]) {
      const parts = Array.from({ length: 200_000 }, (_, n) => `--B${typeof part === 'string' ? part : part(n)}`);
      const began = performance.now();
      const many = await fetch(new URL(TRANSCRIPTIONS, owner.url), {
        ...{ method: 'POST', body: `${parts.join('')}--B--\r\n` },
        headers: { authorization: `Bearer ${owner.key}`, 'content-type': 'multipart/form-data; boundary=B' },
      }).catch(() => undefined);
      t.log(`${Math.round(performance.now() - began)} ms`);
      // It may be cut while it is still being sent.
      if (many !== undefined) t.is(many.status, 400);
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
      [{ model: 'speaks-characters', input: 'a', ref_audio: 'http://10.0.0.1/a.wav' }, 'ref_audio'],
      [{ model: 'hears-seconds', input: 'a' }, 'model'],
    ] as const) {
      const answer = await owner.post(SPEECH, body);
      t.is(answer.status, 400, answer.text);
      t.is(textAt(answer.body, 'error', 'param'), param);
    }
  },
);

test.serial(
  'forms that end with their connection keep no place: after hundreds of them, the next recording is taken',
  async (t) => {
    const { owner, upstreams } = gateway;
    upstreams.on('hears-seconds', (response) => json(response, 200, { text: 'Hello', duration: 1 }));
    const { hostname, port } = new URL(owner.url);
    // One byte is announced: what comes behind it is no request, and ends the connection while the file is opened.
    const request = [
      `POST ${TRANSCRIPTIONS} HTTP/1.1`,
      ...['Host: localhost', `Authorization: Bearer ${owner.key}`, 'Content-Length: 1'],
      ...['Content-Type: multipart/form-data; boundary=X', '', '--X'],
    ].join('\r\n');
    const send = (): Promise<void> =>
      new Promise((resolve) => {
        const socket = connect(Number(port), hostname, () => socket.write(request));
        socket.on('error', () => undefined).on('close', () => resolve());
        socket.resume();
      });
    for (let round = 0; round < 10; round += 1) await Promise.all(Array.from({ length: 30 }, send));
    const answer = await openaiOf(owner, owner.key).audio.transcriptions.create({
      file: await toFile(wav(1), 'a.wav'),
      model: 'hears-seconds',
    });
    t.is(answer.text, 'Hello');
  },
);

test.serial(
  'who leaves a transcription pays for the recording that was taken, and who leaves speech for the sound until then',
  async (t) => {
    const { owner, service, upstreams } = gateway;
    upstreams.on('hears-seconds', (response) => {
      streamHead(response);
      response.write(frame({ type: 'transcript.text.delta', delta: 'Hello '.repeat(50) }));
      // Behind more output than a chat is read on for.
      void until('the client has left', () => left).then(() => {
        response.write(frame({ type: 'transcript.text.delta', delta: 'world '.repeat(50) }));
        response.end(frame({ type: 'transcript.text.done', text: '', usage: { type: 'duration', seconds: 9 } }));
      });
    });
    let left = false;
    const uid = await makeEndpoint(owner, 'left-hearing', { model: 'hears-seconds', limits: NO_LIMITS });
    const form = new FormData();
    form.set('file', new Blob([new Uint8Array(wav(10))]), 'a.wav');
    form.set('model', 'endpoint/left-hearing');
    form.set('stream', 'true');
    const abort = new AbortController();
    const answer = await fetch(new URL(TRANSCRIPTIONS, owner.url), {
      ...{ method: 'POST', body: form, signal: abort.signal, headers: { authorization: `Bearer ${owner.key}` } },
    });
    await answer.body?.getReader().read();
    abort.abort();
    left = true;
    t.is(await settledCost(service, uid), '0.09');

    upstreams.on('speaks-tokens', (response) => {
      streamHead(response);
      response.write(frame({ type: 'speech.audio.delta', audio: Buffer.alloc(40_000).toString('base64') }));
    });
    const speaking = await makeEndpoint(owner, 'left-speaking', { model: 'speaks-tokens', limits: NO_LIMITS });
    const asked = { model: 'endpoint/left-speaking', input: 'x'.repeat(400), voice: 'a', stream_format: 'sse' };
    const stream = await openStream(owner, SPEECH, asked);
    await until('sound has come', () => stream.text().length > 40_000);
    stream.leave();
    const cost = new USD(await settledCost(service, speaking));
    t.true(
      cost.billionths >= new USD(priceOf(0, 100).toFixed()).billionths,
      `${showUSD(cost)}: 40,000 bytes of MP3 are a hundred tokens`,
    );
  },
);
