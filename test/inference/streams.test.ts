/** Streams of a running service whose upstreams misbehave: what passes as it came, and what ends with an error that the client sees. */
import test, { type ExecutionContext } from 'ava';
import { path, textAt, valueAt } from '../e2e/client.js';
import { until } from '../e2e/until.js';
import {
  anthropicOf,
  CHAT,
  makeKey,
  MESSAGES,
  openaiOf,
  openStream,
  said,
  shareGateway,
  told,
  type Gateway,
} from './support/gateway.js';
import {
  chatAnswer,
  chunk,
  DONE,
  event,
  json,
  messageBegin,
  messageEnd,
  streamHead,
  textDelta,
  usageChunk,
  type Answering,
} from './support/upstreams.js';

let gateway: Gateway;
test.before(async () => {
  gateway = await shareGateway();
});
test.after.always(async () => gateway?.close());

const USED = { input: 2, output: 4 };
const TEXT = 'aé…🥊';

function request(model: string): { model: string; max_tokens: number; messages: ReturnType<typeof said> } {
  return { model, max_tokens: 50, messages: said('Hello') };
}

/** Sends each byte by itself. */
function byteByByte(text: string): Answering {
  return async (response) => {
    streamHead(response);
    response.socket?.setNoDelay(true);
    for (const byte of Buffer.from(text)) {
      response.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  };
}

/** Sends this, and closes the connection in the middle of the answer. */
function closing(bytes: string | Buffer): Answering {
  return (response) => {
    streamHead(response);
    response.write(bytes, () => response.destroy());
  };
}

function whole(text: string | Buffer): Answering {
  return (response) => {
    streamHead(response);
    response.end(text);
  };
}

test('a stream that comes byte by byte, characters in pieces, reaches both clients whole', async (t) => {
  const { owner, upstreams } = gateway;
  const crlf = (chunk(TEXT) + chunk('', 'stop') + usageChunk(USED) + DONE).replaceAll('\n', '\r\n');
  upstreams.on('trickle-bytes', byteByByte(`: a comment\r\n\r\n${crlf}`));
  const chat = openaiOf(owner, owner.key).chat.completions.stream({ ...request('trickle-bytes') });
  t.is((await chat.finalChatCompletion()).choices[0]?.message.content, TEXT);
  upstreams.on('trickle-claude', byteByByte(messageBegin(2) + event('ping') + textDelta(TEXT) + messageEnd(4)));
  const message = await anthropicOf(owner, owner.key).messages.stream(request('trickle-claude')).finalMessage();
  t.like(message.content[0], { text: TEXT });
});

/** The end of a stream in OpenAI's dialect: what came is there, then an error, and nothing that looks like a good end. */
async function checkBroken(
  t: ExecutionContext,
  model: string,
  before: string,
  named = /upstream failed/,
): Promise<void> {
  const { owner } = gateway;
  const raw = await openStream(owner, CHAT, request(model));
  t.is(raw.response.status, 200);
  t.is(await raw.ended, 'End', 'the connection itself ends well');
  t.false(raw.text().includes('[DONE]'), raw.text());
  const frames = raw.text().trimEnd().split('\n\n');
  const last: unknown = JSON.parse(frames.at(-1)?.replace('data: ', '') ?? '');
  t.regex(textAt(last, 'error', 'message'), named, raw.text());
  t.is(textAt(last, 'error', 'code'), 'Unavailable');
  let text = '';
  const client = await openaiOf(owner, owner.key).chat.completions.create({ ...request(model), stream: true });
  const error = await t.throwsAsync(async () => {
    for await (const part of client) text += part.choices[0]?.delta.content ?? '';
  });
  t.regex(error?.message ?? '', named);
  t.is(text, before);
}

test('a stream that is closed in its middle ends with an error, not as if it were whole', async (t) => {
  const { owner, upstreams } = gateway;
  upstreams.on('cut-off', closing(chunk('Hi')));
  await checkBroken(t, 'cut-off', 'Hi');
  upstreams.on('cut-off-claude', closing(messageBegin(2) + textDelta('Hi')));
  let text = '';
  const stream = anthropicOf(owner, owner.key).messages.stream(request('cut-off-claude'));
  stream.on('text', (delta) => {
    text += delta;
  });
  const error = await t.throwsAsync(stream.finalMessage());
  t.regex(error?.message ?? '', /upstream failed/);
  t.is(text, 'Hi');
});

test('an upstream whose streams break three times in a row is left alone for a while', async (t) => {
  const { owner, upstreams } = gateway;
  for (const [name, breaking] of [
    ['breaks-off', closing(chunk('Hi'))],
    ['breaks-silent', (response) => (streamHead(response), response.write(chunk('Hi')))],
    ['breaks-nonsense', whole('data: {\n\n')],
  ] as readonly (readonly [string, Answering])[]) {
    upstreams.on(name, breaking);
    for (let i = 0; i < 3; i += 1) await (await openStream(owner, CHAT, request(name))).ended;
    const { status, headers } = await owner.post(CHAT, request(name));
    t.is(status, 503, name);
    t.not(headers.get('retry-after'), null);
    t.is(upstreams.seen(name).length, 3, name);
  }
});

test('a stream that ends without its last event ends with an error', async (t) => {
  gateway.upstreams.on('no-end', whole(chunk('Hi') + chunk('', 'stop')));
  await checkBroken(t, 'no-end', 'Hi');
});

test('a stream whose last line has no end is whole, as servers leave it out', async (t) => {
  const { owner, upstreams } = gateway;
  upstreams.on('no-newline', whole(`${chunk('Hi')}${chunk('', 'stop')}${usageChunk(USED)}data: [DONE]`));
  const raw = await openStream(owner, CHAT, request('no-newline'));
  t.is(await raw.ended, 'End');
  t.is(raw.text(), chunk('Hi') + chunk('', 'stop') + DONE);
});

test('a stream that stops in the middle of a character ends with an error', async (t) => {
  const half = Buffer.from(chunk('é')).subarray(0, Buffer.from(chunk('é')).indexOf(0xc3) + 1);
  gateway.upstreams.on('cut-character', closing(Buffer.concat([Buffer.from(chunk('Hi')), half])));
  await checkBroken(t, 'cut-character', 'Hi');
});

test('what came before a frame that is none is there, and then an error', async (t) => {
  const { upstreams } = gateway;
  upstreams.on('nonsense', whole(`${chunk('Hi')}data: {"choices": [\n\n${DONE}`));
  await checkBroken(t, 'nonsense', 'Hi');
  upstreams.on('no-utf8', whole(Buffer.from(`${chunk('Hi')}data: "\xff"\n\n${DONE}`, 'latin1')));
  await checkBroken(t, 'no-utf8', 'Hi');
});

test('an error that an upstream sends into its stream ends it, in the dialect of the client', async (t) => {
  const { owner, upstreams } = gateway;
  upstreams.on('fails', whole(`${chunk('Hi')}data: {"error": {"message": "the engine is out of memory"}}\n\n`));
  await checkBroken(t, 'fails', 'Hi', /out of memory/);
  const failed = event('error', { error: { type: 'overloaded_error', message: 'Overloaded' } });
  upstreams.on('fails-claude', whole(messageBegin(2) + textDelta('Hi') + failed));
  const raw = await openStream(owner, MESSAGES, request('fails-claude'));
  await raw.ended;
  t.regex(
    raw.text(),
    /event: error\ndata: \{"type":"error","error":\{"type":"overloaded_error","message":"[^"]*Overloaded/,
  );
  t.false(raw.text().includes('message_stop'));
});

test('an upstream that falls silent is given up after its idle time', async (t) => {
  const { upstreams } = gateway;
  upstreams.on('stalled', (response) => {
    streamHead(response);
    response.write(chunk('Hi'));
  });
  await checkBroken(t, 'stalled', 'Hi');
  await until('both requests are given up', () => upstreams.seen('stalled').every(({ left }) => left));
  t.is(upstreams.seen('stalled').length, 2);
});

test('lines of 4 MiB pass as they are', async (t) => {
  const { owner, upstreams } = gateway;
  const long = 'é'.repeat(2 * 2 ** 20);
  const frame = `data: {"choices":[],"citations":"${long}"}\n\n`;
  upstreams.on('lines', whole(frame + chunk('Hi', 'stop') + usageChunk(USED) + DONE));
  const raw = await openStream(owner, CHAT, request('lines'));
  t.is(await raw.ended, 'End');
  t.true(raw.text() === frame + chunk('Hi', 'stop') + DONE, raw.text().slice(-400));
  // No 50 tokens are as long as that.
  upstreams.on('lines', whole(chunk(long) + usageChunk(USED) + DONE));
  const cut = await openStream(owner, CHAT, request('lines'));
  await cut.ended;
  t.regex(cut.text(), /^data: \{"error":\{[^\n]*more than the request was admitted for/);
});

test('the streams of a key that is deleted end within two seconds, with an error that says why', async (t) => {
  const { owner } = gateway;
  const key = await makeKey(owner, 'to-be-deleted', { scopes: ['inference:invoke'] });
  const slow = { model: 'echo', max_tokens: 1_000, messages: told({ tokens: 1_000, rate: 20 }) };
  const chat = await openStream({ ...owner, key }, CHAT, slow);
  const message = await openStream({ ...owner, key }, MESSAGES, slow);
  const stays = await openStream(owner, CHAT, slow);
  await until('all have begun', () => [chat, message, stays].every((one) => one.text().includes('echo')));
  t.is((await owner.remove(`${path('apikeys', '')}/to-be-deleted`)).status, 200);
  const began = performance.now();
  t.deepEqual(await Promise.all([chat.ended, message.ended]), ['End', 'End']);
  t.true(performance.now() - began < 2_000, `${performance.now() - began} ms`);
  t.regex(chat.text(), /"error":\{[^\n]*"type":"authentication_error"[^\n]*"code":"Unauthorized"/);
  t.regex(message.text(), /event: error\ndata: \{"type":"error","error":\{"type":"authentication_error"/);
  t.is((await owner.ask('POST', CHAT, { body: slow, key })).status, 401);
  const length = stays.text().length;
  await until('the other goes on', () => stays.text().length > length);
  stays.leave();
});

test('a whole answer whose key is deleted meanwhile is 401, and is no fault of the upstream', async (t) => {
  const { owner, upstreams } = gateway;
  const key = await makeKey(owner, 'deleted-meanwhile', { scopes: ['inference:invoke'] });
  const half = JSON.stringify(chatAnswer('Hi', USED)).slice(0, 40);
  upstreams.on('revoked-whole', (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write(half);
  });
  const asked = Array.from({ length: 4 }, () => owner.ask('POST', CHAT, { body: request('revoked-whole'), key }));
  await until('all are under way', () => upstreams.seen('revoked-whole').length === 4);
  await owner.remove(`${path('apikeys', '')}/deleted-meanwhile`);
  for (const { status, body, text } of await Promise.all(asked)) {
    t.is(status, 401, text);
    t.is(valueAt(body, 'error', 'code'), 'Unauthorized');
  }
  await until('all are given up', () => upstreams.seen('revoked-whole').every(({ left }) => left));
  upstreams.on('revoked-whole', (response) => json(response, 200, chatAnswer('Hi', USED)));
  const next = await owner.post(CHAT, request('revoked-whole'));
  t.is(next.status, 200, next.text);
});
