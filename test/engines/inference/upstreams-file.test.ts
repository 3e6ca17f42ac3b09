import test from 'ava';
import { loadUpstreams } from '../../../src/engines/inference/load-upstreams.js';
import { readKeys } from '../../../src/engines/inference/upstream-keys.js';
import { parseUpstreams, withoutFile, type UpstreamsFile } from '../../../src/engines/inference/upstreams-file.js';
import { FREE_BOOK } from '../../../src/money/price-book.js';

const CATALOG = {
  models: new Set(['echo', 'gpt-5-mini', 'sonnet-4.5', 'unpriced']),
  book: { ...FREE_BOOK, models: { echo: {}, 'gpt-5-mini': {}, 'sonnet-4.5': {} } },
};
const SECRET = 'sk-proj-4242424242';

function fileOf(text: string): UpstreamsFile {
  const read = parseUpstreams(text, CATALOG);
  if (read.outcome !== 'Read') throw new Error(read.lines.join('\n'));
  return read.file;
}

function linesOf(text: string, catalog = CATALOG): readonly string[] {
  const read = parseUpstreams(text, catalog);
  return read.outcome === 'Read' ? [] : read.lines;
}

/** An upstream that is right, but for these lines. */
const upstream = (lines: string, rest = '  models: [{ name: gpt-5-mini }]\n'): string =>
  `upstreams:\n- name: a\n  dialect: OpenAI\n  baseURL: http://127.0.0.1:1/v1\n${lines}${rest}`;

test('A whole file is read, and what it leaves out has the documented defaults', (t) => {
  const { echo, upstreams } = fileOf(`
echo: false
upstreams:
  - name: openai
    dialect: OpenAI
    baseURL: https://api.openai.com/v1
    key: { env: OPENAI_API_KEY }
    headers: { OpenAI-Project: proj }
    class: Ours
    priority: 2
    weight: 7
    maxConcurrent: 12
    timeouts: { connect: 1s500ms, firstByte: 2m }
    models:
      - { name: gpt-5-mini, as: gpt-5-mini-2026-01, tokenizer: o200k_base }
  - { name: local, dialect: Anthropic, baseURL: 'http://127.0.0.1:8000', models: [{ name: sonnet-4.5 }] }
`);
  t.false(echo);
  t.deepEqual(upstreams[0], {
    ...{ name: 'openai', dialect: 'OpenAI', baseURL: 'https://api.openai.com/v1', key: { env: 'OPENAI_API_KEY' } },
    ...{ headers: { 'OpenAI-Project': 'proj' }, class: 'Ours', priority: 2, weight: 7, maxConcurrent: 12 },
    timeouts: { connect: 1_500, firstByte: 120_000, idle: 60_000 },
    models: [{ name: 'gpt-5-mini', as: 'gpt-5-mini-2026-01', tokenizer: 'o200k_base', thinking: 'budget' }],
  });
  t.like(upstreams[1], { class: 'External', priority: 0, weight: 1, maxConcurrent: 256, headers: {} });
  t.deepEqual(upstreams[1]?.timeouts, { connect: 5_000, firstByte: 120_000, idle: 60_000 });
});

test('Without a file, and in one that does not say, the embedded upstream serves echo where it is a Model with a price', (t) => {
  t.deepEqual(withoutFile(CATALOG), { echo: true, upstreams: [] });
  t.false(withoutFile({ ...CATALOG, book: FREE_BOOK }).echo);
  t.true(fileOf('upstreams: []').echo);
  t.regex(
    linesOf('echo: true', { ...CATALOG, models: new Set() }).join('\n'),
    /^echo: there is no Model echo\. Add it/,
  );
});

test('Every fault of the file is a line with the field, the reason and the next step', (t) => {
  const one = (text: string, fault: RegExp): void => {
    const lines = linesOf(text);
    t.true(lines.length === 1 && fault.test(lines[0] ?? ''), `${fault} for ${text} gave\n${lines.join('\n')}`);
  };
  one(upstream('  api_key: x\n'), /^upstreams\.0\.api_key: there is no such field\. Remove it/);
  one(upstream('  weight: 0\n'), /^upstreams\[0\]\.weight: .*at least 1/);
  one(upstream('  weight: 1001\n'), /^upstreams\[0\]\.weight: .*at most 1000/);
  one(upstream('  maxConcurrent: 10001\n'), /^upstreams\[0\]\.maxConcurrent: .*at most 10000/);
  one(
    upstream('  timeouts: { idle: fast }\n'),
    /^upstreams\[0\]\.timeouts\.idle: .*must be a duration between 10ms and 1h/,
  );
  one(upstream('  headers: { Authorization: Bearer }\n'), /^upstreams\[0\]\.headers.*set by the service/);
  one(upstream('  headers: { host: a }\n'), /set by the service/);
  one(upstream('  headers: { Transfer-Encoding: chunked }\n'), /set by the service/);
  one(upstream('  headers: { x-a: "a\\r\\nb: c" }\n'), /^upstreams\[0\]\.headers\.x-a: .*printable/);
  one(upstream('  key: { env: TROUPE_MASTER_KEY }\n'), /^upstreams\[0\]\.key\.env: .*must not begin with TROUPE_/);
  one(
    upstream('', '  models: [{ name: gpt-5-mini }, { name: gpt-5-mini, as: b }]\n'),
    /^upstreams\[0\]\.models\[1\]\.name: gpt-5-mini stands in this upstream twice\./,
  );
  one(
    upstream('', '  models: [{ name: gpt-9 }]\n'),
    /^upstreams\[0\]\.models\[0\]\.name: there is no Model gpt-9\. Add it/,
  );
  one(
    upstream('', '  models: [{ name: unpriced }]\n'),
    /^upstreams\[0\]\.models\[0\]\.name: Model unpriced has no price\. Add models\.unpriced/,
  );
  one(upstream('', '  models: []\n'), /^upstreams\[0\]\.models: /);
  one(upstream('', ''), /^upstreams\[0\]\.models: Required value: .*\. Add it\./);
  one(upstream('', '  models: [{ name: gpt-5-mini, tokenizer: p50k }]\n'), /tokenizer: Unsupported value.*o200k_base/);
  one(
    `${upstream('')}${upstream('').replace('upstreams:\n', '')}`,
    /^upstreams\[1\]\.name: a names another upstream too\./,
  );
  one(`${upstream('')}upstreams: []\n`, /^upstreams: stands there twice/);
  one('upstreams: [', /^the file is not valid YAML: line 1/);
  for (const wrong of [
    'api.openai.com/v1',
    'ftp://a/v1',
    'https://me:word@a/v1',
    'https://a/v1?key=b',
    'https://a/v1#b',
    'https://a/v1?',
  ]) {
    one(upstream('').replace('http://127.0.0.1:1/v1', `'${wrong}'`), /^upstreams\[0\]\.baseURL: .*without credentials/);
  }
  t.is(linesOf('upstreams: [{ name: A_B, dialect: Google }]').length, 4, 'name, dialect, baseURL and models');
});

