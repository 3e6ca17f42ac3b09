import test from 'ava';
import * as fc from 'fast-check';
import { measure, scan } from '../../src/api/json-scan.js';
import { parseBody, parseListBody } from '../../src/api/json.js';
import type { BodyType } from '../../src/api/json.js';
import { depthOf, extentOf, MAX_DEPTH, MAX_VALUES } from '../../src/api/safe-value.js';
import { MAX_YAML_BYTES } from '../../src/api/yaml.js';
import { tries } from '../support/extent.js';

function parse(text: string | Buffer, type: BodyType = 'json') {
  return parseBody(typeof text === 'string' ? Buffer.from(text) : text, type);
}

function refusal(text: string | Buffer, type: BodyType = 'json'): string {
  const parsed = parse(text, type);
  return parsed.outcome === 'Refused' ? `${parsed.refusal.code}: ${parsed.refusal.message}` : 'no refusal';
}

test('malformed JSON is refused with the place and what was expected there', (t) => {
  const cases: [string, RegExp][] = [
    ['{"a":1', /line 1, column 7: the text ends too early: expected ',' or '}'/],
    ['{\n  "a": 1,\n}', /line 3, column 1: expected a member name in double quotes/],
    ['{"a" 1}', /line 1, column 6: expected ':'/],
    ['{"a":}', /line 1, column 6: expected a value/],
    ['{"a":[1 2]}', /line 1, column 9: expected ',' or ']'/],
    ['{"a":"x\ny"}', /line 1, column 8: control characters/],
    ['{"a":"\\x"}', /line 1, column 7: bad escape/],
    ['{"a":"\\u12g4"}', /bad escape/],
    ['{"a":"x', /the text ends too early: the string is not closed/],
    ['{"a":01}', /line 1, column 7: expected ',' or '}'/],
    ["{'a':1}", /expected a member name in double quotes/],
    ['{"a":NaN}', /expected a value/],
    ['{"a":1}{', /line 1, column 8: expected nothing after/],
    ['{"a":+1}', /expected a value/],
    ['', /the body is empty/],
    [' \n', /the body is empty/],
  ];
  for (const [text, expected] of cases) t.regex(refusal(text), expected, text);
});

test('a refusal never quotes the body, which may hold a secret', (t) => {
  for (const text of ['{"password":"hunter2"', '{"password":hunter2}', '{"password":"hunter2\\u0000"}']) {
    t.notRegex(refusal(text), /hunter2/);
  }
  t.notRegex(refusal('password: "hunter2', 'yaml'), /hunter2/);
});

test('a body that is no object is refused, and so is a patch that is no list', (t) => {
  t.is(refusal('[1]'), 'BadRequest: the body must be an object, not a list');
  t.is(refusal('null'), 'BadRequest: the body must be an object, not null');
  t.is(refusal('"x"'), 'BadRequest: the body must be an object, not a string');
  t.is(refusal('- a', 'yaml'), 'BadRequest: the body must be an object, not a list');
  t.is(parseListBody(Buffer.from('[1]'), 'json').outcome, 'Parsed');
  t.is(parseListBody(Buffer.from('{}'), 'json').outcome, 'Refused');
});

const nested = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`;

test('64 levels pass and 65 are refused, also a million, without exhausting the stack', (t) => {
  t.is(parse(nested(MAX_DEPTH)).outcome, 'Parsed');
  t.regex(refusal(nested(MAX_DEPTH + 1)), /nested deeper than 64 levels/);
  t.regex(refusal(`{"a":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`), /nested deeper than 64 levels/);
  t.regex(refusal(`{"a":${'['.repeat(1_000_000)}`), /nested deeper than 64 levels/);
  t.regex(refusal(`a: ${'['.repeat(50_000)}${']'.repeat(50_000)}`, 'yaml'), /nested deeper than 64 levels/);
  t.regex(refusal('- '.repeat(30_000), 'yaml'), /nested deeper than 64 levels/);
  t.regex(refusal(`a: ${'['.repeat(80)}${']'.repeat(80)}`, 'yaml'), /nested deeper than 64 levels/);
});

test('comments count for no level, however they step to the right', (t) => {
  const comments = Array.from({ length: 200 }, (_, level) => `${' '.repeat(level)}# ${level}`).join('\n');
  const parsed = parse(`a:\n${comments}\n  b: '#1'\n`, 'yaml');
  t.deepEqual(parsed.outcome === 'Parsed' && parsed.value, { a: { b: '#1' } });
});

