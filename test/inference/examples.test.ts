/** The examples of the gateway and its guide: both official clients call a model, limits and money refuse, and every file of upstreams fits. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text as readAll } from 'node:stream/consumers';
import test from 'ava';
import { parse } from 'yaml';
import { readCatalog } from '../../src/app/catalog/read-catalog.js';
import { readPriceBook } from '../../src/app/catalog/prices.js';
import { modelSpec } from '../../src/kinds/model/schema.js';
import { parsePriceBook } from '../../src/money/price-book.js';
import { parseUpstreams } from '../../src/engines/inference/upstreams-file.js';
import { path, type Client } from '../e2e/client.js';
import { shareRunning, type Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';

const HOME = new URL('../../../', import.meta.url);
const EXAMPLES = 'ops/examples/inference';
const read = (name: string): string => readFileSync(new URL(name, HOME), 'utf8');

let service: Running;
let owner: Client;
test.before(async () => {
  service = await shareRunning(undefined, { env: { TROUPE_COMPUTE: 'off' } });
  owner = service.client();
});
test.after.always(async () => service?.close());

async function run(script: string, env: Readonly<Record<string, string>> = {}): Promise<{ code: number; out: string }> {
  const about = { URL: owner.url, KEY: owner.key, PATH: process.env['PATH'] ?? '', ...env };
  const program = spawn(process.execPath, [`${EXAMPLES}/${script}`], { env: about });
  const said = Promise.all([readAll(program.stdout), readAll(program.stderr)]);
  const [code] = (await once(program, 'exit')) as [number];
  const [out, error] = await said;
  return { code, out: out + error };
}

type Added = Readonly<Record<string, unknown>>;

const HELLO = 'Say hello to the team. (0.00000022 USD)\n';

test('the scripts for both official clients answer, stream, count, and say what each call cost', async (t) => {
  t.deepEqual(await run('openai.mjs'), { code: 0, out: HELLO + HELLO });
  t.deepEqual(await run('anthropic.mjs'), { code: 0, out: `11 tokens: ${HELLO}` });
  const none = await run('openai.mjs', { MODEL: 'none' });
  t.deepEqual(none, { code: 1, out: '404 NotFound: the model "none" does not exist\n' });
  const noMore = await run('anthropic.mjs', { MODEL: 'none' });
  t.is(noMore.out, '404 NotFound: the model "none" does not exist\n');
});

test('through the example of an InferenceEndpoint requests count in its status until a limit refuses, and its cap refuses what may cost more', async (t) => {
  const endpoint = parse(read(`${EXAMPLES}/endpoint.yaml`)) as object;
  t.is((await owner.post(path('inferenceendpoints', 'default'), endpoint)).status, 201);
  const ENDPOINT = 'default/assistant';
  t.deepEqual(await run('openai.mjs', { ENDPOINT }), { code: 0, out: HELLO + HELLO });
  t.is((await run('anthropic.mjs', { ENDPOINT })).code, 0);
  const ask = (more: object) =>
    owner.post(`/endpoints/${ENDPOINT}/v1/chat/completions`, {
      ...{ model: 'echo', messages: [{ role: 'user', content: 'Hello' }] },
      ...more,
    });
  const poor = await ask({ n: 2 });
  t.is(poor.status, 402, poor.text);
  t.regex(poor.text, /spec\.maxCostUSD of InferenceEndpoint \\"assistant\\" refuses the request/);
  t.is(poor.headers.get('retry-after'), null, 'a client would wait for nothing');
  const limited = await ask({ max_tokens: 10 });
  t.is(limited.status, 429, limited.text);
  t.regex(limited.text, /takes 5 requests a minute \(spec\.limits\.rpm\)/);
  t.is(limited.headers.get('x-ratelimit-remaining-requests'), '0');
  let usage: unknown;
  await until('the status has all six of them', async () => {
    const { body } = await owner.get(path('inferenceendpoints', 'default', 'assistant'));
    usage = (body as { status: { usage24h: { requests: number } } }).status.usage24h;
    return (usage as { requests: number }).requests === 6;
  });
  t.like(usage, { costUSD: '0.00000066', errors: 2, inputTokens: 33, outputTokens: 33, openHolds: 0 });
});

test('the metrics tell of the embedded upstream, and of the blocks that requests have drawn on', async (t) => {
  await run('openai.mjs');
  await until('they say so', async () => {
    const { text } = await owner.get('/metrics');
    return (
      text.includes('troupe_upstream_up{upstream="echo"} 1\n') &&
      text.includes('troupe_upstream_in_flight{upstream="echo"} ') &&
      /^troupe_inference_blocks \d+$/m.test(text) &&
      /^troupe_inference_unposted_usd \S+$/m.test(text) &&
      /^troupe_inference_requests_total\{model="echo",operation="\/v1\/chat\/completions",outcome="Done"\} [1-9]/m.test(
        text,
      )
    );
  });
  t.pass();
});

test('the commented file of upstreams and every one in the guide fits the catalog and the price book', async (t) => {
  const { book } = await readPriceBook();
  const catalog = await readCatalog(undefined, book);
  const models = new Set(catalog.filter(({ kind }) => kind.kind === 'Model').map(({ address }) => address.name));
  const blocks = [...read('ops/INFERENCE.md').matchAll(/^```yaml\n([^`]*)```$/gm)].map(([, text = '']) => text);
  // Of the model that the guide adds: its spec, and its price.
  const [spec, price] = blocks.filter((text) => text.startsWith('gpt-5-mini:')).map((text) => parse(text) as Added);
  t.deepEqual(modelSpec.safeParse(spec?.['gpt-5-mini']).error?.issues ?? [], []);
  const pricedBook = `${read('ops/catalog/pricebook.yaml')}  gpt-5-mini: ${JSON.stringify(price?.['gpt-5-mini'])}\n`;
  const priced = parsePriceBook(pricedBook);
  if (priced.outcome !== 'Read') return t.fail(priced.lines.join('\n'));
  const known = { models: new Set([...models, 'gpt-5-mini']), book: priced.book };
  const guide = blocks.filter((text) => text.startsWith('upstreams:'));
  t.true(guide.length >= 5, `${guide.length} files in the guide`);
  for (const [text, fits] of [
    [read(`${EXAMPLES}/upstreams.yaml`), { models, book }] as const,
    ...guide.map((one) => [one, known] as const),
  ]) {
    const parsed = parseUpstreams(text, fits);
    t.is(parsed.outcome, 'Read', parsed.outcome === 'Invalid' ? `${parsed.lines.join('\n')} in\n${text}` : '');
  }
});
