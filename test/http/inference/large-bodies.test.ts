/**
 * A large body of a request to a model is read and written anew beside the event loop: it says, asks and is refused as a small one is, holds up nobody,
 * and leaves nothing behind.
 */
import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { openLargeBodies, type LargeBodiesOptions } from '../../../http/inference/large-bodies.js';
import { readLarge } from '../../../http/inference/read-large.js';
import { MOST_PIECES } from '../../../src/engines/inference/dialects/body.js';
import { readBytes, type ReadCall } from '../../../http/inference/read-request.js';
import { RefusalError, type Refusal } from '../../../src/api/refusal.js';
import type { Operation } from '../../../src/engines/inference/dialects/dialect.js';
import { USUAL_FORM } from '../../../src/engines/inference/route.js';
import { inputBound } from '../../../src/engines/inference/tokens/count.js';
import { turnsDuring } from '../support/turns.js';

const MIB = 2 ** 20;
const MODELS = ['vendor', 'org/vendor:latest-2026', '"ä\\\n'];

type Bodies = ReturnType<typeof openLargeBodies>;

function open(t: ExecutionContext, options: Partial<LargeBodiesOptions> = {}): Bodies {
  const bodies = openLargeBodies({ note: () => undefined, ...options });
  t.teardown(() => bodies.close());
  return bodies;
}

/** Everything in the thread, or nothing. */
const ALL = { short: 0, long: 0 };
const NONE = { short: 1e9 };

interface Sender {
  readonly org?: string;
  readonly gone?: AbortSignal;
  hold?(bytes: number): boolean;
}

async function read(
  largeBodies: Bodies,
  operation: Operation,
  bytes: Buffer,
  { org = 'acme', gone = new AbortController().signal, hold = () => true }: Sender = {},
): Promise<ReadCall> {
  const place = { hold } as never;
  const x = { header: () => 'application/json', caller: { org } as never, gone, place };
  return readBytes(x, { largeBodies }, operation, bytes);
}

type Told =
  | { readonly outcome: 'Refused'; readonly refusal: Refusal }
  | { readonly outcome: 'Read'; readonly request: object; readonly bound: number; readonly sent: readonly unknown[] };

/** All that anybody learns of it. */
async function told(reading: Promise<ReadCall>): Promise<Told> {
  try {
    const { request, bytes, encode } = await reading;
    const { texts: _, ...summary } = request;
    const { body: __, ...rest } = { body: undefined, ...summary };
    const sent = await Promise.all(
      MODELS.map(async (model): Promise<unknown> => JSON.parse((await encode(model, USUAL_FORM)).toString())),
    );
    const bound = inputBound(request, bytes, { imageTokens: 1_600, countTokens: (text) => text.length });
    return { outcome: 'Read', request: rest, bound, sent };
  } catch (error) {
    if (error instanceof RefusalError) return { outcome: 'Refused', refusal: error.refusal };
    throw error;
  }
}

const chat = (content: unknown, more: object = {}): Buffer =>
  Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content }], ...more }));
const CHAT = '/v1/chat/completions';

