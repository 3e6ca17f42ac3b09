import test from 'ava';
import * as fc from 'fast-check';
import { isConditionTrue, setCondition } from '../../src/api/conditions.js';
import { IndexSet } from '../../src/api/ranges.js';

test('an index set is written as batch/v1 writes completedIndexes', (t) => {
  const set = new IndexSet();
  for (const index of [7, 1, 5, 3, 4]) t.true(set.add(index));
  t.is(set.text(), '1,3-5,7');
  t.is(set.size, 5);
  t.false(set.add(4), 'known already');
  t.true(set.add(2));
  t.is(set.text(), '1-5,7');
  t.true(set.add(6));
  t.is(set.text(), '1-7');
  t.true(set.delete(4));
  t.is(set.text(), '1-3,5-7');
  const two = new IndexSet();
  two.add(0);
  two.add(1);
  t.is(two.text(), '0,1', 'two neighbours are not a range');
});

test('an index set agrees with a plain set after any adds and deletes', (t) => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat({ max: 12 })), { maxLength: 60, size: 'max' }), (steps) => {
      const set = new IndexSet();
      const plain = new Set<number>();
      for (const [adds, index] of steps) {
        t.is(adds ? set.add(index) : set.delete(index), adds ? !plain.has(index) : plain.has(index));
        if (adds) plain.add(index);
        else plain.delete(index);
        t.is(set.size, plain.size);
        t.is(set.has(index), plain.has(index));
      }
      const sorted = [...plain].toSorted((a, b) => a - b);
      t.deepEqual([...set], sorted);
      t.deepEqual([...(IndexSet.parse(set.text()) ?? [])], sorted);
    }),
  );
});

test('ten thousand indexes in random order cost little', (t) => {
  const set = new IndexSet();
  const started = performance.now();
  for (let i = 0; i < 10_000; i++) set.add((i * 7919) % 10_000);
  t.true(performance.now() - started < 200);
  t.is(set.text(), '0-9999');
});

test('text that names no set is undefined', (t) => {
  for (const text of ['a', '1-', '-1', '3,1', '5-3', '1,1', '1,,2', ' 1', '1-2-3']) {
    t.is(IndexSet.parse(text), undefined, text);
  }
  t.is(IndexSet.parse('')?.size, 0);
  t.is(IndexSet.parse('1,3-5,7')?.text(), '1,3-5,7');
  t.is(IndexSet.parse('0-3,4,5-6,8')?.text(), '0-6,8', 'neighbours are one interval');
});

test('a condition keeps its transition time while its status stays, and is one per type', (t) => {
  const at = Date.UTC(2026, 0, 1);
  const first = setCondition(undefined, { type: 'Ready', status: 'True', reason: 'A', message: 'a' }, at);
  t.deepEqual(first, [
    { type: 'Ready', status: 'True', reason: 'A', message: 'a', lastTransitionTime: '2026-01-01T00:00:00Z' },
  ]);
  const again = setCondition(first, { type: 'Ready', status: 'True', reason: 'B', message: 'b' }, at + 5000);
  t.is(again[0]?.lastTransitionTime, '2026-01-01T00:00:00Z');
  t.is(again[0]?.reason, 'B');
  const off = setCondition(again, { type: 'Ready', status: 'False', reason: 'B', message: 'b' }, at + 9000);
  t.is(off[0]?.lastTransitionTime, '2026-01-01T00:00:09Z');
  t.is(off.length, 1);
  t.false(isConditionTrue(off, 'Ready'));
});

test('setting what is there already gives back the same array, so nothing is committed', (t) => {
  const first = setCondition([], { type: 'Ready', status: 'True', reason: 'A', message: 'a' }, 0);
  t.is(setCondition(first, { type: 'Ready', status: 'True', reason: 'A', message: 'a' }, 1e6), first);
});
