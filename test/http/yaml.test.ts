/** Large YAML is read beside the event loop, by one thread with bounds. */
import test from 'ava';
import { parse } from 'yaml';
import { parseBody } from '../../src/api/json.js';
import { openYamlReader } from '../../http/yaml/reader.js';
import { openYamlWriter } from '../../http/yaml/writer.js';
import { at } from './support/json.js';
import { bearer, IN_DEFAULT, KEYS, openTestApi } from './support/test-api.js';

const LARGE = Buffer.from(Array.from({ length: 4_000 }, (_, i) => `key${i}: {a: [${i}, text]}\n`).join(''));

test('a large body is read in a thread while the event loop goes on, and comes out as a small one would', async (t) => {
  const reader = openYamlReader(300_000); // the machine of a test may be busy
  t.teardown(() => reader.close());
  let turns = 0;
  const count = (): void => {
    turns += 1;
    turning = setImmediate(count);
  };
  let turning = setImmediate(count);
  const read = await reader.read('acme', LARGE);
  clearImmediate(turning);
  t.true(turns > 0, 'the loop was not held');
  t.deepEqual(read, parseBody(LARGE, 'yaml'));
  const broken = await reader.read('acme', Buffer.concat([LARGE, Buffer.from('key0: [')]));
  t.is(broken.outcome, 'Refused');
  t.is((await reader.read('acme', Buffer.from('a: 1'))).outcome, 'Parsed');
});

test('what takes too long is refused, what is too much to wait for as well, and the reader goes on', async (t) => {
  const reader = openYamlReader(1);
  t.teardown(() => reader.close());
  await t.throwsAsync(reader.read('acme', LARGE), { message: /too long to read/ });
  const many = await Promise.allSettled(Array.from({ length: 40 }, () => reader.read('acme', LARGE)));
  const messages = many.map((one) => (one.status === 'rejected' ? String(one.reason) : 'read'));
  t.is(messages.filter((message) => message.includes('too many large YAML bodies')).length, 7);
  t.is(
    messages.filter((message) => message.includes('too long')).length,
    33,
    'each has a thread of its own to fail in',
  );
});

/** Takes the writer for some 10 ms; 50,000 values take it for most of a second. */
const VALUES = Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`key-${i}`, [i, `text ${i}`]]));

test('orgs take turns: what one has sent much of holds up another by one piece', async (t) => {
  const writer = openYamlWriter();
  t.teardown(() => writer.close());
  const json = Buffer.from(JSON.stringify(VALUES));
  const order: string[] = [];
  const write = async (org: string): Promise<void> => {
    await writer.write(org, json);
    order.push(org);
  };
  await Promise.all([write('greedy'), write('greedy'), write('greedy'), write('modest')]);
  t.deepEqual(order, ['greedy', 'greedy', 'modest', 'greedy']);
});

test('a large object is answered as YAML while light requests go between, and a write that is done is answered in any case', async (t) => {
  const api = await openTestApi(t);
  await api.make('Secret', 'secrets', 'large', { values: VALUES });
  await api.make('Secret', 'secrets', 'small');
  const path = `${IN_DEFAULT}/secrets/large`;
  const yaml = { headers: { ...bearer(KEYS.owner), accept: 'application/yaml' } };
  let between = 0;
  let over = false;
  const large = api.call(path, yaml).then(async (answer) => ({ answer, text: await answer.text() }));
  void large.finally(() => (over = true));
  while (!over) {
    t.is((await api.call(`${IN_DEFAULT}/secrets/small`, { headers: bearer(KEYS.owner) })).status, 200);
    between += 1;
  }
  const { answer, text } = await large;
  t.is(answer.status, 200);
  t.is(answer.headers.get('content-type'), 'application/yaml');
  t.deepEqual(at(parse(text), 'spec.values'), VALUES);
  t.true(between > 3, `${between} light requests`);

  const reads = await Promise.all(Array.from({ length: 45 }, () => api.call(path, yaml)));
  const refused = reads.filter(({ status }) => status === 503);
  t.true(refused.length >= 1 && reads.some(({ status }) => status === 200));
  t.regex(String(at(await refused[0]?.json(), 'fix')), /application\/json/);

  const headers = { ...yaml.headers, 'content-type': 'application/merge-patch+json' };
  const body = '{"metadata":{"labels":{"a":"b"}}}';
  const writes = await Promise.all(
    Array.from({ length: 45 }, () => api.call(path, { method: 'PATCH', headers, body })),
  );
  t.deepEqual([...new Set(writes.map(({ status }) => status))], [200]);
  const asJson = writes.find((write) => write.headers.get('content-type') === 'application/json');
  t.regex(asJson?.headers.get('warning') ?? '', /too many large answers/);
});
