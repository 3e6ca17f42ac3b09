/** What a request is charged when its client leaves, its upstream reports oddly, or goes too far: what was produced, and never more than was held. */
import test from 'ava';
import { showUSD, USD } from '../../src/money/usd.js';
import { until } from '../e2e/until.js';
import {
  CHAT,
  inDatabase,
  ledgerOf,
  makeEndpoint,
  MESSAGES,
  NO_LIMITS,
  openStream,
  said,
  settledCost,
  shareGateway,
  usageOf,
  type Gateway,
} from './support/gateway.js';
import { holdOf, ONE, priceOf } from './support/prices.js';
import {
  chatAnswer,
  chunk,
  DONE,
  event,
  json,
  messageBegin,
  streamHead,
  textDelta,
  usageChunk,
} from './support/upstreams.js';

let gateway: Gateway;
test.before(async () => {
  gateway = await shareGateway();
});
test.after.always(async () => gateway?.close());

test('a client that leaves a stream pays for what was produced until then, and the upstream is given up', async (t) => {
  const { owner, service, upstreams } = gateway;
  const uid = await makeEndpoint(owner, 'left', { model: 'left-early', limits: NO_LIMITS });
  upstreams.on('left-early', (response) => {
    streamHead(response);
    response.write(chunk('x'.repeat(30)));
  });
  const body = { model: 'endpoint/left', messages: said('Hello'), max_tokens: 100 };
  const stream = await openStream(owner, CHAT, body);
  await until('the first chunk is there', () => stream.text().includes('xxx'));
  stream.leave();
  await until('the upstream sees it', () => upstreams.seen('left-early')[0]?.left === true);
  // Nothing was reported: three bytes of what went in and of what came out count as a token.
  const bytes = Buffer.byteLength(JSON.stringify({ ...body, stream: true }));
  t.is(await settledCost(service, uid), priceOf(Math.ceil(bytes / 3), 10).toFixed());
});

test('an upstream that goes on when its client has left is given up after a few words, which are paid', async (t) => {
  const { owner, service, upstreams } = gateway;
  const uid = await makeEndpoint(owner, 'left-running', { model: 'left-running', limits: NO_LIMITS });
  upstreams.on('left-running', (response) => {
    streamHead(response);
    const timer = setInterval(() => response.write(chunk('x'.repeat(30))), 5);
    response.on('close', () => clearInterval(timer));
  });
  const body = { model: 'endpoint/left-running', messages: said('Hello'), max_tokens: 1_000 };
  const stream = await openStream(owner, CHAT, body);
  await until('the first chunk is there', () => stream.text().includes('xxx'));
  stream.leave();
  await until('the upstream sees it', () => upstreams.seen('left-running')[0]?.left === true);
  t.true(new USD(await settledCost(service, uid)).lt(holdOf({ ...body, stream: true }, 1_000)));
});

test('who leaves a stream after its last word pays for the reasoning that was not shown, in both dialects', async (t) => {
  const { owner, service, upstreams } = gateway;
  const late = { input: 20, output: 90 };
  const cases = [
    ['left-late', CHAT, chunk('Hi', 'stop'), usageChunk(late) + DONE],
    [
      'left-late-claude',
      MESSAGES,
      messageBegin(late.input) + textDelta('Hi') + event('content_block_stop', { index: 0 }),
      event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: late.output } }) +
        event('message_stop'),
    ],
  ] as const;
  for (const [name, route, words, rest] of cases) {
    const uid = await makeEndpoint(owner, name, { model: name, limits: NO_LIMITS });
    let finish = (): void => undefined;
    upstreams.on(name, (response) => {
      streamHead(response);
      response.write(words);
      finish = () => void response.end(rest);
    });
    const stream = await openStream(owner, route, {
      model: `endpoint/${name}`,
      messages: said('Hello'),
      max_tokens: 100,
    });
    await until('its last word is there', () => stream.text().includes('Hi'));
    stream.leave();
    await stream.ended;
    finish();
    t.is(await settledCost(service, uid), priceOf(late.input, late.output).toFixed(), name);
  }
});

