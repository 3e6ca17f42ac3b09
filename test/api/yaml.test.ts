/** How deep a text nests is known before it is read: by its brackets and by the columns at which its lines begin. */
import test from 'ava';
import * as fc from 'fast-check';
import { stringify } from 'yaml';
import { depthOf, MAX_DEPTH } from '../../src/api/safe-value.js';
import { nestingOf, readYaml } from '../../src/api/yaml.js';
import { tries } from '../support/extent.js';

/** What a text means, or why it is refused. */
function read(text: string): unknown {
  const result = readYaml(text);
  return result.outcome === 'Read' ? result.value : result.problem;
}

test('brackets and columns count as levels while they are open, a value counts behind its name, and nothing else does', (t) => {
  for (const [nesting, text] of [
    [0, ''],
    [0, '# a comment\n'],
    [1, 'word'],
    [2, 'a: 1'],
    [2, 'a: 1\nb: 2\nc: 3'],
    [1, 'a:\nb:\nc:'],
    [2, 'a: one word after another'],
    [2, 'a: &x !!str 1'],
    [2, 'a:\n  b:\n  c:\nd:'],
    [3, 'a:\n  b: 1\nc: 1'],
    [4, 'a:\n  b:\n    c: 1\n  d: 1\ne: 1'],
    [2, '- 1\n- 2'],
    [4, '- - - 1'],
    [4, '- - - 1\n- - - 1'],
    [3, '- a: 1\n  b: 1\n- c: 1'],
    [2, '? a\n: 1'],
    [2, 'a: [1, 2]'],
    [1, '[1]'],
    [2, '[[1], [2], {a: 1}]'],
    [4, 'a: [{b: [1]}]\nc: [1]'],
    [2, 'a: 1\nb:\n  c:\n    # a comment\n      # and another\nd: 1'],
    [2, 'a: "[[["\nb: \'{{{\''],
    [2, 'a: |\n  [[[\n    {{{\nb: 1'],
    [3, 'a:\n  - "["\n  - "{"'],
    [2, '---\na: 1\n...\n'],
    [2, 'a: [\n1,\n  2,\n    3\n]'],
  ] as const) {
    t.is(nestingOf(text), nesting, text);
  }
});

test('no text nests more than twice as deep as is counted, and one that may be read is counted at most two levels too deep', (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), fc.nat({ max: 3 }), fc.boolean(), (value, collections, seen) => {
      const text = stringify(value, {
        indentSeq: seen,
        collectionStyle: (['any', 'block', 'flow', 'any'] as const)[collections] ?? 'any',
      });
      const nesting = nestingOf(text);
      const depth = depthOf(value, Infinity);
      t.true(depth <= 2 * nesting && nesting <= depth + 2, `${nesting} levels of ${depth}: ${text}`);
    }),
    { numRuns: tries(300) },
  );
});

test('what nests far beyond the bound is counted to one level beyond it and not read', (t) => {
  for (const [what, text] of [
    ['lists', '- '.repeat(1000)],
    ['names', '? '.repeat(1000)],
    ['brackets', '['.repeat(1000)],
    ['blocks', Array.from({ length: 200 }, (_, at) => `${' '.repeat(at)}a:`).join('\n')],
  ] as const) {
    t.is(nestingOf(text), MAX_DEPTH + 3, what);
    t.is(read(text), 'the body is nested deeper than 64 levels', what);
  }
  const block = (levels: number): string =>
    Array.from({ length: levels }, (_, at) => `${' '.repeat(at)}a:`).join('\n') + ' &x !!str 1';
  t.is(depthOf(read(block(MAX_DEPTH)), 100), MAX_DEPTH, 'an anchor and a tag are no level');
});

test('a member repeats where its name does, in any of the maps of a text, and the last one counts', (t) => {
  const result = readYaml('a: [{b: 1, b: 2}, [{c: 1, c: 2, c: 3}]]\n1: x\n"1": y\nd e: {f: {g: 1}, f: 2}');
  if (result.outcome !== 'Read') return t.fail(result.problem);
  t.deepEqual(result.duplicates, ['a[0].b', 'a[1][0].c', 'a[1][0].c', '1', '[d e].f']);
  t.deepEqual(result.value, { a: [{ b: 2 }, [{ c: 3 }]], 1: 'y', 'd e': { f: 2 } });
});

test('names that are no plain text are refused with their place, however deep they stand', (t) => {
  t.is(read('? [a]\n: 1'), 'the body: the names of members must be plain text');
  t.is(read('a:\n  - b\n  - {[c]: 1}'), 'a[1]: the names of members must be plain text');
  t.is(read('a:\n  b:\n    ? {c: 1}\n    : 1'), 'a.b: the names of members must be plain text');
});

test('an anchored value may stand a hundred times in one text, and once more is refused', (t) => {
  const uses = (count: number): string => `a: &x [1]\nb: [${Array(count).fill('*x').join(', ')}]`;
  const refusal = 'the body is not valid YAML: its aliases are unknown or too many';
  t.is(typeof read(uses(99)), 'object');
  t.is(read(uses(100)), refusal);
  t.is(read('a: *x'), refusal);
});
