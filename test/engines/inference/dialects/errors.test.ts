import test from 'ava';
import fc from 'fast-check';
import { DIALECT_OF, type DialectError, OPERATIONS } from '../../../../src/engines/inference/dialects/dialect.js';
import { DIALECT_BY_NAME, dialectFor } from '../../../../src/engines/inference/dialects/index.js';
import { ZERO_USAGE } from '../../../../src/money/model-prices.js';
import { tries } from '../../../support/extent.js';

const { OpenAI: openai, Anthropic: anthropic } = DIALECT_BY_NAME;
const ERROR: DialectError = {
  status: 402,
  code: 'BudgetExceeded',
  message: 'Budget team has no money left',
  param: 'model',
  fix: 'Raise the Budget.',
  requestId: 'req_1',
};

test('an error has the form of the dialect, with our code in error.code', (t) => {
  const { status: _, requestId, ...said } = ERROR;
  t.deepEqual(JSON.parse(openai.errorBody(ERROR)), { error: { ...said, type: 'insufficient_quota', requestId } });
  t.deepEqual(JSON.parse(anthropic.errorBody(ERROR)), {
    type: 'error',
    error: { ...said, type: 'billing_error' },
    request_id: requestId,
  });
  const bare: DialectError = { status: 500, code: 'InternalError', message: 'm', requestId: 'r' };
  t.deepEqual(JSON.parse(openai.errorBody(bare)), {
    error: { message: 'm', type: 'api_error', param: null, code: 'InternalError', requestId: 'r' },
  });
});

test('each status has the type that clients of the dialect know', (t) => {
  const types = (status: number): string[] =>
    [openai, anthropic].map(
      (dialect) => (JSON.parse(dialect.errorBody({ ...ERROR, status })) as { error: { type: string } }).error.type,
    );
  for (const [status, ofOpenAI, ofAnthropic] of [
    [400, 'invalid_request_error', 'invalid_request_error'],
    [401, 'authentication_error', 'authentication_error'],
    [402, 'insufficient_quota', 'billing_error'],
    [403, 'permission_error', 'permission_error'],
    [404, 'not_found_error', 'not_found_error'],
    [413, 'request_too_large', 'request_too_large'],
    [429, 'rate_limit_error', 'rate_limit_error'],
    [500, 'api_error', 'api_error'],
    [501, 'api_error', 'api_error'],
    [503, 'server_error', 'api_error'],
    [504, 'timeout', 'timeout_error'],
    [529, 'server_error', 'overloaded_error'],
  ] as const) {
    t.deepEqual(types(status), [ofOpenAI, ofAnthropic], String(status));
  }
});

test('what ends a stream and what keeps it alive has the form of the dialect', (t) => {
  t.is(openai.errorFrame(ERROR), `data: ${openai.errorBody(ERROR)}\n\n`);
  t.is(anthropic.errorFrame(ERROR), `event: error\ndata: ${anthropic.errorBody(ERROR)}\n\n`);
  t.regex(openai.keepAlive, /^:.*\n\n$/);
  t.is(anthropic.keepAlive, 'event: ping\ndata: {"type": "ping"}\n\n');
});

