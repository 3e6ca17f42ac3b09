/** Owns what a Job names and must exist when it is admitted. */
import type { ApiObject } from '../../api/object.js';
import type { Reference } from '../kind.js';
import type { EnvVar } from '../shapes/env-var.js';
import type { JobSpec } from './schema.js';

export function jobReferences({ spec }: ApiObject<JobSpec>): readonly Reference[] {
  return jobSpecReferences(spec, 'spec');
}

/** Also of a template: `at` is where the Job's spec stands, `spec.template.spec`. */
export function jobSpecReferences(spec: Partial<JobSpec>, at: string): readonly Reference[] {
  return [
    ...(spec.secrets ?? []).map(({ name }, index) => ({ field: `${at}.secrets[${index}].name`, kind: 'Secret', name })),
    ...secretsOf(spec.env, `${at}.env`),
    ...(spec.sidecars ?? []).flatMap(({ env }, index) => secretsOf(env, `${at}.sidecars[${index}].env`)),
    ...(spec.inputs ?? []).flatMap(({ output }, index) =>
      output === undefined ? [] : [{ field: `${at}.inputs[${index}].output.job`, kind: 'Job', name: output.job }],
    ),
  ];
}

function secretsOf(env: readonly EnvVar[] | undefined, path: string): readonly Reference[] {
  return (env ?? []).flatMap(({ valueFrom }, index) => {
    const name = valueFrom?.secretKeyRef?.name;
    return name === undefined ? [] : [{ field: `${path}[${index}].valueFrom.secretKeyRef.name`, kind: 'Secret', name }];
  });
}