test('a byte order mark before JSON or YAML is passed over, and part of one is no mark', (t) => {
  for (const type of ['json', 'yaml'] as const) {
    const parsed = parse(Buffer.from('\ufeff{"a":1}'), type);
    t.deepEqual(parsed.outcome === 'Parsed' && parsed.value, { a: 1 }, type);
  }
  // The same first byte, or the same first two: letters of the name of a member in YAML.
  for (const letter of ['\uf000', '\uf03f', '\ufec0']) {
    const parsed = parse(`${letter}a: 1`, 'yaml');
    t.deepEqual(parsed.outcome === 'Parsed' && parsed.value, { [`${letter}a`]: 1 });
  }
  t.is(refusal('\ufeff'), 'BadRequest: the body is empty');
});

test('the nesting of YAML is bounded as that of JSON is, in blocks and in brackets', (t) => {
  const block = (levels: number) => Array.from({ length: levels }, (_, at) => `${' '.repeat(at)}a:`).join('\n') + ' 1';
  const flow = (levels: number) => `a: ${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}`;
  for (const write of [block, flow]) {
    t.is(refusal(write(MAX_DEPTH), 'yaml'), 'no refusal');
    t.regex(refusal(write(MAX_DEPTH + 1), 'yaml'), /nested deeper than 64 levels/);
  }
});

test('what ends does not count as nesting, however much of it one YAML body has', (t) => {
  const many = MAX_DEPTH * 2;
  const same = (line: (at: number) => string): string => Array.from({ length: many }, (_, at) => line(at)).join('\n');
  for (const [what, text] of [
    ['lists in brackets', same((at) => `k${at}: [[1], {b: 2}]`)],
    ['blocks that are left', same((at) => `k${at}:\n   - a\n   - b:\n      c: 1`)],
    ['texts with brackets', same((at) => `k${at}: "[{["`)],
    ['texts of a bracket', same((at) => `k${at}: '['\nl${at}: "{"`)],
    ['names in one list of brackets', `a: [${same((at) => `${' '.repeat(at)}b${at},`)}]`],
    ['texts over lines', `a: |\n${same((at) => ' '.repeat(at + 1) + 'x')}`],
    ['words after words', same((at) => `k${at}: ${'word '.repeat(at)}`)],
  ] as const) {
    t.is(refusal(text, 'yaml'), 'no refusal', what);
  }
});

test('a YAML body is measured in bytes, and a body of the most bytes is taken', (t) => {
  const sized = (bytes: number): string => `a: ${'é'.repeat((bytes - 4) / 2)}x`;
  t.is(Buffer.byteLength(sized(MAX_YAML_BYTES)), MAX_YAML_BYTES);
  t.is(refusal(sized(MAX_YAML_BYTES), 'yaml'), 'no refusal');
  t.regex(refusal(sized(MAX_YAML_BYTES + 2), 'yaml'), /at most 131072 bytes, and this has 131074/);
});

test('nothing is merged by the name of a member', (t) => {
  const parsed = parse('a: &x {b: 1}\nc: {<<: *x}', 'yaml');
  t.deepEqual(parsed.outcome === 'Parsed' && parsed.value, { a: { b: 1 }, c: { '<<': { b: 1 } } });
});

test('text that Postgres cannot hold is refused with its path', (t) => {
  t.is(
    refusal('{"spec":{"a":["x","\\u0000"]}}'),
    'BadRequest: spec.a[1]: the text has the character U+0000, which cannot be stored',
  );
  t.regex(refusal('{"spec":{"a":"\\ud800"}}'), /spec\.a: the text has a lone surrogate/);
  t.regex(refusal('{"spec":{"\\udc00x":1}}'), /spec: the name of a member has a lone surrogate/);
  t.regex(refusal('{"spec":{"\\u0000":1}}'), /spec: the name of a member has the character U\+0000/);
  t.is(parse('{"a":"\\ud83d\\ude00"}').outcome, 'Parsed', 'a pair is a character');
  t.is(parse('{"a":"\\u00e9"}').outcome, 'Parsed');
  t.regex(refusal('a: "\\0"', 'yaml'), /U\+0000/);
  t.is(refusal(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])), 'BadRequest: the body is not valid UTF-8');
});

test('a member named __proto__ is refused however it is spelled; constructor is an ordinary name', (t) => {
  t.regex(refusal('{"__proto__":{"admin":true}}'), /must not be named __proto__/);
  t.regex(refusal('{"a":{"\\u005f_proto__":1}}'), /^BadRequest: a: a member must not be named __proto__/);
  t.regex(refusal('__proto__: {admin: true}', 'yaml'), /must not be named __proto__/);
  const parsed = parse('{"constructor":{"prototype":{"x":1}}}');
  t.is(parsed.outcome, 'Parsed');
  t.is(({} as Record<string, unknown>)['x'], undefined);
  t.is(parse('{"text":"say __proto__"}').outcome, 'Parsed', 'a value may say it');
});

