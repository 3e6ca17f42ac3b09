/** How requests to models are refused, in the dialect of the client that asked: status, shape, and whether it may try again. */
import test, { type ExecutionContext } from 'ava';
import { objectOf, textAt, valueAt, type Answer, type Ask } from '../e2e/client.js';
import {
  anthropicOf,
  CHAT,
  endpointsIn,
  makeEndpoint,
  makeKey,
  MESSAGES,
  openaiOf,
  said,
  shareGateway,
  type Gateway,
} from './support/gateway.js';

let gateway: Gateway;
test.before(async () => {
  gateway = await shareGateway();
});
test.after.always(async () => gateway?.close());

const DIALECTS = ['OpenAI', 'Anthropic'] as const;
type DialectName = (typeof DIALECTS)[number];
const ROUTE: Readonly<Record<DialectName, string>> = { OpenAI: CHAT, Anthropic: MESSAGES };
const TYPES: Readonly<Record<DialectName, Readonly<Record<number, string>>>> = {
  OpenAI: {
    401: 'authentication_error',
    403: 'permission_error',
    404: 'not_found_error',
    413: 'request_too_large',
    503: 'server_error',
  },
  Anthropic: {
    401: 'authentication_error',
    403: 'permission_error',
    404: 'not_found_error',
    413: 'request_too_large',
    503: 'api_error',
    529: 'overloaded_error',
  },
};

function plain(model: string, more: object = {}): object {
  return { model, messages: said('Hello'), max_tokens: 10, ...more };
}

function ask(dialect: DialectName, options: Ask, base = ''): Promise<Answer> {
  return gateway.owner.ask('POST', `${base}${ROUTE[dialect]}`, options);
}

/** The body is of the dialect, tells what is wrong, and names the request as its header does. */
function check(t: ExecutionContext, dialect: DialectName, answer: Answer, status: number, code: string): void {
  const { body, headers, text } = answer;
  t.is(answer.status, status, text);
  t.is(headers.get('content-type'), 'application/json', text);
  t.is(textAt(body, 'error', 'code'), code, text);
  t.not(textAt(body, 'error', 'message'), '');
  t.is(textAt(body, 'error', 'type'), TYPES[dialect][status] ?? 'invalid_request_error', text);
  const id = headers.get('request-id') ?? '';
  t.not(id, '');
  t.is(headers.get('x-request-id'), id);
  if (dialect === 'Anthropic') {
    t.is(textAt(body, 'type'), 'error');
    t.is(textAt(body, 'request_id'), id);
  } else {
    t.is(textAt(body, 'error', 'requestId'), id);
    t.true(valueAt(body, 'error', 'param') !== undefined, 'null when there is none');
  }
}

