/** The declaration of Sweep: a Job's template fanned out over a matrix, each cell compared with the others. */
import type { ApiObject } from '../../api/object.js';
import { asChildSlot, isAsked, isAwaited } from '../children/slots.js';
import { costColumn, countColumn, EVERY_OPERATION, integerColumn, phaseColumn, textColumn, wide } from '../declare.js';
import { jobPart } from '../job/priced-work.js';
import { jobSpecReferences } from '../job/references.js';
import { JOB_PHASES } from '../job/status.js';
import { unsupportedFields } from '../job/unsupported.js';
import type { KindDefinition, PlaintextSecretCheck } from '../kind.js';
import type { PricedWork } from '../priced-work.js';
import { plaintextSecretCheckOf } from '../shapes/program.js';
import { floorsOf } from '../shapes/resources.js';
import type { Images } from '../work.js';
import { cellsOf } from './cells.js';
import { sweepMachine } from './machine.js';
import { phaseOfCell, reportCell } from './report.js';
import { sweepSpec, sweepStatus, type SweepSpec, type SweepStatus } from './schema.js';

type This = ApiObject<SweepSpec, SweepStatus>;

export const sweepKind: KindDefinition = {
  kind: 'Sweep',
  plural: 'sweeps',
  singular: 'sweep',
  shortNames: ['sw'],
  categories: ['all'],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: EVERY_OPERATION,
  description:
    'Fans the template of a Job out over a matrix, and tells the cost, the wall time and the throughput of each cell.',
  schema: {
    spec: sweepSpec,
    status: sweepStatus,
    immutable: ['spec.matrix', 'spec.repetitions', 'spec.template'],
    raiseOnly: ['spec.maxCostUSD'],
  },
  columns: [
    phaseColumn('Sweep'),
    textColumn(
      'Cells',
      'Cells that have succeeded, of all.',
      ({ status }: This) => `${status.succeeded ?? 0}/${status.total ?? 0}`,
    ),
    countColumn('Active', 'Cells that run, or wait to.', ({ status }: This) => status.active),
    countColumn('Failed', 'Cells that have failed.', ({ status }: This) => status.failed),
    wide(
      textColumn('Best', 'Index of the fastest cell.', ({ status }: This) =>
        status.best?.byThroughput === undefined ? '' : String(status.best.byThroughput),
      ),
    ),
    wide(integerColumn('Parallel', 'Cells that may run at the same time.', ({ spec }: This) => spec.maxParallel)),
    costColumn(),
    textColumn('Reason', 'Why it is in this phase, or why a cell waits.', ({ status }: This) => status.reason),
  ],
  selectableFields: { 'status.reason': ({ status }: This) => status.reason },
  initialStatus: (): SweepStatus => ({ phase: 'Pending' }),
  references: ({ spec }: This) => jobSpecReferences(spec.template.spec, TEMPLATE),
  plaintextSecretCheck({ spec }: This): PlaintextSecretCheck {
    const { texts, secrets } = plaintextSecretCheckOf(spec.template.spec, TEMPLATE);
    return { texts: [...texts, ...paramTexts(spec)], secrets };
  },
  unsupported: unsupportedOfSweep,
  asks: ({ spec }: This) => floorsOf(spec.template.spec.resources),
  pricedWork: pricedCells,
  subresources: ['cells'],
  runsWork: true,
  machine: sweepMachine,
  cells: {
    count: ({ spec }: This) => cellsOf(spec).total,
    phases: JOB_PHASES,
    phase: ({ status }: This, slot) => phaseOfCell(slot && asChildSlot(slot), status.phase),
    cell: ({ metadata, spec, status }: This, index, slot) =>
      reportCell(metadata, cellsOf(spec).at(index), slot && asChildSlot(slot), status.phase),
  },
  awaitsChild: (slot) => slot !== undefined && isAwaited(asChildSlot(slot)),
  asksOfChild: (slot, spec) => slot !== undefined && isAsked(asChildSlot(slot), spec),
};

const TEMPLATE = 'spec.template.spec';

function paramTexts({ matrix }: SweepSpec): PlaintextSecretCheck['texts'] {
  return Object.entries(matrix?.params ?? {}).flatMap(([name, values]) =>
    values.map((text, index) => ({ field: `spec.matrix.params[${name}][${index}]`, text })),
  );
}

/** The Job of a cell, as often as there are cells. */
function pricedCells({ spec }: This): PricedWork {
  const { total } = cellsOf(spec);
  const job = jobPart(spec.template.spec, TEMPLATE);
  const cellsAtOnce = Math.min(spec.maxParallel, total);
  return { parts: [{ ...job, runs: job.runs * total, atOnce: job.atOnce * cellsAtOnce }], partsAtOnce: 1 };
}

function unsupportedOfSweep(spec: SweepSpec, images: Images): readonly string[] {
  const { gpu = [], regions = [] } = spec.matrix ?? {};
  return [
    ...(gpu.length > 0 ? ['spec.matrix.gpu'] : []),
    ...(regions.length > 0 ? ['spec.matrix.regions'] : []),
    ...unsupportedFields(spec.template.spec, images, TEMPLATE),
  ];
}