test('A key that stands where it does not belong is not repeated in a message', (t) => {
  for (const text of [
    upstream(`  key: ${SECRET}\n`),
    upstream(`  key: { env: ${SECRET} }\n`),
    upstream(`  key: { value: ${SECRET} }\n`),
    upstream(`  key: [${SECRET}]\n`),
    upstream(`  headers: { authorization: Bearer ${SECRET} }\n`),
    upstream(`  headers: { x-key: "${SECRET}\\n" }\n`),
    upstream(`  headers: ${SECRET}\n`),
    upstream('').replace('127.0.0.1:1', `key:${SECRET}@127.0.0.1`),
    upstream(`  key: "${SECRET}\n`),
  ]) {
    const lines = linesOf(text);
    t.true(lines.length > 0, text);
    t.false(lines.join('\n').includes(SECRET), lines.join('\n'));
  }
});

test('Keys are read from the environment and from files; a missing or broken one is a line that repeats nothing of it', async (t) => {
  const { upstreams } = fileOf(
    upstream('  key: { env: A_KEY }\n') +
      upstream('  key: { file: /run/b }\n').replace('upstreams:\n- name: a', '- name: b'),
  );
  const readFile = (path: string): Promise<string> =>
    path === '/run/b' ? Promise.resolve(`${SECRET}\n`) : Promise.reject(new Error(SECRET));
  const good = await readKeys(upstreams, { env: { A_KEY: 'a' }, readFile });
  t.deepEqual(good, {
    outcome: 'Read',
    keys: new Map([
      ['a', 'a'],
      ['b', SECRET],
    ]),
  });
  const bad = await readKeys(upstreams, {
    env: { A_KEY: `${SECRET}\n${SECRET}` },
    readFile: () => Promise.reject(new Error(SECRET)),
  });
  const lines = bad.outcome === 'Invalid' ? bad.lines : [];
  t.is(lines.length, 2);
  t.regex(lines[0] ?? '', /^upstreams\[0\]\.key\.env: what it holds is no key\. It must be/);
  t.regex(lines[1] ?? '', /^upstreams\[1\]\.key\.file: \/run\/b cannot be read, or is empty\. Make it readable/);
  t.false(lines.join('\n').includes(SECRET));
  const unset = await readKeys(upstreams.slice(0, 1), { env: {}, readFile });
  t.regex(
    unset.outcome === 'Invalid' ? unset.lines.join() : '',
    /^upstreams\[0\]\.key\.env: environment variable A_KEY is not set\. Set it/,
  );
});

test('Loading the file gives its upstreams with their keys, or lines that begin with its name', async (t) => {
  const files: Record<string, string> = {
    '/etc/good.yaml': upstream('  key: { env: A_KEY }\n'),
    '/etc/bad.yaml': 'echo: 1',
  };
  const readFile = (path: string): Promise<string> => {
    const text = files[path];
    return text === undefined ? Promise.reject(new Error('none')) : Promise.resolve(text);
  };
  const load = (path?: string, env = {}): ReturnType<typeof loadUpstreams> =>
    loadUpstreams(path, CATALOG, { env, readFile });
  t.like(await load(), { outcome: 'Read', file: { echo: true, upstreams: [] }, keys: new Map() });
  const good = await load('/etc/good.yaml', { A_KEY: 'k' });
  t.like(good, { outcome: 'Read', keys: new Map([['a', 'k']]), file: { upstreams: [{ name: 'a' }] } });
  for (const [path, line] of [
    ['/etc/good.yaml', /^good\.yaml: upstreams\[0\]\.key\.env: environment variable A_KEY is not set\./],
    ['/etc/bad.yaml', /^bad\.yaml: echo: .*boolean/],
    ['/etc/none.yaml', /^none\.yaml: cannot be read\. Make it readable/],
  ] as const) {
    const faults = await load(path);
    t.regex(faults.outcome === 'Invalid' ? faults.lines.join('\n') : '', line);
  }
});
