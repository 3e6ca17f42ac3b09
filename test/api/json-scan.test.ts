/** What is read from the text of a JSON body: its extent, members that repeat, and where and why it is malformed. */
import test from 'ava';
import * as fc from 'fast-check';
import { measure, placeOf, scan } from '../../src/api/json-scan.js';
import { extentOf } from '../../src/api/safe-value.js';

/** `Valid`, or the offset and the problem. */
function told(text: string, maxDepth = 8): string {
  const result = scan(text, maxDepth);
  return result.outcome === 'Valid' ? 'Valid' : `${result.offset}: ${result.problem}`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test('a place is named by its line and column, both from 1, and a newline belongs to the line that it ends', (t) => {
  for (const [text, offset, place] of [
    ['ab', 0, 'line 1, column 1'],
    ['ab', 1, 'line 1, column 2'],
    ['a\nb', 1, 'line 1, column 2'],
    ['a\nb', 2, 'line 2, column 1'],
    ['\nb', 0, 'line 1, column 1'],
    ['\nb', 1, 'line 2, column 1'],
    ['\n\n\nb', 2, 'line 3, column 1'],
    ['\n\n\nb', 3, 'line 4, column 1'],
    ['a\r\nbc', 4, 'line 2, column 2'],
  ] as const) {
    t.is(placeOf(text, offset), place, JSON.stringify([text, offset]));
  }
});

test('the place of an error is the first character that no JSON goes on with, and the end where the text ends too early', (t) => {
  const name = 'expected a member name in double quotes';
  const member = "expected ',' or '}' after the member";
  const element = "expected ',' or ']' after the element";
  const early = 'the text ends too early: ';
  for (const [text, expected] of [
    ['', `0: ${early}expected a value`],
    [' ', `1: ${early}expected a value`],
    ['tru', '0: expected a value'],
    ['[nulL]', '1: expected a value'],
    ['[true false]', `6: ${element}`],
    ['[', `1: ${early}expected a value`],
    ['[1', `2: ${early}${element}`],
    ['[1 ', `3: ${early}${element}`],
    ['[1,]', '3: expected a value'],
    ['[,1]', '1: expected a value'],
    ['[1}', `2: ${element}`],
    ['{', `1: ${early}${name}`],
    ['{"a"', `4: ${early}expected ':' after the member name`],
    ['{"a":', `5: ${early}expected a value`],
    ['{"a":1', `6: ${early}${member}`],
    ['{"a":1,', `7: ${early}${name}`],
    ['{"a":1,}', `7: ${name}`],
    ['{"a":1]', `6: ${member}`],
    ['{"a" : 1 , b', `11: ${name}`],
    ['{1:1}', `1: ${name}`],
    ['[] []', '3: expected nothing after the end of the value'],
    ['1 x', '2: expected nothing after the end of the value'],
    ['"', `1: ${early}the string is not closed`],
    ['"ab', `3: ${early}the string is not closed`],
    ['"ab\n"', '3: control characters in strings have to be escaped'],
    ['"a\\x"', '2: bad escape in a string'],
    ['"a\\', '2: bad escape in a string'],
    ['-', '0: expected a value'],
    ['[-a]', '1: expected a value'],
    ['[-01]', `3: ${element}`],
    ['[1.]', `2: ${element}`],
    ['[1.5.5]', `4: ${element}`],
    ['[1e]', `2: ${element}`],
    ['[1e+]', `2: ${element}`],
    ['[1E-x]', `2: ${element}`],
    ['[12e+34x]', `7: ${element}`],
  ] as const) {
    t.is(told(text), expected, JSON.stringify(text));
  }
});

test('lists and objects count alike for the depth, and the deepest that may be is read', (t) => {
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
    ['[{"a":[', ']}]'],
  ] as const) {
    const levels = open.length === 7 ? 3 : 1;
    const nested = (times: number): string => `${open.repeat(times)}0${close.repeat(times)}`;
    t.is(told(nested(3), 3 * levels), 'Valid', open);
    t.regex(told(nested(3), 3 * levels - 1), /: nested deeper than \d levels$/, open);
    t.is(measure(Buffer.from(nested(3))).depth, 3 * levels, open);
    t.is(told(`[${nested(2)},${nested(2)}]`, 2 * levels + 1), 'Valid', 'what has ended counts no more');
  }
});

