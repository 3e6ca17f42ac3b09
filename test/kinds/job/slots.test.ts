/** What a Job counts of its indexes agrees with its rows, whatever rows came before. */
import test from 'ava';
import * as fc from 'fast-check';
import { IndexSet } from '../../../src/api/ranges.js';
import { locateOutput, jobOutputs, SlotTable, slotTableStore, type Slot } from '../../../src/kinds/job/slots.js';

const slot: fc.Arbitrary<Slot> = fc.record({
  index: fc.nat(6),
  epoch: fc.integer({ min: 1, max: 4 }),
  failures: fc.nat(3),
  phase: fc.constantFrom('Active', 'Active', 'Waiting', 'Waiting', 'Waiting', 'Succeeded', 'Failed'),
  detail: fc.record({ placed: fc.boolean(), retryAt: fc.nat(3) }, { requiredKeys: [] }),
});

function textOf(indexes: readonly number[]): string {
  const set = new IndexSet();
  for (const index of indexes) set.add(index);
  return set.text();
}

test('after any rows the counts are those of the newest rows, and what waits is in order', (t) => {
  fc.assert(
    fc.property(fc.array(slot, { maxLength: 40 }), (rows) => {
      const table = new SlotTable();
      const newest = new Map<number, Slot>();
      for (const row of rows) {
        table.apply(row);
        const before = newest.get(row.index);
        // I8
        if (before?.phase !== 'Succeeded' && row.epoch >= (before?.epoch ?? 0)) newest.set(row.index, row);
      }
      const all = [...newest.values()];
      const indexes = (phase: Slot['phase']): number[] =>
        all
          .filter((row) => row.phase === phase)
          .map(({ index }) => index)
          .toSorted((a, b) => a - b);
      const sum = (of: (row: Slot) => number): number => all.reduce((total, row) => total + of(row), 0);
      t.is(textOf([...table.active]), textOf(indexes('Active')));
      t.is(table.completed.text(), textOf(indexes('Succeeded')));
      t.is(table.failed.text(), textOf(indexes('Failed')));
      t.is(table.placed, all.filter((row) => row.phase === 'Active' && row.detail.placed === true).length);
      t.is(
        table.failures,
        sum(({ failures }) => failures),
      );
      t.is(
        table.attempts,
        sum(({ epoch }) => epoch),
      );
      t.is(table.next, Math.max(-1, ...newest.keys()) + 1);
      t.deepEqual(
        [...table.waiting],
        all
          .filter((row) => row.phase === 'Waiting')
          .map(({ index, detail }) => ({ index, retryAt: detail.retryAt ?? 0 }))
          .toSorted((a, b) => a.retryAt - b.retryAt || a.index - b.index),
      );
      const opened = slotTableStore.open(all);
      t.deepEqual([...opened.slots()], all);
      t.is(opened.placed, table.placed);
    }),
  );
});

test('an index in a phase that this version does not know is not touched', (t) => {
  const table = slotTableStore.open([{ index: 0, epoch: 1, failures: 0, phase: 'Dreaming', detail: undefined }]);
  t.is(table.failed.text(), '0');
});

test('outputs are listed by index, and one that several indexes have is found only with its index', (t) => {
  const output = (name: string) => ({ name, sha256: 'a', size: 1 });
  const row = (index: number, phase: string, ...names: string[]) => ({
    index,
    epoch: 1,
    failures: 0,
    phase,
    detail: { time: 1000, outputs: names.map(output) },
  });
  const rows = [row(1, 'Succeeded', 'b', 'a'), row(0, 'Succeeded', 'a'), row(2, 'Failed', 'c')];
  t.deepEqual(
    jobOutputs(rows).map(({ index, name }) => `${index}${name}`),
    ['0a', '1b', '1a'],
  );
  t.like(locateOutput(rows, 'b', undefined), { outcome: 'Found' });
  t.is(locateOutput(rows, 'a', undefined).outcome, 'IndexRequired');
  t.is(locateOutput(rows, 'c', undefined).outcome, 'NotFound');
  t.is(locateOutput(rows, 'b', 0).outcome, 'NotFound');
  const found = locateOutput(rows, 'a', 1);
  t.is(found.outcome === 'Found' && found.output.index, 1);
  t.is(found.outcome === 'Found' && found.output.time, '1970-01-01T00:00:01Z');
});