test('an upstream that reports no input is charged the input of our count, and one that reports nothing is counted for the client too', async (t) => {
  const { owner, service, upstreams } = gateway;
  const claude = await makeEndpoint(owner, 'half-told', { model: 'half-told-claude', limits: NO_LIMITS });
  upstreams.on('half-told-claude', (response) => {
    streamHead(response);
    response.end(
      event('message_start', { message: { id: 'msg_1', role: 'assistant', content: [] } }) +
        event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
        textDelta('Hi') +
        event('content_block_stop', { index: 0 }) +
        event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } }) +
        event('message_stop'),
    );
  });
  const asked = { model: 'endpoint/half-told', messages: said('Hello'), max_tokens: 100 };
  await (
    await openStream(owner, MESSAGES, asked)
  ).ended;
  const input = Math.ceil(Buffer.byteLength(JSON.stringify({ ...asked, stream: true })) / 3);
  t.is(await settledCost(service, claude), priceOf(input, 4).toFixed());

  const uid = await makeEndpoint(owner, 'tells-nothing', { model: 'tells-nothing', limits: NO_LIMITS });
  upstreams.on('tells-nothing', (response) => {
    streamHead(response);
    response.end(chunk('x'.repeat(30), 'stop') + DONE);
  });
  const counting = {
    ...{ model: 'endpoint/tells-nothing', messages: said('Hello'), max_tokens: 100 },
    stream_options: { include_usage: true },
  };
  const stream = await openStream(owner, CHAT, counting);
  await stream.ended;
  const bytes = Math.ceil(Buffer.byteLength(JSON.stringify({ ...counting, stream: true })) / 3);
  const last = stream.text().trimEnd().split('\n\n').at(-2)?.replace('data: ', '') ?? '';
  t.like(JSON.parse(last), {
    choices: [],
    id: 'chatcmpl-1',
    usage: {
      ...{ prompt_tokens: bytes, completion_tokens: 10, total_tokens: bytes + 10 },
      ...{ 'x-svc-cost-usd': showUSD(priceOf(bytes, 10)), 'x-svc-estimated': true },
    },
  });
  t.is(await settledCost(service, uid), priceOf(bytes, 10).toFixed());
});

test('each input of a batch is held and charged as one, though all are more than the context of the model', async (t) => {
  const { owner, service } = gateway;
  const uid = await makeEndpoint(owner, 'batch', { model: 'echo', limits: NO_LIMITS });
  const input = Array.from({ length: 10 }, () => 'word '.repeat(5_000));
  const answer = await owner.post('/v1/embeddings', { model: 'endpoint/batch', input });
  t.is(answer.status, 200, answer.text);
  const tokens = (answer.body as { usage: { prompt_tokens: number } }).usage.prompt_tokens;
  t.true(tokens > 50_000, `${tokens}`);
  // A cent for a million.
  const cost = new USD(tokens).dividedBy(100 * ONE, 'HalfUp');
  t.is(answer.headers.get('x-svc-cost-usd'), showUSD(cost));
  t.is(await settledCost(service, uid), cost.toFixed());
  await until('the status counts them', async () => (await usageOf(owner, 'batch')).inputTokens === tokens);
});

test('a report of usage that comes before the text is not all that is charged', async (t) => {
  const { owner, service, upstreams } = gateway;
  const uid = await makeEndpoint(owner, 'early', { model: 'tells-early', limits: NO_LIMITS });
  upstreams.on('tells-early', (response) => {
    streamHead(response);
    response.end(usageChunk({ input: 5, output: 1 }) + chunk('x'.repeat(90), 'stop') + DONE);
  });
  await (
    await openStream(owner, CHAT, { model: 'endpoint/early', messages: said('Hello'), max_tokens: 100 })
  ).ended;
  t.is(await settledCost(service, uid), priceOf(5, 30).toFixed());
});

