/**
 * The catalog, the prices and the upstreams of a service under test: Model `echo`, and the Models of the tests, each with an upstream that a test
 * plays. Health is kept by route, so each test that makes an upstream fail has one of its own.
 */
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openUpstreams, type Upstreams } from './upstreams.js';

const SHIPPED = fileURLToPath(new URL('../../../../ops/catalog/', import.meta.url));
const AS_SHIPPED = ['environments.yaml', 'images.yaml', 'offerings.yaml', 'trainingruntimes.yaml'];

/** Keys of the operator's, in the forms of both vendors. */
export const OPERATOR_KEY = 'sk-operator-5d1f0c9b';
const KEY_VARIABLE = 'TEST_UPSTREAM_KEY';

interface Entry {
  readonly dialect?: 'OpenAI' | 'Anthropic';
  /** Name of the Model, when it is another's. */
  readonly model?: string;
  readonly priority?: number;
  readonly timeouts?: Readonly<Record<string, string>>;
  readonly images?: boolean;
  readonly fetchImages?: boolean;
  /** Of the Model; else those of text. */
  readonly operations?: readonly string[];
  readonly price?: Readonly<Record<string, string | number>>;
  /** Of the Model (RFC 3339). */
  readonly deprecationTime?: string;
}

const short = { firstByte: '400ms' };
const anthropic = { dialect: 'Anthropic' } as const;
const HEARS = ['/v1/audio/transcriptions'];
const SPEAKS = ['/v1/audio/speech'];

/** By the name of the upstream, which the Model has too. */
const UPSTREAMS: Readonly<Record<string, Entry>> = {
  ...{
    passing: {},
    'passing-claude': anthropic,
    returning: {},
    eyes: { images: true },
    'far-eyes': { images: true, fetchImages: true },
    retired: { deprecationTime: '2025-01-01T00:00:00Z' },
    retiring: { deprecationTime: '2099-01-01T00:00:00Z' },
    blind: {},
    'blind-claude': anthropic,
  },
  ...{ 'first-fails': { model: 'failing-over' }, 'then-answers': { model: 'failing-over', priority: 1 } },
  ...{ 'first-late': { model: 'late', timeouts: short }, 'then-there': { model: 'late', priority: 1 } },
  ...{ 'first-broken': { model: 'broken-once' }, 'never-asked': { model: 'broken-once', priority: 1 } },
  ...{ 'first-strict': { model: 'strict' }, 'not-asked': { model: 'strict', priority: 1 }, 'strict-claude': anthropic },
  ...{ limited: {}, 'limited-claude': anthropic, failing: {}, 'failing-claude': anthropic },
  ...{ silent: { timeouts: short }, 'silent-claude': { ...anthropic, timeouts: short }, moved: {}, elsewhere: {} },
  ...{
    gated: {},
    'gated-too': {},
    counted: {},
    refunded: {},
    'left-early': {},
    'left-late': {},
    'left-running': {},
    over: {},
    'over-claude': anthropic,
  },
  ...{ trickle: {}, 'trickle-claude': anthropic, 'cut-off': {}, 'cut-off-claude': anthropic, 'cut-character': {} },
  ...{ 'trickle-bytes': {}, 'counts-end': {}, 'no-end': {}, 'no-newline': {} },
  ...{ 'breaks-off': {}, 'breaks-silent': { timeouts: { idle: '300ms' } }, 'breaks-nonsense': {} },
  ...{ nonsense: {}, 'no-utf8': {}, fails: {}, 'fails-claude': anthropic },
  ...{ stalled: { timeouts: { idle: '400ms' } }, lines: {}, revoked: {}, 'revoked-whole': {} },
  ...{
    'left-late-claude': anthropic,
    'half-told-claude': anthropic,
    'tells-nothing': {},
    'tells-early': {},
    'told-amounts': {},
    'in-bytes': {},
  },
  ...{
    'chat-only': { images: true },
    'claude-only': { ...anthropic, images: true },
    'agent-chat': {},
    'agent-claude': anthropic,
  },
  ...{
    'hears-seconds': { operations: HEARS, price: { audioPerSecondUSD: '0.01', audioMinimumSeconds: 2 } },
    'hears-tokens': { operations: HEARS },
    'speaks-characters': { operations: SPEAKS, price: { speechPerMillionCharactersUSD: '15.00' } },
    'speaks-tokens': { operations: SPEAKS },
  },
  ...{ flood: {}, brief: {}, lasting: {}, load: {}, private: {}, 'private-claude': anthropic },
};

