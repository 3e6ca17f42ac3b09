import test from 'ava';
import * as fc from 'fast-check';
import { parseFieldSelector } from '../../src/api/selectors/field.js';
import { parseLabelSelector } from '../../src/api/selectors/label.js';
import { tries } from '../support/extent.js';

function selects(selector: string, labels: Record<string, string> | undefined): boolean | string {
  const parsed = parseLabelSelector(selector);
  return parsed.outcome === 'Selector' ? parsed.selector.matches(labels) : parsed.refusal.message;
}

test('label selectors select what Kubernetes selects', (t) => {
  const cases: [string, Record<string, string>, boolean][] = [
    ['', { a: '1' }, true],
    ['a=1', { a: '1' }, true],
    ['a==1', { a: '1' }, true],
    ['a = 1 , b = 2', { a: '1', b: '2' }, true],
    ['a=1,b=2', { a: '1' }, false],
    ['a!=1', { a: '1' }, false],
    ['a!=1', {}, true],
    ['a', { a: '' }, true],
    ['a', {}, false],
    ['!a', {}, true],
    ['! a', { a: '1' }, false],
    ['a in (1,2)', { a: '2' }, true],
    ['a in (1,2)', {}, false],
    ['a in (1)', { a: '1' }, true],
    ['a notin (1,2)', { a: '3' }, true],
    ['a notin (1,2)', {}, true],
    ['a notin (1,2)', { a: '1' }, false],
    ['a in (,1)', { a: '' }, true],
    ['a in ()', { a: '' }, true],
    ['a=', { a: '' }, true],
    ['a=,b', { a: '', b: 'x' }, true],
    ['a>5', { a: '6' }, true],
    ['a>5', { a: '5' }, false],
    ['a>5', { a: 'x' }, false],
    ['a>5', {}, false],
    ['a<5', { a: '-1' }, true],
    ['example.com/tier in (x), !in', { 'example.com/tier': 'x' }, true],
    ['in=notin', { in: 'notin' }, true],
    ['in in (in)', { in: 'in' }, true],
    ['toString', {}, false],
    ['constructor!=x', {}, true],
  ];
  for (const [selector, labels, expected] of cases) t.is(selects(selector, labels), expected, selector);
  t.true(selects('!a', undefined));
});

test('what is no label selector is BadRequest and says where', (t) => {
  for (const selector of [
    'a=1,',
    ',a',
    'a in',
    'a in 1',
    'a in (1',
    'a in (1 2)',
    'a b',
    'a=b=c',
    '!',
    '!a=1',
    'a>x',
    'a>',
    '=1',
    '(',
    'a in ((1))',
    'A/B/c=1',
    'a=b c',
    'a=-x',
    '-a',
    'a!1',
    'a in (!)',
    '!!a',
  ]) {
    const parsed = parseLabelSelector(selector);
    t.is(parsed.outcome === 'Refused' && parsed.refusal.code, 'BadRequest', selector);
  }
});

test('any text at all is a selector or a refusal, never an exception', (t) => {
  const piece = fc.constantFrom(
    'a',
    'b/c',
    '=',
    '==',
    '!=',
    '!',
    'in',
    'notin',
    '(',
    ')',
    ',',
    ' ',
    '<',
    '>',
    '1',
    '\\',
    'é',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 10 }), (pieces) => {
      const parsed = parseLabelSelector(pieces.join(''));
      if (parsed.outcome === 'Selector') t.is(typeof parsed.selector.matches({ a: '1' }), 'boolean');
      const readers = new Map([['a', (thing: string) => thing]]);
      t.truthy(parseFieldSelector(pieces.join(''), readers));
    }),
    { numRuns: tries(2000) },
  );
});

const readers = new Map<string, (thing: { name: string; phase?: string }) => string | undefined>([
  ['metadata.name', (thing) => thing.name],
  ['status.phase', (thing) => thing.phase],
]);

function picks(selector: string, thing: { name: string; phase?: string }): boolean | string {
  const parsed = parseFieldSelector(selector, readers);
  return parsed.outcome === 'Selector' ? parsed.selector.matches(thing) : parsed.refusal.message;
}

test('field selectors select by equality, with escapes, and an absent field is empty', (t) => {
  t.true(picks('', { name: 'a' }));
  t.true(picks('metadata.name=a', { name: 'a' }));
  t.true(picks('metadata.name==a,status.phase!=Failed', { name: 'a', phase: 'Running' }));
  t.false(picks('metadata.name=a,status.phase!=Failed', { name: 'a', phase: 'Failed' }));
  t.true(picks('status.phase=', { name: 'a' }));
  t.true(picks('metadata.name=a\\,b\\=c\\\\', { name: 'a,b=c\\' }));
  t.true(picks('metadata.name=a,', { name: 'a' }));
  const parsed = parseFieldSelector('status.phase!=x,metadata.name=a', readers);
  t.is(parsed.outcome === 'Selector' && parsed.selector.exact('metadata.name'), 'a');
  t.is(parsed.outcome === 'Selector' && parsed.selector.exact('status.phase'), undefined);
});

test('an unsupported field and a malformed term are BadRequest', (t) => {
  t.is(picks('spec.foo=1', { name: 'a' }), 'field label not supported: spec.foo');
  t.is(picks('__proto__=1', { name: 'a' }), 'field label not supported: __proto__');
  for (const selector of [
    'metadata.name',
    'metadata.name=a=b',
    'metadata.name=a\\b',
    '=a',
    ' =a',
    'metadata.name>a',
    'metadata.name=a\\',
  ]) {
    const parsed = parseFieldSelector(selector, readers);
    t.is(parsed.outcome === 'Refused' && parsed.refusal.code, 'BadRequest', selector);
  }
});

test('a field selector has a hundred terms at most', (t) => {
  const terms = Array.from({ length: 100 }, () => 'metadata.name=a');
  t.true(picks(terms.join(','), { name: 'a' }));
  t.is(picks([...terms, 'metadata.name=a'].join(','), { name: 'a' }), 'a selector may have at most 100 terms');
});