test('a number that is not finite is refused instead of becoming null', (t) => {
  t.regex(refusal('{"a":{"b":1e999}}'), /a\.b: the number is too large/);
  t.regex(refusal('{"a":-1e999}'), /a: the number is too large/);
  t.regex(refusal('{"a":[0,[{"b":1e999}]]}'), /a\[1\]\[0\]\.b: the number is too large/);
  t.regex(refusal('a: .inf', 'yaml'), /a: the number is too large/);
  t.regex(refusal('a: .nan', 'yaml'), /a: the number is too large/);
});

test('duplicate members are told by path, and the last one counts', (t) => {
  const parsed = parse('{"a":1,"b":[{"c":1,"c":2}],"a":{"x y":1,"x y":2}}');
  t.deepEqual(parsed.outcome === 'Parsed' && parsed.duplicates, ['b[0].c', 'a', 'a[x y]']);
  t.deepEqual(parsed.outcome === 'Parsed' && parsed.value, { a: { 'x y': 2 }, b: [{ c: 2 }] });
  for (const value of ['1', '""', 'null', 'true', '{}', '[]', '[1,null,"x",{}]', '{"b":"c"}']) {
    const twice = parse(`{"a":${value},"a":${value}}`);
    t.deepEqual(twice.outcome === 'Parsed' && twice.duplicates, ['a'], value);
  }
  const escaped = parse('{"a":1,"\\u0061":2}');
  t.deepEqual(escaped.outcome === 'Parsed' && escaped.duplicates, ['a'], 'the same name in another spelling');
  const yaml = parse('a: 1\nb:\n  - c: 1\n    c: 2\na: 3', 'yaml');
  t.deepEqual(yaml.outcome === 'Parsed' && yaml.duplicates, ['b[0].c', 'a']);
  t.deepEqual(yaml.outcome === 'Parsed' && yaml.value, { a: 3, b: [{ c: 2 }] });
});

test('signs of structure inside strings are no structure', (t) => {
  const parsed = parse('{"a:b":"{\\"c\\":1,\\"c\\":2}[[[:","\\\\":"\\\\"}');
  t.deepEqual(parsed.outcome === 'Parsed' && parsed.duplicates, []);
  t.deepEqual(parsed.outcome === 'Parsed' && parsed.value, { 'a:b': '{"c":1,"c":2}[[[:', '\\': '\\' });
});

test('any JSON value is read as JSON.parse reads it, and measured right', (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), fc.nat({ max: 4 }), (value, indent) => {
      const text = JSON.stringify({ value }, null, indent);
      if (text.includes('__proto__') || text.includes('\\u')) return;
      const parsed = parse(text);
      t.deepEqual(parsed.outcome === 'Parsed' && parsed.value, JSON.parse(text));
      t.deepEqual(parsed.outcome === 'Parsed' && parsed.duplicates, []);
      t.deepEqual(scan(text, 64), { outcome: 'Valid', duplicates: [] });
      const { values, depth } = measure(Buffer.from(text));
      t.deepEqual({ values, depth }, extentOf(JSON.parse(text), { values: Infinity, depth: Infinity }), text);
    }),
  );
});

test('members of objects and elements of lists count alike, in JSON and in YAML, and more than a body may have are refused', (t) => {
  const list = (count: number, element: string): string => `{"a":[${Array(count).fill(element).join(', ')}]}`;
  for (const element of ['[]', '{ }', '0', '""', 'null', '","']) {
    t.is(refusal(list(MAX_VALUES - 1, element)), 'no refusal', element);
    t.regex(
      refusal(list(MAX_VALUES, element)),
      /^RequestEntityTooLarge: .* 50000 members .*, and this has 50001$/,
      element,
    );
  }
  const members = Array.from({ length: MAX_VALUES + 1 }, (_, i) => `"k${i}":0`).join(',');
  t.regex(refusal(`{${members}}`), /^RequestEntityTooLarge: /);
  t.regex(refusal(list(2 * MAX_VALUES, '[[],{"a":[]}]')), /^RequestEntityTooLarge: .* this has 400001$/);
  const flow = `[${'0,'.repeat(30_000)}0]`;
  t.is(refusal(`a: ${flow}`, 'yaml'), 'no refusal');
  t.regex(refusal(`a: ${flow}\nb: ${flow}`, 'yaml'), /^RequestEntityTooLarge: .* 50000 members/);
  const aliases = `a: &a ${flow}\nb: [${Array(99).fill('*a').join(', ')}]`;
  t.regex(refusal(aliases, 'yaml'), /^RequestEntityTooLarge: /, 'an alias counts as what it stands for');
  const names = Array.from({ length: 600 }, (_, i) => `k${i}: a`).join(', ');
  const maps = `a: &a {x: {${names}}}\nb: {${Array.from({ length: 99 }, (_, i) => `m${i}: *a`).join(', ')}}`;
  t.regex(refusal(maps, 'yaml'), /^RequestEntityTooLarge: .* 50000 members/, 'members of members count');
});

