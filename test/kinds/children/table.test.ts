/** The table of an owner's children, and how long what failed waits. Pure. */
import test from 'ava';
import { failureDelay, replacementDelay } from '../../../src/kinds/attempts/back-off.js';
import { ChildTable, childTableStore } from '../../../src/kinds/children/slots.js';
import type { SlotRow } from '../../../src/kinds/machine.js';

test('a child that is over keeps how it ended, whatever a late row says', (t) => {
  for (const phase of ['Succeeded', 'Failed', 'Cancelled', 'Skipped']) {
    const table = new ChildTable();
    const row: SlotRow = { index: 2, epoch: 1, phase, failures: 0, detail: {} };
    childTableStore.apply(table, row);
    childTableStore.apply(table, { ...row, phase: 'Active', epoch: 2 });
    t.is(table.slot(2)?.phase, phase as 'Succeeded');
    t.deepEqual([...table.open], []);
    t.is(table.counts.slots.Active, 0);
    t.is(table.next, 3);
  }
});

test('what is refused waits a second, then twice as long each time, and a minute at most; capacity that is lost is replaced at once first', (t) => {
  const seconds = (delay: (times: number) => number) => Array.from({ length: 9 }, (_, at) => delay(at) / 1000);
  t.deepEqual(seconds(failureDelay), [1, 1, 2, 4, 8, 16, 32, 60, 60]);
  t.deepEqual(seconds(replacementDelay), [0, 0, 1, 2, 4, 8, 16, 32, 60]);
});

test('a child counts where its newest row says, and a phase that this version does not know is not touched', (t) => {
  const row = (index: number, phase: string, live?: string): SlotRow => ({
    ...{ index, epoch: 1, phase, failures: 0, detail: live === undefined ? {} : { live } },
  });
  const table = childTableStore.open([row(0, 'Waiting'), row(1, 'Active', 'Running'), row(3, 'Active')]);
  const counts = (): unknown => [table.counts.slots, table.counts.live, [...table.open], table.next];
  const none = { Active: 0, Waiting: 0, Succeeded: 0, Failed: 0, Cancelled: 0, Skipped: 0 };
  const idle = { Pending: 0, Running: 0, Suspended: 0 };
  t.deepEqual(counts(), [{ ...none, Active: 2, Waiting: 1 }, { ...idle, Pending: 1, Running: 1 }, [0, 1, 3], 4]);
  childTableStore.apply(table, row(0, 'Active', 'Suspended'));
  childTableStore.apply(table, row(1, 'Dreaming'));
  childTableStore.apply(table, row(3, 'Waiting'));
  t.deepEqual(counts(), [{ ...none, Active: 1, Waiting: 1, Failed: 1 }, { ...idle, Suspended: 1 }, [0, 3], 4]);
  childTableStore.apply(table, row(0, 'Succeeded'));
  t.deepEqual(counts(), [{ ...none, Waiting: 1, Failed: 1, Succeeded: 1 }, idle, [3], 4]);
});
