/** The Jobs of a Pipeline's stages: their names, labels, specs, and the outputs that they take of each other. Pure. */
import { API_GROUP } from '../../brand.js';
import type { ApiObject, ObjectMeta } from '../../api/object.js';
import { ownerLabel } from '../attempts/names.js';
import type { ChildPlan, ChildSet, ParentDraft } from '../children/draft.js';
import { childName } from '../children/names.js';
import { pinAnnotations } from '../job/from-parent.js';
import { partsOver } from '../job/parts.js';
import type { JobParts } from '../job/schema.js';
import type { Input } from '../shapes/files.js';
import type { PipelineSpec } from './schema.js';

const PIPELINE_LABEL = `${API_GROUP}/pipeline`;
const STAGE_LABEL = `${API_GROUP}/stage`;

type Stage = PipelineSpec['stages'][number];

export function stageSet({ metadata, spec }: ApiObject<PipelineSpec>): ChildSet {
  const { stages, defaults = {} } = spec;
  const { names, places } = namesOf(metadata, spec);
  const name = (index: number): string => names[index] ?? '';
  return {
    kind: 'Job',
    total: stages.length,
    name,
    label: (index) => `stage "${stages[index]?.name ?? index}"`,
    indexOf: (job) => places.get(job),
    plan: (index, draft) => planStage(metadata, spec, defaults, index, draft),
  };
}

interface StageNames {
  /** Of the Jobs, by index. */
  readonly names: readonly string[];
  readonly places: ReadonlyMap<string, number>;
}

/** By spec, which is one object as long as the Pipeline is in memory and unchanged: names are hashes, and each message asks for them. */
const known = new WeakMap<PipelineSpec, StageNames>();

function namesOf(metadata: ObjectMeta, spec: PipelineSpec): StageNames {
  const before = known.get(spec);
  if (before !== undefined) return before;
  const names = spec.stages.map((_stage, index) => stageJobName(metadata, spec, index));
  const made = { names, places: new Map(names.map((name, index) => [name, index])) };
  known.set(spec, made);
  return made;
}

export function stageJobName(metadata: ObjectMeta, { stages }: PipelineSpec, index: number): string {
  return childName(metadata, stages[index]?.name ?? String(index), index);
}

/** The template over the defaults; what it takes of other stages is an output of their Jobs, of the very incarnations that have succeeded. */
function planStage(
  metadata: ObjectMeta,
  spec: PipelineSpec,
  defaults: JobParts,
  index: number,
  draft: ParentDraft,
): ChildPlan {
  const stage: Stage = spec.stages[index] ?? { name: String(index) };
  const places = new Map(spec.stages.map(({ name }, place) => [name, place]));
  const pins: Record<string, string> = {};
  const taken = (name: string, from: string, output: string): Input => {
    const place = places.get(from) ?? -1;
    const uid = draft.slot(place)?.detail.uid;
    if (uid !== undefined) pins[name] = uid;
    return { name, output: { job: stageJobName(metadata, spec, place), name: output, index: 0 } };
  };
  const job = partsOver(defaults, stage.template ?? {});
  const inputs = [
    ...(job.inputs ?? []).map((input) =>
      input.fromStage === undefined ? input : taken(input.name, input.fromStage.stage, input.fromStage.output),
    ),
    ...(stage.inputs ?? []).map(({ name, fromStage, output }) => taken(name, fromStage, output)),
  ];
  return {
    labels: { [PIPELINE_LABEL]: ownerLabel(metadata.name), [STAGE_LABEL]: stage.name },
    annotations: pinAnnotations(pins),
    spec: inputs.length === 0 ? job : { ...job, inputs },
  };
}