test('the exact scanner agrees with JSON.parse on what is JSON at all', (t) => {
  const piece = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '"',
    '1',
    '-',
    '.5',
    'e1',
    'null',
    'true',
    ' ',
    '\\',
    '\n',
    'x',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = pieces.join('');
      let valid = true;
      try {
        JSON.parse(text);
      } catch {
        valid = false;
      }
      t.is(scan(text, 64).outcome === 'Valid', valid, text);
    }),
    { numRuns: tries(3000) },
  );
});

test('any bytes at all are answered, never thrown', (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), fc.constantFrom('json' as const, 'yaml' as const), (bytes, type) => {
      const { outcome } = parseBody(Buffer.from(bytes), type);
      t.true(outcome === 'Parsed' || outcome === 'Refused');
    }),
    { numRuns: tries(1000) },
  );
  fc.assert(
    fc.property(
      fc.array(
        fc.constantFrom(
          'a',
          ': ',
          '- ',
          '\n',
          '  ',
          '{',
          '}',
          '[',
          ']',
          '*x',
          '&x ',
          '!!t ',
          '|',
          '>',
          '"',
          '#',
          '? ',
          '<<',
          ',',
        ),
        { maxLength: 30 },
      ),
      (pieces) => {
        const { outcome } = parseBody(Buffer.from(pieces.join('')), 'yaml');
        t.true(outcome === 'Parsed' || outcome === 'Refused');
      },
    ),
    { numRuns: tries(2000) },
  );
});

test('YAML is one document of the core schema, without tags of its own', (t) => {
  const parsed = parse(
    'kind: Job\nspec:\n  command: [sh, -c, "true"]\n  on: yes\n  when: 2026-01-02\n  n: 0x10\n',
    'yaml',
  );
  t.deepEqual(parsed.outcome === 'Parsed' && parsed.value, {
    kind: 'Job',
    spec: { command: ['sh', '-c', 'true'], on: 'yes', when: '2026-01-02', n: 16 },
  });
  t.regex(refusal('a: 1\n---\nb: 2', 'yaml'), /must be one YAML document/);
  t.regex(refusal('a: !!js/function "x"', 'yaml'), /not valid YAML: line 1, column 4/);
  t.regex(refusal('a: [1', 'yaml'), /not valid YAML: line 1/);
  t.regex(refusal('? [a]\n: 1', 'yaml'), /names of members must be plain text/);
  t.is(refusal('', 'yaml'), 'BadRequest: the body is empty');
  t.regex(refusal(`a: ${'x'.repeat(MAX_YAML_BYTES)}`, 'yaml'), /RequestEntityTooLarge/);
});

test('a YAML alias bomb is refused; honest aliases are filled in', (t) => {
  const bomb = [
    'a: &a [x,x,x,x,x,x,x,x,x]',
    ...'bcdefg'.split('').map((name, i) => `${name}: &${name} [${Array(9).fill(`*${'abcdef'[i]}`).join(',')}]`),
  ].join('\n');
  t.regex(refusal(bomb, 'yaml'), /aliases are unknown or too many/);
  t.regex(refusal('a: *nothing', 'yaml'), /BadRequest/);
  const parsed = parse('a: &x {b: 1}\nc: *x', 'yaml');
  t.deepEqual(parsed.outcome === 'Parsed' && parsed.value, { a: { b: 1 }, c: { b: 1 } });
});

test('the depth of a value is counted to one level beyond the bound, and no further', (t) => {
  t.is(depthOf('x', 3), 0);
  t.is(depthOf({}, 3), 1);
  t.is(depthOf([[1], { a: { b: null } }, []], 3), 3);
  t.is(depthOf([[[]], [], 0], 3), 3, 'the first element counts');
  t.is(depthOf(JSON.parse(nested(50)), 50), 50);
  t.is(depthOf(JSON.parse(nested(50)), 10), 11);
});
