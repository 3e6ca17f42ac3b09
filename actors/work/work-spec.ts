/**
 * Makes an engine's order out of a kind's plan: secrets are opened (`open-secrets.ts`), inputs become files, and nothing of it is
 * written down anywhere (I11). What cannot be resolved is the customer's fault, and the message names the reference.
 */
import type { Address } from '../../src/api/address.js';
import { withProxy } from '../../src/engines/compute/shared/egress/environment.js';
import type { OrderedProcess, WorkSpec } from '../../src/engines/compute/contract/engine.js';
import type { ObjectMessage } from '../../src/kinds/object-message.js';
import type { PlannedEnv, PlannedProcess, WorkPlan } from '../../src/kinds/work.js';
import { Expansion, ExpansionTooLarge } from './expand.js';
import type { Inputs } from './inputs.js';
import { missing, openLogins, openSecrets, type Missing, type OpenDeps, type OpenedSecret } from './open-secrets.js';

export interface WorkSpecDeps extends OpenDeps {
  readonly inputs: Pick<Inputs, 'stage'>;
  /** By work id; undefined where there is no attempt API. */
  readonly access?: ((work: string) => AttemptAccess | undefined) | undefined;
}

/** How one Attempt reaches its own API. The token is in `env`, and nowhere else (I11). */
export interface AttemptAccess {
  /** Holds the socket; the service's. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
}

export type ResolvedWorkSpec =
  | {
      readonly outcome: 'Resolved';
      readonly spec: WorkSpec;
      /** What the work mounts, by Secret. */
      readonly mounted: PinnedVersions;
    }
  | Missing
  | { readonly outcome: 'Later'; readonly message: string };

/** Processes and threads of one piece of work at the most; a fork bomb ends here, or at the part that its memory is good for. */
const PIDS_LIMIT = 1_024;
/** Log kept per process of one piece of work. */
const LOG_BYTES = 64 * 1024 * 1024;

type PinnedVersions = Extract<ObjectMessage, { type: 'SecretsPinned' }>['versions'];

export async function resolveWorkSpec(
  id: string,
  place: Address,
  plan: WorkPlan,
  labels: Readonly<Record<string, string>>,
  deps: WorkSpecDeps,
  signal: AbortSignal,
): Promise<ResolvedWorkSpec> {
  const opened = await openSecrets(place, plan, deps);
  if ('outcome' in opened) return opened;
  const registryLogins = await openLogins(place, plan, deps);
  if ('outcome' in registryLogins) return registryLogins;
  const inputs: WorkSpec['inputs'][number][] = [];
  for (const input of plan.inputs) {
    const staged = await deps.inputs.stage(id, place, input, signal);
    if (staged.outcome !== 'Staged') return staged;
    const { path, source, unpack, writable, saved } = staged;
    inputs.push({ path, source, unpack, writable, saved });
  }
  const mounted = plan.secrets.flatMap(({ name }) => opened.filter((secret) => secret.name === name));
  const api = deps.access?.(id);
  const standing: Standing = { network: plan.network, api };
  const process = (planned: PlannedProcess): OrderedProcess => processOf(planned, mounted, opened, standing);
  let processes: Pick<WorkSpec, 'main' | 'init' | 'sidecars'>;
  try {
    const { main, init, sidecars } = plan;
    processes = {
      main: plan.idle === true ? undefined : process(main),
      init: init && process(init),
      sidecars: sidecars.map(process),
    };
  } catch (error) {
    if (!(error instanceof ExpansionTooLarge)) throw error;
    return missing('ExpansionTooLarge', 'with its $(NAME) references expanded, a command or environment is too large');
  }
  return {
    outcome: 'Resolved',
    spec: {
      id,
      image: plan.image,
      imageDigest: plan.imageDigest,
      registryLogins,
      ...processes,
      enterable: plan.enterable,
      workingDir: plan.workingDir,
      home: plan.home,
      secretFiles: new Map(mounted.flatMap(({ values }) => [...values])),
      inputs,
      outputs: plan.outputs,
      network: plan.network,
      limits: { ...plan.amounts, countedMemory: plan.countedMemory, pids: PIDS_LIMIT, logBytes: LOG_BYTES },
      labels,
      apiDirectory: api?.directory,
    },
    mounted: Object.fromEntries(mounted.map(({ name, version, uid }) => [name, { version, id: `${uid}.${version}` }])),
  };
}

/** What every program of this plan sees in its environment, for a command that comes later to this work. */
export async function resolveEnvironment(
  place: Address,
  plan: WorkPlan,
  work: string,
  deps: WorkSpecDeps,
): Promise<{ readonly outcome: 'Environment'; readonly env: Readonly<Record<string, string>> } | Missing> {
  const opened = await openSecrets(place, plan, deps);
  if ('outcome' in opened) return opened;
  const mounted = plan.secrets.flatMap(({ name }) => opened.filter((secret) => secret.name === name));
  const env = environment(plan.main.env, mounted, opened, new Expansion());
  return { outcome: 'Environment', env: withStanding(env, { network: plan.network, api: deps.access?.(work) }) };
}

function processOf(
  planned: PlannedProcess,
  mounted: readonly OpenedSecret[],
  opened: readonly OpenedSecret[],
  standing: Standing,
): OrderedProcess {
  const expansion = new Expansion();
  const env = withStanding(environment(planned.env, mounted, opened, expansion), standing);
  const command = planned.command.map((word) => expansion.expand(word, env));
  return { name: planned.name, command, env, timeoutSeconds: planned.timeoutSeconds };
}

/** What every program finds in its environment, whatever its spec says. */
interface Standing {
  readonly network: WorkPlan['network'];
  readonly api: AttemptAccess | undefined;
}

/** The proxy's variables are defaults, which the customer's own replace; those of the service only the service can set. */
function withStanding(env: Readonly<Record<string, string>>, standing: Standing): Readonly<Record<string, string>> {
  return { ...withProxy(env, standing.network), ...standing.api?.env };
}

/** Mounted secrets first, so that what the spec says in `env` wins; a key that is no variable name is a file only. */
function environment(
  planned: readonly PlannedEnv[],
  mounted: readonly OpenedSecret[],
  opened: readonly OpenedSecret[],
  expansion: Expansion,
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const { values } of mounted) {
    for (const [key, value] of values) if (VARIABLE_NAME.test(key)) env[key] = value.toString('utf8');
  }
  for (const { name, value, fromSecret } of planned) {
    if (fromSecret) {
      const bytes = opened.find((secret) => secret.name === fromSecret.name)?.values.get(fromSecret.key);
      if (bytes) env[name] = bytes.toString('utf8');
    } else {
      // A value may refer to variables above it. A secret's value is taken as it is.
      env[name] = expansion.expand(value ?? '', env);
    }
  }
  return env;
}

const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