/** Bodies of all kinds: whole, refused by a member, not JSON, not UTF-8. */
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 50 }),
  fc.constant('\ud800 lone'),
  fc.constant('w '.repeat(30_000)),
);
const free = fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' });
const content = fc.oneof(
  text,
  free,
  fc.array(fc.oneof(fc.constant(image), fc.record({ type: fc.constant('text'), text })), { maxLength: 3 }),
);
const members = fc.record(
  {
    stream: fc.constantFrom(true, false, null),
    stream_options: fc.constantFrom({ include_usage: true }, { other: 1 }, null),
    max_tokens: fc.constantFrom(1, 50),
    max_completion_tokens: fc.constantFrom(null, 50, 2_000_000_000),
    tools: fc.constantFrom([], [{ type: 'function' }], [{ type: 'bash_20250124' }, { name: 'f' }]),
    system: content,
    prompt: fc.oneof(text, fc.array(text, { minLength: 1, maxLength: 3 }), fc.constant([1, 2])),
    input: fc.oneof(text, fc.constant([[1, 2], [3]])),
    cache_control: fc.constant({ ttl: '1h' }),
    seed: fc.constantFrom(1e20, 1.5, -0),
  },
  { requiredKeys: ['max_tokens', 'prompt', 'input'] },
);
const bad = fc.oneof(
  { weight: 5, arbitrary: fc.constant({}) },
  fc.constantFrom(
    { base_url: 'x' },
    { stream: 'yes' },
    { n: 0 },
    { messages: [] },
    { model: 7 },
    { tools: [{ type: 'web_search_1' }] },
  ),
);
const messages = fc.array(fc.record({ role: fc.constantFrom('user', 'system'), content }), {
  minLength: 1,
  maxLength: 3,
});
const body = fc
  .tuple(members, messages, free, fc.boolean(), bad)
  .map(([some, said, other, first, wrong]) =>
    JSON.stringify({ ...(first ? {} : some), 7: other, model: 'm', messages: said, ...(first ? some : {}), ...wrong }),
  );
const bytesOfAny = fc.oneof(
  { weight: 8, arbitrary: body.map((json) => Buffer.from(json)) },
  // What spells the same member twice, and what no object holds.
  fc.constant(
    Buffer.from(
      '{"model":"a","__proto__":{"x":1},"model":"m","prompt":"x","input":"x","messages":[{}],"max_tokens":1}',
    ),
  ),
  fc.constantFrom('{', '[]', 'null', '', '{"model":"m"} x').map((json) => Buffer.from(json)),
  body.map((json) => Buffer.concat([Buffer.from(json), Buffer.from([0xff])])),
);
const operations = fc.constantFrom<Operation>(
  CHAT,
  '/v1/completions',
  '/v1/embeddings',
  '/v1/messages',
  '/v1/messages/count_tokens',
);

test('a body that is read in the thread says, asks and is refused as one that is read at once, and upstreams get the same bytes', async (t) => {
  const [thread, atOnce] = [open(t, ALL), open(t, NONE)];
  let asked = 0;
  await fc.assert(
    fc.asyncProperty(operations, bytesOfAny, async (operation, bytes) => {
      const expected = await told(read(atOnce, operation, Buffer.from(bytes)));
      if (expected.outcome === 'Read') asked += 1;
      t.deepEqual(await told(read(thread, operation, Buffer.from(bytes))), expected);
    }),
    { numRuns: 300 },
  );
  t.true(asked > 50, `${asked} were no refusals`);
});

test('a body of 24 MiB leaves the event loop to others while it is read, and while it is written for an upstream', async (t) => {
  const bodies = open(t);
  const bytes = chat('word '.repeat((24 * MIB) / 5), { stream: true });
  const { length } = bytes;
  let call: ReadCall | undefined;
  const reading = await turnsDuring(async () => {
    call = await read(bodies, CHAT, bytes);
  });
  t.true(reading >= 50, `${reading} turns of the loop`);
  t.is(bytes.length, 0, 'the bytes were handed over, not copied');
  t.is(call?.bytes, length);
  let sent: Buffer = Buffer.alloc(0);
  const writing = await turnsDuring(async () => {
    sent = (await call?.encode('vendor', USUAL_FORM)) ?? sent;
  });
  t.true(writing >= 10, `${writing} turns of the loop`);
  t.true(sent.length > length);
  t.is(sent.subarray(0, 18).toString(), '{"model":"vendor",');
  call?.forget();
  t.throws(() => call?.encode('vendor', USUAL_FORM), { message: /let go/ });
});

