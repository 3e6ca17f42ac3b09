/** The declaration of Pipeline: Jobs in stages that take each other's outputs. */
import type { ApiObject } from '../../api/object.js';
import { costColumn, EVERY_OPERATION, phaseColumn, reasonColumn, textColumn } from '../declare.js';
import { estimateWork } from '../estimate.js';
import { jobSpecReferences } from '../job/references.js';
import type { KindDefinition, PlaintextSecretCheck } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { plaintextSecretCheckOf } from '../shapes/program.js';
import { pipelineSpec, pipelineStatus, type PipelineSpec, type PipelineStatus } from './schema.js';

type This = ApiObject<PipelineSpec, PipelineStatus>;

export const pipelineKind: KindDefinition = {
  kind: 'Pipeline',
  plural: 'pipelines',
  singular: 'pipeline',
  shortNames: ['pl'],
  categories: ['all'],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: EVERY_OPERATION,
  description: 'Jobs in stages: each starts when the stages that it needs have succeeded, and may take their outputs.',
  schema: { spec: pipelineSpec, status: pipelineStatus, immutable: [], raiseOnly: ['spec.maxCostUSD'] },
  columns: [
    phaseColumn('Pipeline'),
    textColumn('Stages', 'Stages that have succeeded, of all.', ({ spec, status }: This) => {
      const done = (status.stages ?? []).filter(({ phase }) => phase === 'Succeeded').length;
      return `${done}/${spec.stages?.length ?? 0}`;
    }),
    costColumn(),
    reasonColumn(),
  ],
  selectableFields: { 'status.reason': ({ status }: This) => status.reason },
  initialStatus: (pipeline: This): PipelineStatus => ({ phase: 'Pending', estimate: estimateWork(pipeline) }),
  references: ({ spec }: This) => [
    ...jobSpecReferences(spec.defaults ?? {}, 'spec.defaults'),
    ...spec.stages.flatMap(({ template = {} }, index) => jobSpecReferences(template, `spec.stages[${index}].template`)),
  ],
  plaintextSecretCheck({ spec }: This): PlaintextSecretCheck {
    const parts = [
      plaintextSecretCheckOf(spec.defaults ?? {}, 'spec.defaults'),
      ...spec.stages.map(({ template = {} }, index) =>
        plaintextSecretCheckOf(template, `spec.stages[${index}].template`),
      ),
    ];
    return { texts: parts.flatMap(({ texts }) => texts), secrets: parts.flatMap(({ secrets }) => secrets) };
  },
  unbuilt: true,
  runsWork: true,
  unservedSubresources: ['stages'],
  machine: plainMachine<PipelineSpec, PipelineStatus>(),
};
