/**
 * What each stage of a Pipeline must be: the Job that its template makes over the defaults holds the rules of a Job,
 * its inputs have names of their own, and what they take is an output that the other stage has. Pure.
 */
import type { z } from 'zod';
import { laidOver, saysAt } from '../job/parts.js';
import { checkJob, jobFields, MOST_SPEC_BYTES, sizeOf, TOO_LONG, type JobParts, type JobSpec } from '../job/schema.js';
import { checkTemplate } from '../job/template.js';
import { equalJson } from '../../api/equal.js';
import { isObject } from '../../api/safe-value.js';
import { addIssue, addIssueOfRepeats } from '../shapes/rules.js';
import { STANDING_OUTPUT } from '../shapes/files.js';

type Issues = z.core.ParsePayload['issues'];

interface Stage {
  readonly name: string;
  readonly dependsOn?: readonly string[] | undefined;
  readonly inputs?:
    | readonly { readonly name: string; readonly fromStage: string; readonly output: string }[]
    | undefined;
  readonly template?: JobParts | undefined;
}

const NOTHING: JobParts = {};
const TOO_LONG_TOGETHER = `must be at most ${MOST_SPEC_BYTES} bytes as JSON, together with spec.defaults`;

/**
 * Parts of which each is valid may not be so together, such as the hosts of an AllowList under another policy. What is wrong in one part by
 * itself is said there.
 */
function checkMerged(
  defaults: JobParts,
  template: JobParts,
  job: JobSpec,
  at: (string | number)[],
  issues: Issues,
): void {
  const keys = (Object.keys(job) as (keyof JobSpec)[]).filter(
    (key) => isObject(defaults[key]) && isObject(template[key]),
  );
  if (keys.length === 0) return;
  const faultsOf = (part: JobParts): readonly z.core.$ZodIssue[] =>
    jobFields.safeParse(Object.fromEntries(keys.map((key) => [key, part[key]]))).error?.issues ?? [];
  const together = faultsOf(job);
  if (together.length === 0) return;
  const alone = [...faultsOf(defaults), ...faultsOf(template)];
  for (const issue of together) {
    if (alone.some(({ message, path }) => message === issue.message && equalJson(path, issue.path))) continue;
    issues.push({ ...issue, input: undefined, path: [...at, 'template', ...issue.path] });
  }
}

/** What is wrong with the Job of a stage, each at the field that its writer has to change: what all take of the defaults there, and once. */
function checkStageJob(defaults: JobParts, template: JobParts, at: (string | number)[], issues: Issues): JobSpec {
  const job = laidOver(defaults, template);
  checkMerged(defaults, template, job, at, issues);
  const found: Issues = [];
  checkJob(job, 'Stage', found, []);
  for (const issue of found) {
    const path = issue.path ?? [];
    const inDefaults = !saysAt(template, path) && saysAt(defaults, path);
    const place = [...(inDefaults ? ['defaults'] : [...at, 'template']), ...path];
    const said = inDefaults && issues.some((one) => one.message === issue.message && equalJson(one.path, place));
    if (!said) issues.push({ ...issue, path: place });
  }
  return job;
}

export function checkStages(defaults: JobParts, stages: readonly Stage[], issues: Issues): void {
  const byName = new Map<string, Stage>();
  for (const [index, resources] of stages.entries()) {
    if (byName.has(resources.name)) {
      addIssue(issues, ['stages', index, 'name'], 'must be unique', 'FieldValueDuplicate', resources.name);
    } else byName.set(resources.name, resources);
  }
  const checkOutput = (path: (string | number)[], from: string, output: string): void => {
    const resources = byName.get(from);
    // That there is no such stage is told where the graph is checked.
    if (resources === undefined || output === STANDING_OUTPUT.name) return;
    const declared = resources.template?.outputs ?? defaults.outputs ?? [];
    if (declared.some(({ name }) => name === output)) return;
    addIssue(issues, path, `is no output of stage "${from}"`, 'FieldValueNotFound', output);
  };
  const shared = sizeOf(defaults);
  for (const [index, { dependsOn, inputs = [], template = NOTHING }] of stages.entries()) {
    const at = ['stages', index];
    if (dependsOn !== undefined) addIssueOfRepeats(issues, [...at, 'dependsOn'], dependsOn);
    checkTemplate(template, [...at, 'template'], issues);
    if (shared + sizeOf(template) > MOST_SPEC_BYTES) addIssue(issues, [...at, 'template'], TOO_LONG_TOGETHER, TOO_LONG);
    const job = checkStageJob(defaults, template, at, issues);
    const taken = new Set(inputs.length === 0 ? [] : (job.inputs ?? []).map(({ name }) => name));
    for (const [i, { name, fromStage, output }] of inputs.entries()) {
      const input = [...at, 'inputs', i];
      if (taken.has(name)) addIssue(issues, [...input, 'name'], 'must be unique', 'FieldValueDuplicate', name);
      taken.add(name);
      checkOutput([...input, 'output'], fromStage, output);
    }
    for (const [i, { fromStage }] of (template.inputs ?? []).entries()) {
      const path = [...at, 'template', 'inputs', i, 'fromStage', 'output'];
      if (fromStage) checkOutput(path, fromStage.stage, fromStage.output);
    }
  }
  checkTemplate(defaults, ['defaults'], issues);
  // Every stage would take it, the one that makes it too.
  for (const [index, { fromStage }] of (defaults.inputs ?? []).entries()) {
    const path = ['defaults', 'inputs', index, 'fromStage'];
    if (fromStage) addIssue(issues, path, 'is for a stage of its own only', 'FieldValueForbidden');
  }
}
