/** The declaration of Pipeline: Jobs in stages that take each other's outputs. */
import type { ApiObject } from '../../api/object.js';
import { asChildSlot, isAsked, isAwaited } from '../children/slots.js';
import { costColumn, EVERY_OPERATION, phaseColumn, textColumn } from '../declare.js';
import { jobPart } from '../job/priced-work.js';
import { jobSpecReferences } from '../job/references.js';
import { laidOver, says } from '../job/parts.js';
import { unsupportedFields } from '../job/unsupported.js';
import type { KindDefinition, PlaintextSecretCheck } from '../kind.js';
import type { PricedWork } from '../priced-work.js';
import { plaintextSecretCheckOf } from '../shapes/program.js';
import { floorsOf } from '../shapes/resources.js';
import type { ResourceAmounts } from '../amounts.js';
import type { Images } from '../work.js';
import { needsOf } from './graph.js';
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
  initialStatus: (): PipelineStatus => ({ phase: 'Pending' }),
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
  asks: mostOfStages,
  warnings: warningsOfPipeline,
  pricedWork: pricedStages,
  subresources: ['stages'],
  runsWork: true,
  machine: pipelineMachine,
  stage({ metadata, spec, status }: This, name) {
    const index = spec.stages.findIndex((stage) => stage.name === name);
    if (index < 0) return undefined;
    const { job, phase = 'Pending' } = status.stages?.[index] ?? {};
    return { kind: 'Job', name: stageJobName(metadata, spec, index), phase, begun: job !== undefined };
  },
  awaitsChild: (slot) => slot !== undefined && isAwaited(asChildSlot(slot)),
  asksOfChild: (slot, spec) => slot !== undefined && isAsked(asChildSlot(slot), spec),
};

const MAX_RATE = '.placement.maxRateUSDPerHour';

function pricedStages({ spec: { defaults = {}, stages, maxParallel } }: This): PricedWork {
  return {
    parts: stages.map(({ template = {} }, index) => {
      const placeOf = (field: string): string =>
        says(defaults, field) && !says(template, field) ? 'spec.defaults' : `spec.stages[${index}].template`;
      return jobPart(laidOver(defaults, template), placeOf(MAX_RATE), placeOf('.maxCostUSD'));
    }),
    partsAtOnce: maxParallel ?? stages.length,
  };
}

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
  const found = new Set<string>();
  for (const [index, { template = {} }] of stages.entries()) {
    for (const field of unsupportedFields(laidOver(defaults, template), images, '')) {
      const at = says(template, field) ? `spec.stages[${index}].template` : 'spec.defaults';
      found.add(`${at}${field}`);
    }
  }
  return [...found];
}

/** What the largest stage needs, of each amount: a machine that has that can run every stage. */
function mostOfStages({ spec: { defaults = {}, stages } }: This): ResourceAmounts {
  const floors = stages.map(({ template = {} }) => floorsOf(laidOver(defaults, template).resources));
  return floors.reduce((most, { milliCpu, memory, disk }) => ({
    milliCpu: Math.max(most.milliCpu, milliCpu),
    memory: Math.max(most.memory, memory),
    disk: Math.max(most.disk, disk),
  }));
}

/** An output of a stage is that of its first index; the others have theirs too, and no stage can take them. */
function warningsOfPipeline({ spec: { defaults = {}, stages } }: This): readonly string[] {
  const indexes = new Map(stages.map(({ name, template = {} }) => [name, laidOver(defaults, template).completions]));
  const taken = new Set(
    stages.flatMap((stage) =>
      needsOf(stage).flatMap(({ stage: name, path }) => (path[0] === 'dependsOn' ? [] : [name])),
    ),
  );
  return [...taken].flatMap((name) => {
    const count = indexes.get(name) ?? 1;
    return count > 1 ? [`stage "${name}" has ${count} indexes: fromStage takes the outputs of index 0 only`] : [];
  });
}
