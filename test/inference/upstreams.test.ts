/** What reaches an upstream of a running service and what comes back, and what clients are told when upstreams fail. */
import test from 'ava';
import { numberAt, textAt, valueAt, type Answer } from '../e2e/client.js';
import { OPERATOR_KEY } from './support/catalog.js';
import { anthropicOf, CHAT, MESSAGES, openaiOf, said, shareGateway, type Gateway } from './support/gateway.js';
import {
  chatAnswer,
  chunk,
  DONE,
  json,
  messageAnswer,
  messageBegin,
  messageEnd,
  streamHead,
  textDelta,
  usageChunk,
  type Seen,
} from './support/upstreams.js';

const USED = { input: 7, output: 3 };

let gateway: Gateway;
test.before(async () => {
  gateway = await shareGateway();
});
test.after.always(async () => gateway?.close());

/** What a client may carry that says who it is, to whomever. */
const CARRIED = {
  cookie: 'session=client-cookie',
  'x-goog-api-key': 'client-goog-key',
  'proxy-authorization': 'Basic client-proxy',
  'x-forwarded-for': '192.0.2.1',
  'openai-organization': 'client-org',
  'x-stainless-lang': 'js',
};

function chat(model: string, more: object = {}): object {
  return { model, messages: said('Hello'), max_tokens: 20, ...more };
}

function lastOf(name: string): Seen {
  const last = gateway.upstreams.seen(name).at(-1);
  if (last === undefined) throw new Error(`nothing came to ${name}`);
  return last;
}

test("an upstream of OpenAI's dialect gets the body with its own name for the model and the operator's key, and nothing that says who the client is", async (t) => {
  const { owner, upstreams } = gateway;
  upstreams.on('passing', (response, { body }) => {
    if (valueAt(body, 'stream') !== true)
      return json(
        response,
        200,
        { ...chatAnswer('Hi', USED), extra: { kept: true } },
        {
          'set-cookie': 'upstream=1',
          'x-upstream-secret': 'x',
          'x-request-id': 'upstream-request',
        },
      );
    streamHead(response);
    return response.end(chunk('Hi') + chunk('', 'stop') + usageChunk(USED) + DONE);
  });
  const unknown = { seed: 7, metadata: { team: 'a' }, vendor_option: [1] };
  const whole = await owner.ask('POST', CHAT, {
    body: chat('passing', unknown),
    headers: { ...CARRIED, 'x-api-key': owner.key, 'anthropic-beta': 'not-for-openai' },
  });
  t.is(whole.status, 200, whole.text);
  t.deepEqual(whole.body, { ...chatAnswer('Hi', USED), extra: { kept: true } }, 'the answer is as it came');
  t.is(whole.headers.get('x-svc-upstream-class'), 'External');
  t.is(whole.headers.get('x-svc-cost-usd'), '0.000013', '7 tokens in at 1 USD a million, 3 out at 2');
  for (const header of ['set-cookie', 'x-upstream-secret']) t.is(whole.headers.get(header), null);
  t.not(whole.headers.get('x-request-id'), 'upstream-request');

  const seen = lastOf('passing');
  t.is(seen.path, '/passing/v1/chat/completions');
  t.deepEqual(seen.body, chat('vendor-passing', unknown));
  t.is(seen.headers.authorization, `Bearer ${OPERATOR_KEY}`);
  t.is(seen.headers['x-operator'], 'fixed');
  for (const header of [...Object.keys(CARRIED), 'x-api-key', 'anthropic-beta', 'anthropic-version'])
    t.is(seen.headers[header], undefined, header);
  t.false(JSON.stringify(seen).includes(owner.key));
});