for (const dialect of DIALECTS) {
  test(`${dialect}: a model that does not exist is 404 and named as the field`, async (t) => {
    const answer = await ask(dialect, { body: plain('none') });
    check(t, dialect, answer, 404, 'NotFound');
    t.is(textAt(answer.body, 'error', 'param'), 'model');
    check(t, dialect, await ask(dialect, { body: plain('endpoint/none') }), 404, 'NotFound');
    check(t, dialect, await ask(dialect, { body: plain('echo') }, '/endpoints/default/none'), 404, 'NotFound');
    check(t, dialect, await ask(dialect, { body: plain('echo') }, '/endpoints/none/none'), 404, 'NotFound');
  });

  test(`${dialect}: a key that does not exist is 401 in either header, none is 401, and two that differ are 400`, async (t) => {
    const { key } = gateway.owner;
    const body = plain('echo');
    const wrong = 'wrong-0123456789abcdef';
    check(t, dialect, await ask(dialect, { body, key: wrong }), 401, 'Unauthorized');
    check(t, dialect, await ask(dialect, { body, key: null }), 401, 'Unauthorized');
    check(t, dialect, await ask(dialect, { body, key: null, headers: { 'x-api-key': wrong } }), 401, 'Unauthorized');
    check(t, dialect, await ask(dialect, { body, headers: { 'x-api-key': wrong } }), 400, 'BadRequest');
    check(t, dialect, await ask(dialect, { body, key: wrong, headers: { 'x-api-key': key } }), 400, 'BadRequest');
    t.is((await ask(dialect, { body, headers: { 'x-api-key': key } })).status, 200, 'the same one twice is one');
    t.is((await ask(dialect, { body, key: null, headers: { 'x-api-key': key } })).status, 200);
    t.is(
      (await ask(dialect, { body, key: null, headers: { authorization: `bearer ${key}`, 'x-api-key': key } })).status,
      200,
    );
  });

  test(`${dialect}: a key without the scope, or of another project, is 403`, async (t) => {
    const { owner } = gateway;
    const reader = await makeKey(owner, `refused-reader-${dialect.toLowerCase()}`, { scopes: ['jobs:read'] });
    check(t, dialect, await ask(dialect, { body: plain('echo'), key: reader }), 403, 'Forbidden');
    check(t, dialect, await ask(dialect, { body: plain('endpoint/x'), key: reader }), 403, 'Forbidden');
    const project = `refused-${dialect.toLowerCase()}`;
    await owner.post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: project } });
    const other = await makeKey(owner, project, { scopes: ['inference:invoke'], projects: [project] });
    const base = '/endpoints/default/any';
    check(t, dialect, await ask(dialect, { body: plain('echo'), key: other }, base), 403, 'Forbidden');
    t.is((await ask(dialect, { body: plain('echo'), key: other })).status, 200, 'in its own project it may');
  });

  test(`${dialect}: a key that is not in allowedKeys is 403, and one that is listed is answered`, async (t) => {
    const { owner } = gateway;
    const end = dialect.toLowerCase();
    const listed = await makeKey(owner, `listed-${end}`, { scopes: ['inference:invoke'] });
    await makeEndpoint(owner, `listed-${end}`, { model: 'echo', allowedKeys: [`listed-${end}`] });
    const body = plain(`endpoint/listed-${end}`);
    check(t, dialect, await ask(dialect, { body }), 403, 'Forbidden');
    t.is((await ask(dialect, { body, key: listed })).status, 200);
  });

  test(`${dialect}: a stopped InferenceEndpoint refuses at once and says that trying again is of no use, until it runs again`, async (t) => {
    const { owner } = gateway;
    const name = `stopped-${dialect.toLowerCase()}`;
    await makeEndpoint(owner, name, { model: 'echo', state: 'Stopped' });
    const body = plain(`endpoint/${name}`);
    const stopped = await ask(dialect, { body });
    check(t, dialect, stopped, 503, 'Unavailable');
    t.is(stopped.headers.get('x-should-retry'), 'false');
    t.is(stopped.headers.get('retry-after'), null);
    await owner.merge(`${endpointsIn('default')}/${name}`, { spec: { state: 'Running' } });
    t.is((await ask(dialect, { body })).status, 200);
  });

  test(`${dialect}: what is no JSON object in UTF-8 is refused, and not quoted`, async (t) => {
    const raw = JSON.stringify(plain('echo'));
    check(t, dialect, await ask(dialect, { raw, contentType: 'text/plain' }), 415, 'UnsupportedMediaType');
    check(t, dialect, await ask(dialect, { raw: '{"model": "my secret' }), 400, 'BadRequest');
    t.false((await ask(dialect, { raw: '{"model": "my secret' })).text.includes('my secret'));
    check(t, dialect, await ask(dialect, { raw: Buffer.from([0x7b, 0xff, 0x7d]) }), 400, 'BadRequest');
    for (const other of ['[]', 'null', '"text"', ''])
      check(t, dialect, await ask(dialect, { raw: other }), 400, 'BadRequest');
    t.is((await ask(dialect, { raw, contentType: 'application/json; charset=utf-8' })).status, 200);
  });

  test(`${dialect}: a request that says where it is to be sent is refused by that field`, async (t) => {
    for (const member of ['base_url', 'api_base', 'api_key', 'apiBase']) {
      const answer = await ask(dialect, { body: plain('echo', { [member]: 'http://192.0.2.1/' }) });
      check(t, dialect, answer, 400, 'BadRequest');
      t.is(textAt(answer.body, 'error', 'param'), member);
    }
  });

  test(`${dialect}: a body of more than 32 MiB is 413; one of just as much is read`, async (t) => {
    const [before, after] = JSON.stringify(plain('none')).split('Hello');
    const bodyOf = (bytes: number): string =>
      `${before}${'x'.repeat(bytes - (before?.length ?? 0) - (after?.length ?? 0))}${after}`;
    check(t, dialect, await ask(dialect, { raw: bodyOf(32 * 2 ** 20 + 1) }), 413, 'RequestEntityTooLarge');
    check(t, dialect, await ask(dialect, { raw: bodyOf(32 * 2 ** 20) }), 404, 'NotFound');
  });

  test(`${dialect}: another method than POST is 405 and says which one is allowed`, async (t) => {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const answer = await gateway.owner.ask(method, ROUTE[dialect]);
      check(t, dialect, answer, 405, 'MethodNotAllowed');
      t.is(answer.headers.get('allow'), 'POST');
    }
  });

  test(`${dialect}: more tokens than the model gives, a stream of what has none, and tools without messages are refused by their fields`, async (t) => {
    const more = await ask(dialect, { body: plain('echo', { max_tokens: 8_193 }) });
    check(t, dialect, more, 400, 'BadRequest');
    t.is(textAt(more.body, 'error', 'param'), 'max_tokens');
    t.regex(textAt(more.body, 'error', 'message'), /8192/);
    const none = await ask(dialect, { body: plain('echo', { messages: [] }) });
    check(t, dialect, none, 400, 'BadRequest');
    t.is(textAt(none.body, 'error', 'param'), 'messages');
    const wrong = await ask(dialect, { body: plain('echo', { stream: 'yes' }) });
    check(t, dialect, wrong, 400, 'BadRequest');
    t.is(textAt(wrong.body, 'error', 'param'), 'stream');
  });
}

