/** Owns the environment of planned processes: what a client's variables become, and where they stand among the service's own. */
import type { PlannedEnv } from '../work.js';
import type { EnvVar } from './env-var.js';

/** First, so that the client's variables can refer to them by `$(NAME)`, and last, so that none of these hides them. */
export function withPlainEnv(
  standing: readonly PlannedEnv[],
  env: readonly EnvVar[] | undefined,
): readonly PlannedEnv[] {
  return env === undefined || env.length === 0 ? standing : [...standing, ...env.map(planEnv), ...standing];
}

function planEnv(variable: EnvVar): PlannedEnv {
  const ref = variable.valueFrom?.secretKeyRef;
  if (ref === undefined) return { name: variable.name, value: variable.value ?? '' };
  return { name: variable.name, fromSecret: { name: ref.name, key: ref.key ?? variable.name } };
}