test('a stream is asked for its usage, which only a client that has asked for it gets', async (t) => {
  const { owner, upstreams } = gateway;
  upstreams.on('returning', (response) => {
    streamHead(response);
    return response.end(chunk('Hi') + chunk('', 'stop') + usageChunk(USED) + DONE);
  });
  const without = await owner.post(CHAT, chat('returning', { stream: true }));
  t.is(without.text, chunk('Hi') + chunk('', 'stop') + DONE);
  t.deepEqual(valueAt(lastOf('returning').body, 'stream_options'), { include_usage: true });
  const options = { stream_options: { include_usage: true, include_obfuscation: false } };
  const asked = await owner.post(CHAT, chat('returning', { stream: true, ...options }));
  t.regex(
    asked.text,
    /"usage":\{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,"x-svc-cost-usd":"0.000013"\}/,
  );
  t.deepEqual(valueAt(lastOf('returning').body, 'stream_options'), options.stream_options);
  t.is(without.headers.get('content-type'), 'text/event-stream; charset=utf-8');
});

test("an upstream of Anthropic's dialect gets the operator's key, the client's version and betas, and nothing that says who the client is", async (t) => {
  const { owner, upstreams } = gateway;
  upstreams.on('passing-claude', (response, { body, path }) => {
    if (path.endsWith('count_tokens')) return json(response, 200, { input_tokens: 11 });
    if (valueAt(body, 'stream') !== true) return json(response, 200, messageAnswer('Hi', USED));
    streamHead(response);
    return response.end(messageBegin(7) + textDelta('Hi') + messageEnd(3));
  });
  const body = { ...chat('passing-claude'), metadata: { user_id: 'opaque' } };
  const headers = { ...CARRIED, 'anthropic-version': '2023-06-01', 'anthropic-beta': 'a-2026-01-01,b-2026-02-02' };
  const answer = await owner.ask('POST', MESSAGES, {
    body,
    key: null,
    headers: { ...headers, 'x-api-key': owner.key },
  });
  t.is(answer.status, 200, answer.text);
  t.deepEqual(answer.body, messageAnswer('Hi', USED));
  const seen = lastOf('passing-claude');
  t.is(seen.path, '/passing-claude/v1/messages');
  t.deepEqual(seen.body, { ...body, model: 'vendor-passing-claude' });
  t.is(seen.headers['x-api-key'], OPERATOR_KEY);
  t.is(seen.headers['anthropic-beta'], headers['anthropic-beta']);
  for (const header of [...Object.keys(CARRIED), 'authorization']) t.is(seen.headers[header], undefined, header);
  t.false(JSON.stringify(seen).includes(owner.key));

  const client = anthropicOf(owner, owner.key);
  const final = client.messages.stream({ model: 'passing-claude', max_tokens: 20, messages: said('Hello') });
  t.is((await final.finalMessage()).usage.output_tokens, 3);
  const counted = await client.messages.countTokens({ model: 'passing-claude', messages: said('Hello') });
  t.is(counted.input_tokens, 11);
  t.is(lastOf('passing-claude').path, '/passing-claude/v1/messages/count_tokens');
});

for (const [fails, first, then, model] of [
  ['answers 500', 'first-fails', 'then-answers', 'failing-over'],
  ['does not answer in time', 'first-late', 'then-there', 'late'],
] as const) {
  test(`where an upstream ${fails}, the client gets the answer of the next one`, async (t) => {
    const { owner, upstreams } = gateway;
    upstreams.on(first, (response) => (first === 'first-late' ? undefined : json(response, 500, { error: 'x' })));
    upstreams.on(then, (response) => json(response, 200, chatAnswer('from the second', USED)));
    const answer = await openaiOf(owner, owner.key).chat.completions.create({ model, messages: said('Hello') });
    t.is(answer.choices[0]?.message.content, 'from the second');
    t.is(upstreams.seen(first).length, 1);
    t.is(upstreams.seen(then).length, 1);
  });
}