test('limits are told as the dialect does, with the time until they are whole again', (t) => {
  const now = Date.UTC(2026, 0, 2, 3, 4, 5, 600);
  const requests = { limit: 60, remaining: 59, resetMs: 120 };
  const tokens = { limit: 150_000, remaining: -3, resetMs: 360_000 };
  t.deepEqual(openai.limitHeaders({ requests, tokens }, now), {
    'x-ratelimit-limit-requests': '60',
    'x-ratelimit-remaining-requests': '59',
    'x-ratelimit-reset-requests': '120ms',
    'x-ratelimit-limit-tokens': '150000',
    'x-ratelimit-remaining-tokens': '0',
    'x-ratelimit-reset-tokens': '6m0s',
  });
  const reset = (resetMs: number) =>
    openai.limitHeaders({ requests: { ...requests, resetMs } }, now)['x-ratelimit-reset-requests'];
  t.deepEqual([0, 0.2, 999, 1_000, 8_640, 59_999, 60_000, 3_600_000, 7_383_004].map(reset), [
    '0s',
    '1ms',
    '999ms',
    '1s',
    '8.64s',
    '59.999s',
    '1m0s',
    '1h0m0s',
    '2h3m3.004s',
  ]);
  const told = anthropic.limitHeaders({ requests, tokens }, now);
  t.is(told['anthropic-ratelimit-requests-reset'], '2026-01-02T03:04:06Z', 'a part of a second is a second');
  t.is(told['anthropic-ratelimit-tokens-reset'], '2026-01-02T03:10:06Z');
  for (const unit of ['tokens', 'input-tokens', 'output-tokens']) {
    t.is(told[`anthropic-ratelimit-${unit}-limit`], '150000');
    t.is(told[`anthropic-ratelimit-${unit}-remaining`], '0');
  }
  t.is(
    Object.keys(anthropic.limitHeaders({ requests }, now)).length,
    3,
    'nothing is said of limits that are not there',
  );
});

test('a refusal of an upstream is read in every form that upstreams have, also with status 200', (t) => {
  const forms: readonly (readonly [body: unknown, error: object])[] = [
    [
      {
        error: {
          message: 'too long',
          type: 'invalid_request_error',
          param: 'messages',
          code: 'context_length_exceeded',
        },
      },
      { message: 'too long', type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' },
    ],
    [
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' }, request_id: 'r' },
      { message: 'Overloaded', type: 'overloaded_error' },
    ],
    [
      { error: { code: 429, message: 'slow down', status: 'RESOURCE_EXHAUSTED' } },
      { message: 'slow down', code: '429' },
    ],
    [{ error: 'model not loaded' }, { message: 'model not loaded' }],
    [
      { object: 'error', message: 'bad', type: 'BadRequestError', param: null, code: 400 },
      { message: 'bad', type: 'BadRequestError', code: '400' },
    ],
    [{ detail: 'Not Found' }, { message: 'Not Found' }],
    [{ detail: [{ loc: ['body', 'n'], msg: 'field required', type: 'missing' }] }, { message: 'field required' }],
    [{ message: 'no such route' }, { message: 'no such route' }],
    [[{ error: { message: 'in a list' } }], { message: 'in a list' }],
    ['upstream connect error', { message: 'upstream connect error' }],
    [{ error: {} }, { message: 'the upstream gave no reason' }],
  ];
  for (const [body, error] of forms) {
    for (const dialect of [openai, anthropic]) t.like(dialect.readError(body), error, JSON.stringify(body));
  }
  for (const answer of [
    { id: 'c', object: 'chat.completion', choices: [], error: null },
    { type: 'message', content: [{ type: 'text', text: 'error' }], usage: {} },
    { object: 'list', data: [], usage: {}, message: 'ok' },
    { input_tokens: 5 },
    { choices: [], detail: 'x' },
    '<html>Bad gateway</html>',
    '',
    null,
    7,
    [],
  ]) {
    t.is(openai.readError(answer), undefined, JSON.stringify(answer));
  }
});

test('what an upstream says is cut, loses control characters, and never shows its key', (t) => {
  const message = `a\u0000b\r\nc\u2028 Incorrect API key provided: sk-proj-AbC*****xyz. ${'x'.repeat(5_000)}`;
  const said = openai.readError({ error: { message, type: 'y'.repeat(900) } });
  t.regex(said?.message ?? '', /^a b c  Incorrect API key provided: \[key\] x+$/);
  t.true((said?.message.length ?? 9_999) <= 2_000);
  t.is(said?.type?.length, 200);
  t.is(openai.readError(`${'x'.repeat(1_999)}😀`)?.message, 'x'.repeat(1_999), 'no character is cut in two');
});

test('every route has its dialect', (t) => {
  for (const operation of OPERATIONS) t.is(dialectFor(operation).name, DIALECT_OF[operation]);
});

const words = fc.constantFrom(
  ...[
    'model',
    'messages',
    'content',
    'role',
    'type',
    'text',
    'tools',
    'input',
    'prompt',
    'stream',
    'stream_options',
    'usage',
    'choices',
    'delta',
    'source',
  ],
  ...[
    'image_url',
    'file',
    'data',
    'image',
    'document',
    'error',
    'message',
    'cache_control',
    'max_tokens',
    'base64',
    'system',
    'message_start',
    'message_delta',
  ],
  ...[
    'content_block_delta',
    'input_tokens',
    'output_tokens',
    'prompt_tokens',
    'tool_calls',
    'function',
    'detail',
    'thinking',
    'edits',
    'context_management',
  ],
);
/** JSON that is made of the words of the dialects. */
const json = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    fc.oneof(words, fc.jsonValue(), fc.double(), fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(words, tie('value'), { maxKeys: 5 }),
  ),
})).value;

