/**
 * How the stages of a Pipeline depend on each other: by name, and by the outputs that they take. Pure.
 * Every dependency must be a stage, and no stage may wait for itself, through whichever others.
 */
import type { z } from 'zod';
import type { JobParts } from '../job/schema.js';
import { addIssue } from '../shapes/rules.js';

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
  const needs = stages.map((stage) => needsOf(stage));
  if (needs.every((own) => own.length === 0)) return;
  const byName = new Map(stages.map(({ name }, index) => [name, needs[index] ?? []]));
  const endless = circling(byName);
  for (const [index, own] of needs.entries()) {
    for (const { stage, path } of own) {
      if (byName.has(stage)) continue;
      addIssue(issues, ['stages', index, ...path], 'is not the name of a stage', 'FieldValueNotFound', stage);
    }
    if (!endless.has(stages[index]?.name ?? '')) continue;
    const back = own.find(({ stage }) => endless.has(stage));
    if (back === undefined) continue;
    addIssue(issues, ['stages', index, ...back.path], 'makes the stages wait for each other in a circle');
  }
}

/** Stages that lie on a circle or wait for one: what is left when all that can run has run. Linear in the needs. */
function circling(needs: ReadonlyMap<string, readonly Need[]>): ReadonlySet<string> {
  const waitsFor = new Map<string, number>();
  const waiters = new Map<string, string[]>();
  for (const [name, own] of needs) {
    let count = 0;
    for (const { stage } of own) {
      if (!needs.has(stage)) continue;
      count += 1;
      const others = waiters.get(stage);
      if (others === undefined) waiters.set(stage, [name]);
      else others.push(name);
    }
    waitsFor.set(name, count);
  }
  const free = [...waitsFor].flatMap(([name, count]) => (count === 0 ? [name] : []));
  for (let name = free.pop(); name !== undefined; name = free.pop()) {
    waitsFor.delete(name);
    for (const waiter of waiters.get(name) ?? []) {
      const count = (waitsFor.get(waiter) ?? 0) - 1;
      waitsFor.set(waiter, count);
      if (count === 0) free.push(waiter);
    }
  }
  return new Set(waitsFor.keys());
}
