/**
 * Owns how the stages of a Pipeline depend on each other: by name, and by the outputs that they take. Pure.
 * Every dependency must be a stage, and no stage may wait for itself, through whichever others.
 */
import type { z } from 'zod';
import type { JobParts } from '../job/schema.js';
import { complain } from '../shapes/complain.js';

type Path = readonly (string | number)[];

/** What of a stage says when it may start. */
interface Waiting {
  readonly name: string;
  readonly dependsOn?: readonly string[] | undefined;
  readonly inputs?: readonly { readonly fromStage: string }[] | undefined;
  readonly template?: Pick<JobParts, 'inputs'> | undefined;
}

/** `path` is where the spec says so, below the stage. */
interface Need {
  readonly stage: string;
  readonly path: Path;
}

/** What the stage waits for. */
export function needsOf({ dependsOn = [], inputs = [], template }: Waiting): readonly Need[] {
  return [
    ...dependsOn.map((stage, index) => ({ stage, path: ['dependsOn', index] })),
    ...inputs.map(({ fromStage }, index) => ({ stage: fromStage, path: ['inputs', index, 'fromStage'] })),
    ...(template?.inputs ?? []).flatMap(({ fromStage }, index) =>
      fromStage === undefined
        ? []
        : [{ stage: fromStage.stage, path: ['template', 'inputs', index, 'fromStage', 'stage'] }],
    ),
  ];
}

/** Complains of names that are no stage, and of the first need of each stage that leads back to it. */
export function checkGraph(stages: readonly Waiting[], issues: z.core.ParsePayload['issues']): void {
  const needs = new Map(stages.map((stage) => [stage.name, needsOf(stage)]));
  const endless = circling(needs);
  for (const [index, stage] of stages.entries()) {
    for (const { stage: needed, path } of needsOf(stage)) {
      if (needs.has(needed)) continue;
      complain(issues, ['stages', index, ...path], 'is not the name of a stage', 'FieldValueNotFound', needed);
    }
    if (!endless.has(stage.name)) continue;
    const back = needs.get(stage.name)?.find(({ stage: needed }) => endless.has(needed));
    if (back !== undefined)
      complain(issues, ['stages', index, ...back.path], 'makes the stages wait for each other in a circle');
  }
}

/** Stages that lie on a circle or lead into one: what is left when all that can run has run. */
function circling(needs: ReadonlyMap<string, readonly Need[]>): ReadonlySet<string> {
  const left = new Set(needs.keys());
  for (let before = -1; before !== left.size;) {
    before = left.size;
    for (const name of left) {
      if ((needs.get(name) ?? []).every(({ stage }) => !left.has(stage))) left.delete(name);
    }
  }
  return left;
}
