/** The declaration of Sweep: a Job's template fanned out over a matrix, each cell compared with the others. */
import type { ApiObject } from '../../api/object.js';
import { costColumn, EVERY_OPERATION, integerColumn, phaseColumn, reasonColumn, textColumn } from '../declare.js';
import { estimateWork } from '../estimate.js';
import { jobSpecReferences } from '../job/references.js';
import type { KindDefinition } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { plaintextSecretCheckOf } from '../shapes/program.js';
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
    textColumn('Cells', 'Cells that have succeeded, of all.', ({ status }: This) => {
      const cells = status.cells ?? [];
      return `${cells.filter(({ phase }) => phase === 'Succeeded').length}/${cells.length}`;
    }),
    integerColumn('Parallel', 'Cells that may run at the same time.', ({ spec }: This) => spec.maxParallel),
    costColumn(),
    reasonColumn(),
  ],
  selectableFields: { 'status.reason': ({ status }: This) => status.reason },
  initialStatus: (sweep: This): SweepStatus => ({ phase: 'Pending', estimate: estimateWork(sweep) }),
  references: ({ spec }: This) => jobSpecReferences(spec.template.spec, 'spec.template.spec'),
  plaintextSecretCheck: ({ spec }: This) => plaintextSecretCheckOf(spec.template.spec, 'spec.template.spec'),
  unbuilt: true,
  runsWork: true,
  machine: plainMachine<SweepSpec, SweepStatus>(),
};