/** By the name of the Model: in and out, for a million tokens. */
export const PRICE = { inputPerMillionTokensUSD: '1.00', outputPerMillionTokensUSD: '2.00' };
export const MOST_OUTPUT = 1_000;

function modelOf({ images = false, dialect = 'OpenAI', deprecationTime, operations }: Entry): object {
  return {
    ...(deprecationTime !== undefined && { deprecationTime }),
    ...{ contextTokens: 1_000_000, maxOutputTokens: MOST_OUTPUT, imageTokenAllowance: 500 },
    modalities: { input: images ? ['Text', 'Image'] : ['Text'], output: ['Text'] },
    operations:
      operations ??
      (dialect === 'OpenAI'
        ? ['/v1/chat/completions', '/v1/completions', '/v1/embeddings']
        : ['/v1/messages', '/v1/messages/count_tokens']),
    capabilities: { jsonSchema: true, streaming: true, tools: true },
  };
}

export interface TestCatalog {
  readonly upstreams: Upstreams;
  /** Settings of a service that has it. */
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

export async function openCatalog(): Promise<TestCatalog> {
  const upstreams = await openUpstreams();
  const directory = await mkdtemp(join(tmpdir(), 'troupe-models-'));
  await mkdir(join(directory, 'catalog'));
  const at = (name: string): string => join(directory, 'catalog', name);
  for (const name of AS_SHIPPED) await copyFile(join(SHIPPED, name), at(name));
  const all = Object.entries(UPSTREAMS).map(([name, entry]) => [name, entry.model ?? name, entry] as const);
  const models = Object.fromEntries(all.map(([, model, entry]) => [model, modelOf(entry)]));
  const shipped = await readFile(join(SHIPPED, 'models.yaml'), 'utf8');
  // JSON is YAML as well; of the models that are shipped `echo` alone, which stands first.
  const [echo = ''] = shipped.split(/^haiku-4\.5:$/m);
  await writeFile(at('models.yaml'), `${echo}\n${yaml(models)}`);
  const prices = await readFile(join(SHIPPED, 'pricebook.yaml'), 'utf8');
  const priceOf = new Map(all.map(([, model, { price = PRICE }]) => [model, price]));
  const own = Object.keys(models).map((model) => `  ${model}: ${JSON.stringify(priceOf.get(model))}\n`);
  await writeFile(
    join(directory, 'prices.yaml'),
    prices
      .replace(/^pricebookVersion: .*$/m, "pricebookVersion: 'test'")
      .replace(/^models:$/m, `models:\n${own.join('')}`),
  );
  const entries = all.map(([name, model, { dialect = 'OpenAI', priority = 0, timeouts = {}, fetchImages }]) => ({
    ...(fetchImages !== undefined && { fetchImages }),
    ...{ name, dialect, baseURL: `${upstreams.url}/${name}/v1`, key: { env: KEY_VARIABLE }, priority, timeouts },
    ...{ maxConcurrent: 2_000, headers: { 'x-operator': 'fixed' }, models: [{ name: model, as: `vendor-${model}` }] },
  }));
  await writeFile(join(directory, 'upstreams.yaml'), JSON.stringify({ echo: true, upstreams: entries }));
  return {
    upstreams,
    env: {
      TROUPE_COMPUTE: 'off',
      TROUPE_CATALOG_DIR: join(directory, 'catalog'),
      TROUPE_PRICEBOOK: join(directory, 'prices.yaml'),
      TROUPE_UPSTREAMS: join(directory, 'upstreams.yaml'),
      [KEY_VARIABLE]: OPERATOR_KEY,
    },
    async close() {
      await upstreams.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function yaml(models: Readonly<Record<string, object>>): string {
  return Object.entries(models)
    .map(([name, spec]) => `${name}: ${JSON.stringify(spec)}\n`)
    .join('');
}
