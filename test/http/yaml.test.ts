/** Large YAML is read beside the event loop, by one thread with bounds. */
import test from 'ava';
import { parseBody } from '../../src/api/json.js';
import { openYamlReader } from '../../http/yaml/reader.js';

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
  const read = await reader.read(LARGE);
  clearImmediate(turning);
  t.true(turns > 0, 'the loop was not held');
  t.deepEqual(read, parseBody(LARGE, 'yaml'));
  const broken = await reader.read(Buffer.concat([LARGE, Buffer.from('key0: [')]));
  t.is(broken.outcome, 'Refused');
  t.is((await reader.read(Buffer.from('a: 1'))).outcome, 'Parsed');
});

test('what takes too long is refused, what is too much to wait for as well, and the reader goes on', async (t) => {
  const reader = openYamlReader(1);
  t.teardown(() => reader.close());
  await t.throwsAsync(reader.read(LARGE), { message: /too long to read/ });
  const many = await Promise.allSettled(Array.from({ length: 40 }, () => reader.read(LARGE)));
  const messages = many.map((one) => (one.status === 'rejected' ? String(one.reason) : 'read'));
  t.is(messages.filter((message) => message.includes('too many large YAML bodies')).length, 7);
  t.is(
    messages.filter((message) => message.includes('too long')).length,
    33,
    'each has a thread of its own to fail in',
  );
});
