/** Which texts are found to hold the value of a Secret, and which by chance look like one. */
import test from 'ava';
import { recognise } from '../../storage/envelope/recognise.js';

const found = (value: string, ...texts: string[]): readonly number[] => recognise([Buffer.from(value)], texts);

test('a long value is found anywhere in a text', (t) => {
  t.deepEqual(found('s3cr3t-value', 'a', 's3cr3t-value', 'https://me:s3cr3t-value@host/', 's3cr3t-valu'), [1, 2]);
  t.deepEqual(found('pässwörd', 'x=pässwörd'), [0]);
});

test('a short value counts only when it is the whole text', (t) => {
  t.deepEqual(found('hunter2', 'hunter2', 'hunter22', 'my hunter2'), [0]);
});

test('what stands in every environment is not taken for a secret', (t) => {
  for (const word of ['true', 'FALSE', '1', '8080', 'production', 'debug', 'abc', ''])
    t.deepEqual(found(word, word), []);
});

test('any of several values is found, each text is named once', (t) => {
  const values = [Buffer.from('first-value'), Buffer.from('second-value')];
  t.deepEqual(recognise(values, ['first-value second-value', 'none', 'second-value']), [0, 2]);
  t.deepEqual(recognise([], ['anything']), []);
});
