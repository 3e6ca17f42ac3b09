/** The declaration of Pipeline: Jobs in stages that take each other's outputs. */
import type { ApiObject } from '../../api/object.js';
import { asChildSlot, isAwaited } from '../children/slots.js';
import { costColumn, EVERY_OPERATION, phaseColumn, textColumn } from '../declare.js';
import { estimateWork } from '../estimate.js';
import { jobSpecReferences } from '../job/references.js';
import { laidOverWhole } from '../job/schema.js';
import { unsupportedFields } from '../job/unsupported.js';
import type { KindDefinition, PlaintextSecretCheck } from '../kind.js';
import { plaintextSecretCheckOf } from '../shapes/program.js';
import type { Images } from '../work.js';
import { pipelineMachine } from './machine.js';
import { stageJobName } from './stage-jobs.js';
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
  schema: {
    spec: pipelineSpec,
    status: pipelineStatus,
    immutable: ['spec.defaults', 'spec.failurePolicy', 'spec.stages'],
    raiseOnly: ['spec.maxCostUSD'],
  },
  columns: [
    phaseColumn('Pipeline'),
    textColumn('Stages', 'Stages that have succeeded, of all.', ({ spec, status }: This) => {
      const done = (status.stages ?? []).filter(({ phase }) => phase === 'Succeeded').length;
      return `${done}/${spec.stages?.length ?? 0}`;
    }),
    textColumn('Running', 'Stages that run.', ({ status }: This) => runningStages(status)),
    costColumn(),
    textColumn('Reason', 'Why it is in this phase, or why a stage waits.', ({ status }: This) => status.reason),
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
  unsupported: unsupportedOfPipeline,
  subresources: ['stages'],
  runsWork: true,
  machine: pipelineMachine,
  stage({ metadata, spec }: This, name) {
    const index = spec.stages.findIndex((stage) => stage.name === name);
    return index < 0 ? undefined : { kind: 'Job', name: stageJobName(metadata, spec, index) };
  },
  awaitsChild: (slot) => slot !== undefined && isAwaited(asChildSlot(slot)),
};

/** Names that a column has room for. */
const MOST_NAMES = 3;

/** As kubectl shortens a list: `a,b,c + 2 more...`. */
function runningStages({ stages = [] }: PipelineStatus): string {
  const names = stages.flatMap(({ name = '', phase }) => (phase === 'Running' ? [name] : []));
  const more = names.length > MOST_NAMES ? ` + ${names.length - MOST_NAMES} more...` : '';
  return `${names.slice(0, MOST_NAMES).join(',')}${more}`;
}

/** Each field once, where it is written: in the stage's template, or in the defaults. */
function unsupportedOfPipeline(spec: PipelineSpec, images: Images): readonly string[] {
  const { defaults = {}, stages } = spec;
  const found = new Set<string>(spec.maxCostUSD === undefined ? [] : ['spec.maxCostUSD']);
  for (const [index, { template = {} }] of stages.entries()) {
    for (const field of unsupportedFields(laidOverWhole(defaults, template), images, '')) {
      const [, name = ''] = /^\.([A-Za-z]+)/.exec(field) ?? [];
      const at = Object.hasOwn(template, name) ? `spec.stages[${index}].template` : 'spec.defaults';
      found.add(`${at}${field}`);
    }
  }
  return [...found];
}
