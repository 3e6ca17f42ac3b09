import test from 'ava';
import fc from 'fast-check';
import { countTokens as exactly } from 'gpt-tokenizer/encoding/o200k_base';
import { anthropic } from '../../../src/engines/inference/dialects/anthropic/index.js';
import { openai } from '../../../src/engines/inference/dialects/openai/index.js';
import { digitsOf, inputBound, MOST_TOKENIZED_BYTES } from '../../../src/engines/inference/tokens/count.js';
import { estimateTokens } from '../../../src/engines/inference/tokens/estimate.js';
import { loadTokenizer, TOKENIZERS } from '../../../src/engines/inference/tokens/tokenizers.js';
import { requestOf } from './dialects/support.js';
import { tries } from '../../support/extent.js';

const chat = (content: unknown, members: object = {}) =>
  requestOf(openai, '/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content }], ...members });
const bytesOf = (body: object): number => Buffer.byteLength(JSON.stringify(body));

test('named tokenizers count as they are known to, and special tokens are text', async (t) => {
  const [o200k, cl100k] = await Promise.all(TOKENIZERS.map(loadTokenizer));
  t.is(o200k?.('hello world'), 2);
  t.is(cl100k?.('antidisestablishmentarianism'), 6);
  t.is(o200k?.(''), 0);
  t.true((o200k?.('<|endoftext|>') ?? 0) > 1);
  t.true((cl100k?.('a<|im_start|>system<|im_end|>') ?? 0) > 3);
});

test('texts without endless words are counted exactly; of those with one, no fewer tokens are counted', async (t) => {
  const count = await loadTokenizer('o200k_base');
  const options = { disallowedSpecial: new Set<string>() };
  const word = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 8 }),
    fc.constantFrom(' ', '\n', '  \t', 'word', "I'll", '漢字', '😀', '{"a": 1}'),
  );
  const long = fc
    .tuple(word, fc.integer({ min: 100, max: 400 }))
    .map(([unit, times]) => unit.repeat(times).slice(0, 500));
  fc.assert(
    fc.property(fc.array(word, { maxLength: 30 }), fc.array(long, { maxLength: 2 }), (words, longs) => {
      const text = words.join('');
      if (!/\S{85}|\s{85}/u.test(text)) t.is(count(text), exactly(text, options));
      const mixed = [text, ...longs, text].join(' ');
      t.true(count(mixed) >= exactly(mixed, options), JSON.stringify(mixed));
    }),
    { numRuns: tries(200) },
  );
});

test('the worst texts that are tokenized take time by their length, not by its square', async (t) => {
  const bytes = MOST_TOKENIZED_BYTES;
  const texts = ['a', ' ', '\n', '😀', 'é', '!', '<|endoftext|>', `${'x'.repeat(255)} `, `${' '.repeat(250)}a`];
  for (const name of TOKENIZERS) {
    const count = await loadTokenizer(name);
    count('a b c');
    const began = process.cpuUsage();
    for (const unit of texts) {
      const times = Math.floor(bytes / Buffer.byteLength(unit));
      t.true(count(unit.repeat(times)) > 0);
    }
    const { user, system } = process.cpuUsage(began);
    // 30 ms each at most; an endless word of this length would take 800 ms on its own.
    t.true(user + system < 900_000, `${name}: ${(user + system) / 1_000} ms`);
  }
});

test('without a tokenizer, the bound is the bytes of the body; images count by themselves', (t) => {
  const data = `data:image/png;base64,${'A'.repeat(40_000)}`;
  const request = chat([
    { type: 'text', text: 'What is this?' },
    { type: 'image_url', image_url: { url: data } },
  ]);
  const bytes = bytesOf(request.body);
  t.is(inputBound(request, bytes, { imageTokens: 1_600 }), bytes - data.length + 1_600);
  t.is(inputBound(chat('a'), 100, { imageTokens: 1_600 }), 100);
});

test('with a tokenizer, short texts are counted with what a template puts around them, and long ones by their bytes', async (t) => {
  const countTokens = await loadTokenizer('o200k_base');
  const prose = 'The quick brown fox jumps over the lazy dog. '.repeat(100);
  const options = { imageTokens: 1_000, countTokens };
  const request = chat(prose);
  t.is(inputBound(request, bytesOf(request.body), options), countTokens(prose) + 8 + 64);
  const long = chat(prose.repeat(10));
  t.is(inputBound(long, bytesOf(long.body), options), bytesOf(long.body));
  const tiny = chat('a');
  t.is(inputBound(tiny, bytesOf(tiny.body), options), Math.min(bytesOf(tiny.body), 73), 'the lesser of both bounds');
});

test('tools add what a vendor puts into the prompt for them, more for those that the vendor describes itself', (t) => {
  const tool = { type: 'function', function: { name: 'f' } };
  t.is(inputBound(chat('a', { tools: [tool] }), 100, { imageTokens: 0 }), 612);
  const messages = [{ role: 'user', content: 'a' }];
  const tools = [{ name: 'f' }, { type: 'bash_20250124', name: 'bash' }];
  const request = requestOf(anthropic, '/v1/messages', { model: 'm', max_tokens: 1, messages, tools });
  t.is(inputBound(request, 100, { imageTokens: 0 }), 100 + 512 + 2_048);
});

test('the bound is never below what the texts of a request really have', async (t) => {
  const countTokens = await loadTokenizer('o200k_base');
  const options = { disallowedSpecial: new Set<string>() };
  const text = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 200 }), fc.string({ unit: 'binary', maxLength: 50 }));
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 5 }), fc.boolean(), (texts, named) => {
      const messages = texts.map((content) => ({ role: 'user', content }));
      const request = requestOf(openai, '/v1/chat/completions', { model: 'm', messages });
      const real = texts.reduce((sum, one) => sum + exactly(one, options) + 5, 3);
      const bound = inputBound(request, bytesOf(request.body), {
        imageTokens: 0,
        countTokens: named ? countTokens : undefined,
      });
      t.true(bound >= real, `${bound} is less than ${real}`);
    }),
    { numRuns: tries(200) },
  );
});

test('output that nobody counted is a token for three bytes', (t) => {
  t.deepEqual([0, 1, 3, 4, 300].map(estimateTokens), [0, 1, 1, 2, 100]);
});

test('numbers count with the digits that they go on with, though a client may write them shorter', (t) => {
  const text = `{"tools":[{"enum":[${Array.from({ length: 100 }, () => '1e20').join()}, 7, 1e3]}],"messages":["1e20"]}`;
  const body: unknown = JSON.parse(text);
  t.true(text.length + digitsOf(body) >= JSON.stringify(body).length);
  t.is(digitsOf({ a: [1, 0.5, 'x'], b: null }), 0);
});
