/** The matrix of a Sweep: which cells it makes, in which order. Pure. */
import test from 'ava';
import { assert, dictionary, integer, property, record, string, uniqueArray } from 'fast-check';
import { cellsOf, countCells } from '../../../src/kinds/sweep/cells.js';
import { sweepKind } from '../../../src/kinds/sweep/index.js';
import { decimal } from '../../../src/kinds/sweep/report.js';

test('accelerators vary slowest, then parameters by name, then regions, and repetitions fastest', (t) => {
  const matrix = { gpu: ['h100:1', 'a100:8'], params: { B: ['x', 'y'], A: ['2', '1'] }, regions: ['us', 'eu'] };
  const cells = cellsOf({ matrix, repetitions: 2 });
  t.is(cells.total, 32);
  const shown = Array.from({ length: 32 }, (_, index) => {
    const { gpu, params, region, repetition } = cells.at(index);
    return `${gpu} ${params['A']}${params['B']} ${region} ${repetition}`;
  });
  t.deepEqual(shown.slice(0, 9), [
    ...['h100:1 2x us 0', 'h100:1 2x us 1', 'h100:1 2x eu 0', 'h100:1 2x eu 1', 'h100:1 2y us 0', 'h100:1 2y us 1'],
    ...['h100:1 2y eu 0', 'h100:1 2y eu 1', 'h100:1 1x us 0'],
  ]);
  t.is(shown[16], 'a100:8 2x us 0');
  t.is(new Set(shown).size, 32, 'each combination once');
});

test('an empty dimension keeps the value of the template', (t) => {
  t.deepEqual(cellsOf({ repetitions: 1 }).at(0), { index: 0, params: {}, repetition: 0 });
  t.deepEqual(cellsOf({ matrix: { gpu: [], params: { A: [] }, regions: [] }, repetitions: 2 }).at(1), {
    ...{ index: 1, params: {}, repetition: 1 },
  });
});

test('any matrix makes each of its combinations once, and as many as it counts', (t) => {
  const values = uniqueArray(string({ maxLength: 2 }), { maxLength: 4 });
  t.notThrows(() =>
    assert(
      property(
        record({
          gpu: values,
          regions: values,
          params: dictionary(string({ minLength: 1, maxLength: 2 }), values, { maxKeys: 3 }),
        }),
        integer({ min: 1, max: 3 }),
        (matrix, repetitions) => {
          const cells = cellsOf({ matrix, repetitions });
          const seen = Array.from({ length: cells.total }, (_, index) =>
            JSON.stringify({ ...cells.at(index), index: 0 }),
          );
          return new Set(seen).size === countCells(matrix, repetitions);
        },
      ),
    ),
  );
});

test('what a Sweep cannot carry out yet is named where it is written', (t) => {
  const spec = sweepKind.schema.spec.parse({
    matrix: { gpu: ['h100:8'], regions: ['eu'] },
    template: {
      spec: { command: ['true'], volumes: [{ volume: 'v', mountPath: '/data' }], image: 'ghcr.io/acme/x:1' },
    },
  });
  t.deepEqual(sweepKind.unsupported?.(spec, 'Catalog'), [
    ...['spec.matrix.gpu', 'spec.matrix.regions'],
    ...['spec.template.spec.image', 'spec.template.spec.volumes'],
  ]);
});

test('a rate is a decimal number without an exponent', (t) => {
  t.deepEqual([0, 1, 1500, 0.25, 1e-7, 1e21, 2 / 3].map(decimal), [
    '0',
    '1',
    '1500',
    '0.25',
    '0',
    '1000000000000000000000',
    '0.666667',
  ]);
});
