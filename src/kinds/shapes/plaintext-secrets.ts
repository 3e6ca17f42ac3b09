/**
 * Owns what a spec lets its work see: the variables that it writes out in plain text, and the Secrets that it mounts
 * beside them. A value of one of those must not stand in the other (spec, code SecretValueInEnv). Pure.
 */
import type { PlaintextSecretCheck } from '../kind.js';
import type { EnvVar } from './env-var.js';
import type { SecretMount } from './secret-mount.js';

export interface WithEnv {
  readonly env?: readonly EnvVar[] | null | undefined;
  readonly secrets?: readonly SecretMount[] | null | undefined;
  readonly sidecars?: readonly { readonly env?: readonly EnvVar[] | null | undefined }[] | null | undefined;
}

/** `at` is where the spec stands: `spec`, or `spec.template.spec`. */
export function plaintextSecretCheckOf(spec: WithEnv, at = 'spec'): PlaintextSecretCheck {
  const lists = [
    { env: spec.env ?? [], path: `${at}.env` },
    ...(spec.sidecars ?? []).map(({ env }, index) => ({ env: env ?? [], path: `${at}.sidecars[${index}].env` })),
  ];
  return {
    texts: lists.flatMap(({ env, path }) =>
      env.flatMap(({ value }, index) =>
        value === undefined || value === '' ? [] : [{ field: `${path}[${index}].value`, text: value }],
      ),
    ),
    secrets: [
      ...(spec.secrets ?? []).map(({ name, version }) => ({ name, version })),
      ...lists.flatMap(({ env }) =>
        env.flatMap(({ valueFrom }) => {
          const name = valueFrom?.secretKeyRef?.name;
          return name === undefined ? [] : [{ name, version: undefined }];
        }),
      ),
    ],
  };
}