test('no JSON makes reading throw, and what is taken can be encoded and counted', (t) => {
  fc.assert(
    fc.property(json, fc.constantFrom(...OPERATIONS), fc.boolean(), (value, operation, likely) => {
      const dialect = dialectFor(operation);
      const members = typeof value === 'object' && !Array.isArray(value) ? value : {};
      const message = { role: 'user', content: [value] };
      const body = likely
        ? { max_tokens: 1, messages: [message], prompt: 'a', input: 'a', ...members, model: 'm' }
        : value;
      const read = dialect.readRequest(operation, body);
      if (read.outcome === 'Request') {
        t.is(dialect.upstreamBody(read.request, 'u')['model'], 'u');
        t.true([...read.request.texts()].every((text) => typeof text === 'string'));
        t.true(read.request.answers >= 0 && read.request.imageCharacters >= 0);
      }
      dialect.readError(value);
      for (const answer of [value, { usage: value, choices: [value], content: [value] }]) {
        const used = dialect.readUsage(operation, answer);
        t.true(
          used === undefined || Object.values(used).every((tokens) => Number.isSafeInteger(tokens) && tokens >= 0),
        );
        t.true(dialect.outputBytes(operation, answer) >= 0);
      }
    }),
    { numRuns: tries(2_000) },
  );
});

test('whatever frames come, a follower takes them or says that the stream is broken', (t) => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.option(words, { nil: undefined }), json), { maxLength: 8 }), (all) => {
      for (const operation of ['/v1/chat/completions', '/v1/messages'] as const) {
        const dialect = dialectFor(operation);
        const read = dialect.readRequest(operation, { model: 'm', max_tokens: 1, stream: true, messages: [{}] });
        if (read.outcome === 'Refused') return t.fail(read.message);
        const follower = dialect.follow(read.request, { costOf: () => '0.00', counted: () => ZERO_USAGE });
        for (const [event, value] of all) {
          try {
            const { out = 'data: x\n\n' } = follower.frame({ event, data: JSON.stringify(value) });
            t.regex(out, /^(event: [^\r\n]*\n)?(data: [^\r\n]*\n)+\n$/, 'one whole frame');
          } catch (error) {
            t.is((error as Error).name, 'BrokenStreamError');
          }
        }
      }
    }),
    { numRuns: tries(1_000) },
  );
});

test('a client that tries to have its conversation kept is told so in a form by which it sends all of it', (t) => {
  const error = { ...ERROR, status: 400, code: 'BadRequest', param: 'thread' } as const;
  const { error: said } = JSON.parse(anthropic.errorBody(error)) as { error: { details?: unknown } };
  t.deepEqual(said.details, { error_code: 'thread_unsupported_request' });
});
