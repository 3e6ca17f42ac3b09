/** The contract with zod's insides (`src/api/zod-internals.ts`): what the service relies on holds in the installed version. */
import { createRequire } from 'node:module';
import test from 'ava';
import { z } from 'zod';
import {
  compiled,
  conditionalCheck,
  definitionOf,
  KNOWN_VERSIONS,
  maximumOf,
  readLoosely,
} from '../../src/api/zod-internals.js';

const messages = (schema: z.ZodType, value: unknown): readonly string[] =>
  (schema.safeParse(value).error?.issues ?? []).map(({ message }) => message);

const fields = z.object({ a: z.string().max(2, 'too long'), b: z.string() });
const whole = fields.check(
  conditionalCheck<z.infer<typeof fields>>(
    ({ value, issues }) => {
      if (value.a.startsWith(value.b)) issues.push({ code: 'custom', input: value, message: 'b begins a' });
    },
    ({ issues }) => issues.every(({ code }) => code === 'too_big'),
  ),
);

test('the installed zod is one that the contract was run with', (t) => {
  const { version } = createRequire(import.meta.url)('zod/package.json') as { readonly version: string };
  t.true(KNOWN_VERSIONS.includes(version), `zod ${version}: run this file with it and add it to KNOWN_VERSIONS`);
});

test('a check with a condition is held beside other complaints, where its condition is true, and only there', (t) => {
  t.deepEqual(messages(whole, { a: 'xx', b: 'y' }), []);
  t.deepEqual(messages(whole, { a: 'xx', b: 'x' }), ['b begins a']);
  t.deepEqual(messages(whole, { a: 'xxx', b: 'x' }), ['too long', 'b begins a']);
  t.is(messages(whole, { a: 'xx' }).length, 1, 'a field has no value, and the check would read it');
});

test('generated code reads as the schema does, and leaves the conditions of its checks as they were', (t) => {
  const quick = compiled(whole);
  t.not(quick, whole, 'it was not compiled');
  for (const value of [{ a: 'xx', b: 'y' }, { a: 'xx', b: 'x' }, { a: 'xxx', b: 'x' }, { a: 'xx' }, null]) {
    t.deepEqual(messages(quick, value), messages(whole, value));
    t.deepEqual(quick.safeParse(value).data, whole.safeParse(value).data);
  }
  t.deepEqual(messages(whole, { a: 'xxx', b: 'x' }), ['too long', 'b begins a']);
});

test('a value with complaints is read all the same, with its defaults', (t) => {
  const schema = z.object({ a: z.string().max(1), b: z.int().default(3) });
  t.deepEqual(readLoosely(schema, { a: 'long' }), { a: 'long', b: 3 });
});

test('the definition of a schema names its type and its parts, and a bound on length its maximum', (t) => {
  t.is(definitionOf(fields).type, 'object');
  t.deepEqual(Object.keys(definitionOf(fields)['shape'] ?? {}), ['a', 'b']);
  const list = definitionOf(z.array(z.string()).min(1).max(7));
  t.is(definitionOf(list['element']).type, 'string');
  t.deepEqual((list['checks'] as readonly unknown[]).map(maximumOf), [undefined, 7]);
  t.is(definitionOf('no schema').type, 'unknown');
});