test('few bytes, and more of plain text, are read at once; what is made of many small pieces is not', (t) => {
  const bodies = open(t);
  t.false(bodies.isLarge(chat('x'.repeat(63 * 1024))));
  t.true(bodies.isLarge(chat('x'.repeat(64 * 1024))));
  t.true(bodies.isLarge(chat('x', { pad: Array.from({ length: 20_000 }, () => ({})) })));
  t.true(bodies.isLarge(chat('x', { pad: Array.from({ length: 20_000 }, () => 1) })), 'numbers as well');
  t.true(bodies.isLarge(Buffer.from(`{${Array.from({ length: 6_000 }, (_, at) => `"${at}":1`).join(',')}}`)));
  t.false(bodies.isLarge(chat('x', { pad: Array.from({ length: 9_000 }, () => ({})) })), 'less than 32 KiB');
});

test('a body that shrinks to few bytes when it is written anew is sent whole, and the next one too', async (t) => {
  const bodies = open(t);
  const padded = (): Buffer => Buffer.concat([Buffer.alloc(300 * 1024, ' '), chat('Hello')]);
  for (let times = 0; times < 3; times += 1) {
    const call = await read(bodies, CHAT, padded());
    t.is((await call.encode('m', USUAL_FORM)).toString(), chat('Hello').toString());
  }
});

test('a body that is written longer than it came is counted in the memory of bodies, and refused where that has no room', async (t) => {
  const bodies = open(t, ALL);
  const grows = (): Buffer =>
    Buffer.from(
      chat('x', { pad: ['PAD'] })
        .toString()
        .replace('"PAD"', Array.from({ length: 1_000 }, () => '1e20').join()),
    );
  const held: number[] = [];
  const call = await read(bodies, CHAT, grows(), { hold: (more) => held.push(more) > 0 });
  t.deepEqual(held, [
    (await call.encode('m', USUAL_FORM)).length + '01234567-0123-0123-0123-0123456789ab'.length - 1 - grows().length,
  ]);
  const refused = await told(read(bodies, CHAT, grows(), { hold: () => false }));
  t.like(refused, { outcome: 'Refused', refusal: { code: 'TooManyRequests', retryAfterSeconds: 1 } });
});

test('a body of too many objects is refused before it is parsed, with what to do', async (t) => {
  const pieces = '{},'.repeat(MOST_PIECES);
  const bytes = Buffer.from(`{"model":"m","messages":[${pieces}{}]}`);
  const refused = await told(read(open(t), CHAT, bytes));
  t.like(refused, { outcome: 'Refused', refusal: { code: 'RequestEntityTooLarge' } });
  t.regex(JSON.stringify(refused), /at most 250000 objects, lists and strings/);
  const { outcome } = readLarge({ operation: CHAT, bytes: Buffer.from('{"model":"m","messages":[{}]}') }, 'mark');
  t.is(outcome, 'Request');
});

test('a thread that dies refuses what it had in hand with Unavailable, and the line goes on in a new one', async (t) => {
  const workers: Worker[] = [];
  const bodies = open(t, {
    ...ALL,
    started(worker) {
      workers.push(worker);
      if (workers.length === 1) void worker.terminate();
    },
  });
  const lost = told(read(bodies, CHAT, chat('Hello')));
  const waits = told(read(bodies, CHAT, chat('Hello')));
  t.like(await lost, { outcome: 'Refused', refusal: { code: 'Unavailable', retryAfterSeconds: 1 } });
  t.is((await waits).outcome, 'Read');
  t.is((await told(read(bodies, CHAT, chat('Hello')))).outcome, 'Read');
  t.is(workers.length, 2);
});

test('a thread that fails is told to the operator; a body that took all of its memory is too large, any other may be sent again', async (t) => {
  const errors = [new Error('a fault'), Object.assign(new Error('full'), { code: 'ERR_WORKER_OUT_OF_MEMORY' })];
  const noted: Error[] = [];
  const left = [...errors];
  const bodies = open(t, {
    ...ALL,
    note: (error) => noted.push(error),
    started(worker) {
      const error = left.shift();
      if (error !== undefined) queueMicrotask(() => worker.emit('error', error));
    },
  });
  const codes = [];
  for (let times = 0; times < 3; times += 1) {
    const result = await told(read(bodies, CHAT, chat('Hello')));
    codes.push(result.outcome === 'Refused' ? result.refusal.code : result.outcome);
  }
  t.deepEqual(codes, ['Unavailable', 'RequestEntityTooLarge', 'Read']);
  t.deepEqual(noted, errors);
});