test('a stream that breaks after its first byte is not begun again elsewhere: the client is told', async (t) => {
  const { owner, upstreams } = gateway;
  upstreams.on('first-broken', (response) => {
    streamHead(response);
    response.write(chunk('Hi'), () => response.destroy());
  });
  const stream = await openaiOf(owner, owner.key).chat.completions.create({
    ...{ model: 'broken-once', messages: said('Hello'), stream: true },
  });
  let text = '';
  const error = await t.throwsAsync(async () => {
    for await (const part of stream) text += part.choices[0]?.delta.content ?? '';
  });
  t.is(text, 'Hi');
  t.regex(error?.message ?? '', /upstream failed/);
  t.deepEqual(upstreams.seen('never-asked'), []);
});

test('what an upstream has against a request reaches the client in its dialect, with message and field, and asks no other upstream', async (t) => {
  const { owner, upstreams } = gateway;
  const message = 'temperature: must be at most 2';
  const type = 'invalid_request_error';
  upstreams.on('first-strict', (response, { headers }) =>
    json(response, 400, { error: { message, type, param: 'temperature', code: 'too_hot' }, sent: headers }),
  );
  upstreams.on('strict-claude', (response) => json(response, 400, { type: 'error', error: { type, message } }));
  const refused = await owner.post(CHAT, chat('strict', { temperature: 9 }));
  t.is(refused.status, 400, refused.text);
  t.like(valueAt(refused.body, 'error'), { message, param: 'temperature', code: 'BadRequest', type });
  t.false(refused.text.includes(OPERATOR_KEY));
  const claude = await owner.post(MESSAGES, chat('strict-claude', { temperature: 9 }));
  t.is(claude.status, 400, claude.text);
  t.is(textAt(claude.body, 'type'), 'error');
  t.like(valueAt(claude.body, 'error'), { message, type });
  t.deepEqual(upstreams.seen('not-asked'), []);
  // Many of them make no upstream cool.
  for (let i = 0; i < 5; i += 1) t.is((await owner.post(CHAT, chat('strict'))).status, 400);
});

function checkUnavailable(
  t: { is(a: unknown, b: unknown, why?: string): void },
  answer: Answer,
  dialect: string,
): void {
  const anthropic = dialect === 'Anthropic';
  t.is(answer.status, anthropic ? 529 : 503, answer.text);
  t.is(textAt(answer.body, 'error', 'type'), anthropic ? 'overloaded_error' : 'server_error');
  t.is(textAt(answer.body, anthropic ? 'request_id' : 'error', ...(anthropic ? [] : ['requestId'])) === '', false);
  const retryAfter = numberAt({ s: answer.headers.get('retry-after') ?? '' }, 's');
  t.is(retryAfter >= 1 && retryAfter <= 61, true, `Retry-After: ${retryAfter}`);
}

for (const dialect of ['OpenAI', 'Anthropic'] as const) {
  const end = dialect === 'OpenAI' ? '' : '-claude';
  const to = dialect === 'OpenAI' ? CHAT : MESSAGES;
  test(`an upstream that is limited, fails or is silent is told to a client of ${dialect} as trouble of the service, with the time after which to ask again`, async (t) => {
    const { owner, upstreams } = gateway;
    upstreams.on(`limited${end}`, (response) =>
      json(response, 429, { error: { message: 'slow down, org-of-the-operator' } }, { 'retry-after': '17' }),
    );
    upstreams.on(`failing${end}`, (response) => json(response, 502, { error: { message: 'inner workings' } }));
    upstreams.on(`silent${end}`, () => undefined);
    const limited = await owner.post(to, chat(`limited${end}`));
    checkUnavailable(t, limited, dialect);
    const seconds = Number(limited.headers.get('retry-after'));
    t.true(seconds > 10 && seconds <= 17, `as the upstream says: ${seconds}`);
    for (const name of ['failing', 'silent']) {
      const answer = await owner.post(to, chat(`${name}${end}`));
      checkUnavailable(t, answer, dialect);
      t.notRegex(answer.text, /inner workings|operator|127\.0\.0\.1/);
      t.is(answer.headers.get('x-should-retry'), null);
    }
  });
}