test('an upstream that goes past max_tokens is cut, the client is told in the stream, and no more is charged than was held', async (t) => {
  const { owner, service, upstreams } = gateway;
  const uid = await makeEndpoint(owner, 'over', { model: 'over', limits: NO_LIMITS });
  const body = { model: 'endpoint/over', messages: said('Hello'), max_tokens: 10 };
  upstreams.on('over', (response, { body: asked }) => {
    if ((asked as { stream?: boolean }).stream !== true)
      return json(response, 200, chatAnswer('x'.repeat(9_000), { input: 100_000, output: 100_000 }));
    streamHead(response);
    const timer = setInterval(() => response.write(chunk('x'.repeat(500))), 5);
    return response.on('close', () => clearInterval(timer));
  });
  const stream = await openStream(owner, CHAT, body);
  t.is(await stream.ended, 'End');
  t.regex(stream.text(), /"error":\{"message":"the upstream has generated more than the request was admitted for/);
  t.false(stream.text().includes('[DONE]'));
  const hold = holdOf({ ...body, stream: true }, 10);
  const spent = new USD(await settledCost(service, uid));
  t.true(spent.gt(0) && spent.lte(hold), `${spent.toFixed()} of ${hold.toFixed()}`);
  const whole = await owner.post(CHAT, body);
  t.is(whole.status, 402, whole.text);
  t.false(whole.text.includes('xxx'), 'a whole answer that is longer is cut as well');
  t.is(whole.headers.get('x-should-retry'), 'false');
  const both = new USD(await settledCost(service, uid));
  t.is(both.minus(spent).toFixed(), holdOf(body, 10).toFixed(), 'and costs what was held for it');

  const claude = await makeEndpoint(owner, 'over-claude', { model: 'over-claude', limits: NO_LIMITS });
  upstreams.on('over-claude', (response) => {
    streamHead(response);
    response.write(
      messageBegin(5) + textDelta('Hi') + event('message_delta', { delta: {}, usage: { output_tokens: 27 } }),
    );
  });
  const asked = { ...body, model: 'endpoint/over-claude' };
  const second = await openStream(owner, MESSAGES, asked);
  t.is(await second.ended, 'End');
  t.regex(second.text(), /event: error\ndata: \{"type":"error","error":\{[^\n]*more than the request was admitted for/);
  t.true(new USD(await settledCost(service, claude)).lte(holdOf({ ...asked, stream: true }, 10)));
});

test('an answer of a few tokens more than were asked for is delivered, as servers count what ends it, and costs no more than was held', async (t) => {
  const { owner, service, upstreams } = gateway;
  const uid = await makeEndpoint(owner, 'counts-end', { model: 'counts-end', limits: NO_LIMITS });
  upstreams.on('counts-end', (response) =>
    json(response, 200, chatAnswer('one two three four', { input: 1, output: 11 })),
  );
  const body = { model: 'endpoint/counts-end', messages: said('Hello'), max_tokens: 10 };
  t.is((await owner.post(CHAT, body)).status, 200);
  t.true(new USD(await settledCost(service, uid)).lte(holdOf(body, 10)));
});

test('a stream that takes long is charged what its upstream reports at its end, though our count until then was more', async (t) => {
  const { owner, service, upstreams } = gateway;
  let finish = (): void => undefined;
  upstreams.on('trickle', (response) => {
    streamHead(response);
    const timer = setInterval(() => response.write(chunk('xxxxxxxxxxxx')), 100);
    finish = () => void response.end(chunk('', 'stop') + usageChunk({ input: 1, output: 2 }) + DONE);
    response.on('close', () => clearInterval(timer));
  });
  const uid = await makeEndpoint(owner, 'trickle', { model: 'trickle', limits: NO_LIMITS });
  const stream = await openStream(owner, CHAT, { model: 'endpoint/trickle', messages: said('Hello'), max_tokens: 500 });
  const underWay = `SELECT key FROM holds WHERE body LIKE '%' || $1 || '%' AND (body::json->>'underWayUSD')::numeric > $2`;
  const most = priceOf(1, 2).toFixed();
  await until(
    'the ledger knows of more than it will cost',
    async () => (await inDatabase(service, underWay, [uid, most])).length > 0,
    20_000,
  );
  t.false(stream.text().includes('[DONE]'), 'it still runs');
  t.is((await ledgerOf(service, uid)).spent, '0');
  finish();
  t.is(await stream.ended, 'End');
  t.is(await settledCost(service, uid), most);
});

test('a stream that breaks after a long silence costs nothing', async (t) => {
  const { owner, service, upstreams } = gateway;
  let finish = (): void => undefined;
  let pings = 0;
  upstreams.on('trickle-claude', (response) => {
    streamHead(response);
    response.write(messageBegin(1_000));
    const timer = setInterval(() => {
      pings += 1;
      response.write(event('ping', {}));
    }, 100);
    finish = () => response.destroy();
    response.on('close', () => clearInterval(timer));
  });
  const uid = await makeEndpoint(owner, 'silent-long', { model: 'trickle-claude', limits: NO_LIMITS });
  const body = { model: 'endpoint/silent-long', messages: said('Hello'), max_tokens: 500 };
  const stream = await openStream(owner, MESSAGES, body);
  await until('it has lasted longer than a look at its use', () => pings > 60, 20_000);
  finish();
  await stream.ended;
  t.is(await settledCost(service, uid), '0');
  t.like(await usageOf(owner, 'silent-long'), { requests: 1, errors: 1 });
});

test('an upstream that sends its answer in single bytes without end is given up, and takes little memory', async (t) => {
  const { owner, upstreams } = gateway;
  upstreams.on('in-bytes', (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' });
    response.flushHeaders();
    const { socket } = response;
    const bytes = '1\r\n \r\n'.repeat(10_000);
    const more = (): void => {
      while (socket?.write(bytes) === true);
    };
    socket?.on('drain', more);
    more();
  });
  const answer = await owner.post(CHAT, { model: 'in-bytes', messages: said('Hello'), max_tokens: 5 });
  t.is(answer.status, 503, answer.text);
  await until('it is given up', () => upstreams.seen('in-bytes')[0]?.left === true);
});