test("the vendors' clients tell a refusal by its class, and do not try again what cannot help", async (t) => {
  const { owner } = gateway;
  await makeEndpoint(owner, 'stopped-for-clients', { model: 'echo', state: 'Stopped' });
  const asked = { model: 'endpoint/stopped-for-clients', max_tokens: 10, messages: said('Hello') };
  const began = performance.now();
  t.like(await t.throwsAsync(openaiOf(owner, owner.key).chat.completions.create(asked)), {
    status: 503,
    code: 'Unavailable',
  });
  t.like(await t.throwsAsync(anthropicOf(owner, owner.key).messages.create(asked)), { status: 503 });
  t.true(performance.now() - began < 5_000);
  const { body } = await owner.get(`${endpointsIn('default')}/stopped-for-clients`);
  t.is(textAt(body, 'status', 'phase'), 'Stopped');
  const wrong = openaiOf(owner, 'wrong-0123456789abcdef');
  t.like(await t.throwsAsync(wrong.chat.completions.create(asked)), { status: 401 });
  t.like(await t.throwsAsync(anthropicOf(owner, 'wrong-0123456789').messages.create(asked)), { status: 401 });
});

test('another model than that of the InferenceEndpoint is refused at its base URL, and its right name said', async (t) => {
  const { owner } = gateway;
  const made = await owner.post(endpointsIn('default'), objectOf('InferenceEndpoint', 'of-echo', { model: 'echo' }));
  t.is(made.status, 201, made.text);
  const answer = await ask('OpenAI', { body: plain('passing') }, '/endpoints/default/of-echo');
  check(t, 'OpenAI', answer, 400, 'BadRequest');
  t.is(textAt(answer.body, 'error', 'param'), 'model');
  t.regex(textAt(answer.body, 'error', 'fix'), /echo/);
});

test('a path below a base URL that is not served is refused in the dialect of the client, and not asked for again', async (t) => {
  const { owner } = gateway;
  const missing = await owner.post('/v1/moderations', { input: 'x' });
  t.is(missing.status, 404, missing.text);
  t.is(textAt(missing.body, 'error', 'code'), 'NotFound');
  t.is(textAt(missing.body, 'error', 'requestId'), missing.headers.get('request-id') ?? '');
  const bare = await owner.post('/chat/completions', { model: 'echo', messages: said('Hello') });
  t.is(bare.status, 404, bare.text);
  t.regex(textAt(bare.body, 'error', 'fix'), /End the base URL in \/v1/);
  const twice = await owner.post('/v1/v1/messages', {});
  t.regex(textAt(twice.body, 'error', 'fix'), /Leave \/v1 out of the base URL/);
  const claude = await owner.ask('POST', '/endpoints/default/x/v1/messages/batches', {
    body: {},
    headers: { 'anthropic-version': '2023-06-01' },
  });
  t.is(claude.status, 404, claude.text);
  t.is(textAt(claude.body, 'type'), 'error');
  t.is(textAt(claude.body, 'request_id'), claude.headers.get('request-id') ?? '');
});