test('a thread without work ends, which gives its memory back, and the next body starts another', async (t) => {
  const workers: Worker[] = [];
  const bodies = open(t, { ...ALL, idleMs: 20, started: (worker) => workers.push(worker) });
  t.is((await told(read(bodies, CHAT, chat('x'.repeat(MIB))))).outcome, 'Read');
  const [first] = workers;
  if (first !== undefined && first.threadId > 0) await once(first, 'exit');
  t.is((await told(read(bodies, CHAT, chat('Hello')))).outcome, 'Read');
  t.is(workers.length, 2);
});

test('orgs take turns, the line of one has an end, and who leaves it leaves its place', async (t) => {
  const bodies = open(t, ALL);
  const order: string[] = [];
  const send = async (org: string): Promise<string> => {
    const result = await told(read(bodies, CHAT, chat('x'.repeat(MIB / 4)), { org }));
    order.push(org);
    return result.outcome === 'Read' ? 'Read' : result.refusal.code;
  };
  const leaving = new AbortController();
  const first = send('greedy');
  const unread = chat('x'.repeat(MIB / 4));
  const left = t.throwsAsync(read(bodies, CHAT, unread, { org: 'greedy', gone: leaving.signal }), { message: 'gone' });
  const many = Array.from({ length: 64 }, () => send('greedy'));
  const modest = send('modest');
  leaving.abort(new Error('gone'));
  await left;
  const more = send('greedy');
  t.is(await modest, 'Read');
  t.true(order.filter((org) => org === 'greedy').length <= 3, order.join());
  const outcomes = await Promise.all([first, ...many, more]);
  t.is(
    outcomes.filter((one) => one === 'TooManyRequests').length,
    1,
    'one in hand, one that left, 63 wait; then one more',
  );
  t.is(outcomes.at(-1), 'Read');
  t.true(unread.length > 0, 'what has left the line is not given to the thread');
});

test('a large answer of an upstream says what it has used, and its bytes come back as they were', async (t) => {
  const bodies = open(t);
  const value = {
    choices: [{ message: { content: 'ä'.repeat(MIB) } }],
    usage: { prompt_tokens: 3, completion_tokens: 5 },
  };
  const json = JSON.stringify(value);
  const bytes = Buffer.from(json);
  t.true(bodies.isLarge(bytes));
  const task = { answerTo: '/v1/chat/completions', bytes } as const;
  const answered = await bodies.readAnswer('acme', task, new AbortController().signal);
  if (answered.outcome !== 'Answer') return t.fail(answered.outcome);
  t.is(answered.error, undefined);
  t.like(answered.usage, { inputTokens: 3, outputTokens: 5 });
  t.is(answered.outputBytes, 2 * MIB);
  t.is(Buffer.from(answered.bytes.buffer).toString(), json);
});

test('an answer of millions of pieces, or none at all, holds up nobody and is unreadable', async (t) => {
  const bodies = open(t);
  const signal = new AbortController().signal;
  const odd = (json: string) => ({ answerTo: '/v1/chat/completions', bytes: Buffer.from(json) }) as const;
  const outcomes: string[] = [];
  const turns = await turnsDuring(async () => {
    for (const json of [`[${'[],'.repeat(4 * MIB)}0]`, '{'.repeat(2 * MIB), `"${'a'.repeat(2 * MIB)}`]) {
      outcomes.push((await bodies.readAnswer('acme', odd(json), signal)).outcome);
    }
  });
  t.true(turns > 3, `${turns} turns`);
  t.deepEqual(outcomes, ['Unreadable', 'Unreadable', 'Unreadable']);
});