test('between its signs JSON has blanks, tabs and newlines of both kinds, and nothing else', (t) => {
  for (let code = 0; code <= 0x100; code++) {
    const blank = String.fromCodePoint(code);
    for (const text of [`${blank}{"a":1}`, `{${blank}}`, `[${blank}1${blank},2]`, `{"a"${blank}:1}${blank}`]) {
      t.is(told(text) === 'Valid', isJson(text), JSON.stringify(text));
    }
  }
});

test('after a backslash stand the signs of RFC 8259 or four hexadecimal digits, and control characters stand in no string', (t) => {
  for (let code = 0; code < 0x80; code++) {
    const sign = String.fromCodePoint(code);
    for (const text of [`"${sign}"`, `"\\${sign}"`, `"\\u00a${sign}"`, `"\\u${sign}00a1"`, `["\\${sign}1234",0]`]) {
      t.is(told(text) === 'Valid', isJson(text), JSON.stringify(text));
    }
  }
});

test('every text of up to five signs that numbers are made of is a number where it is one for JSON.parse', (t) => {
  let texts = [''];
  for (let length = 1; length <= 5; length++) {
    texts = texts.flatMap((text) => '09-+.eE'.split('').map((sign) => text + sign));
    const wrong = texts.filter((text) => (told(`[${text}]`) === 'Valid') !== isJson(`[${text}]`));
    t.deepEqual(wrong, []);
  }
});

test('members that repeat are named by their whole path, wherever they stand, and the first hundred of them', (t) => {
  const duplicates = (text: string): unknown => {
    const result = scan(text, 8);
    return result.outcome === 'Valid' && result.duplicates;
  };
  t.deepEqual(duplicates('[[1],[{"a":0,"b":{"a":0},"a":1},0],{"c":[{"d":0,"d":1}]}]'), ['[1][0].a', '[2].c[0].d']);
  t.deepEqual(duplicates('{"a":{"x":1},"b":{"x":1},"a":{"x":1,"x":2},"a":0}'), ['a', 'a.x', 'a']);
  t.deepEqual(duplicates('{"\\u0061\\n":0,"a\\u000a":0,"\\"":0,"\\\\":0,"":0}'), ['[a\n]']);
  const repeats = (count: number): string => `{"a":0${',"a":0'.repeat(count)}}`;
  t.is((duplicates(repeats(100)) as string[]).length, 100);
  t.is((duplicates(repeats(101)) as string[]).length, 100);
});

test('members, values and depth of a text are those of its value, with each member that is written twice counted twice', (t) => {
  const none = { members: 0, values: 0, depth: 0 };
  for (const [text, expected] of [
    ['1', none],
    ['"[{\\"a\\":1}]"', none],
    ['"\\\\"', none],
    ['{}', { ...none, depth: 1 }],
    ['[ \n\t\r ]', { ...none, depth: 1 }],
    ['[0]', { members: 0, values: 1, depth: 1 }],
    ['[""]', { members: 0, values: 1, depth: 1 }],
    ['[[],[]]', { members: 0, values: 2, depth: 2 }],
    ['[[],[[]],0]', { members: 0, values: 4, depth: 3 }],
    ['{"a":1,"a":2}', { members: 2, values: 2, depth: 1 }],
    ['{"a":[":,["],"b":{"\\"":0}}', { members: 3, values: 4, depth: 2 }],
  ] as const) {
    t.deepEqual(measure(Buffer.from(text)), expected, text);
  }
  const unbounded = { values: Infinity, depth: Infinity };
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.nat({ max: 2 }), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      const { values, depth } = measure(Buffer.from(text));
      t.deepEqual({ values, depth }, extentOf(JSON.parse(text), unbounded), text);
    }),
  );
});