test('a redirect of an upstream is followed by nobody, and the operator key goes nowhere else', async (t) => {
  const { owner, upstreams } = gateway;
  upstreams.on('moved', (response) => {
    response.writeHead(307, { location: `${upstreams.url}/elsewhere/v1/chat/completions` }).end();
  });
  const answer = await owner.post(CHAT, chat('moved'));
  t.is(answer.status, 503, answer.text);
  t.is(answer.headers.get('location'), null);
  t.deepEqual(upstreams.seen('elsewhere'), []);
});

test('images go to models that take them; for others the request is refused by the part that is one', async (t) => {
  const { owner, upstreams } = gateway;
  for (const name of ['eyes', 'blind', 'blind-claude'])
    upstreams.on(name, (response) => json(response, 200, chatAnswer('I see', USED)));
  const text = { type: 'text', text: 'What is it?' };
  const data = 'iVBORw0KGgo=';
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } };
  const messages = [{ role: 'user', content: [text, image] }];
  t.is((await owner.post(CHAT, { ...chat('eyes'), messages })).status, 200);
  t.deepEqual(valueAt(lastOf('eyes').body, 'messages'), messages);
  const blind = await owner.post(CHAT, { ...chat('blind'), messages });
  t.is(blind.status, 400, blind.text);
  t.is(textAt(blind.body, 'error', 'param'), 'messages[0].content[1]');
  const source = { type: 'base64', media_type: 'image/png', data };
  const claude = await owner.post(MESSAGES, {
    ...chat('blind-claude'),
    messages: [{ role: 'user', content: [{ type: 'image', source }, text] }],
  });
  t.is(claude.status, 400, claude.text);
  t.is(textAt(claude.body, 'error', 'param'), 'messages[0].content[0]');
  t.deepEqual([...upstreams.seen('blind'), ...upstreams.seen('blind-claude')], []);
});

test('an upstream that may not fetch is sent no address of an image, and one that may is', async (t) => {
  const { owner, upstreams } = gateway;
  for (const name of ['eyes', 'far-eyes'])
    upstreams.on(name, (response) => json(response, 200, chatAnswer('I see', USED)));
  const image = { type: 'image_url', image_url: { url: 'http://169.254.169.254/latest/meta-data' } };
  const messages = [{ role: 'user', content: [image] }];
  const refused = await owner.post(CHAT, { ...chat('eyes'), messages });
  t.is(refused.status, 400, refused.text);
  t.is(textAt(refused.body, 'error', 'param'), 'messages[0].content[0]');
  t.regex(textAt(refused.body, 'error', 'fix'), /data: URL/);
  t.false(upstreams.seen('eyes').some(({ text }) => text.includes('169.254')));
  t.is((await owner.post(CHAT, { ...chat('far-eyes'), messages })).status, 200);
  t.deepEqual(valueAt(lastOf('far-eyes').body, 'messages'), messages);
});

test('an upstream is told how much to generate in the one member that it knows', async (t) => {
  const { owner, upstreams } = gateway;
  upstreams.on('told-amounts', (response) => json(response, 200, chatAnswer('Hi', USED)));
  for (const text of ['Hello', 'Hello '.repeat(20_000)]) {
    const body = { model: 'told-amounts', messages: [{ role: 'user', content: text }] };
    for (const asked of [
      { max_completion_tokens: 9 },
      { max_tokens: 9 },
      { max_tokens: 9, max_completion_tokens: 9 },
    ]) {
      t.is((await owner.post(CHAT, { ...body, ...asked })).status, 200);
      const sent = lastOf('told-amounts').body;
      t.is(valueAt(sent, 'max_tokens'), 9, `${text.length}`);
      t.false(Object.hasOwn(sent as object, 'max_completion_tokens'));
    }
    t.is((await owner.post(CHAT, { ...body, max_tokens: null })).status, 200);
    t.false(Object.hasOwn(lastOf('told-amounts').body as object, 'max_tokens'), 'null is no bound');
  }
});
