/**
 * Owns the step from a kind's plan to an engine's order: secrets are opened, inputs become files, and nothing of it is
 * written down anywhere (I11). What cannot be resolved is the customer's fault and says which reference it was.
 */
import type { Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import { withProxy } from '../../src/engines/compute/egress/environment.js';
import type { OrderedProcess, RegistryLogin, WorkOrder } from '../../src/engines/compute/engine.js';
import type { Letter } from '../../src/kinds/letter.js';
import type { PlannedEnv, PlannedProcess, WorkPlan } from '../../src/kinds/work.js';
import { isUseNews } from '../../src/kinds/plain-machine.js';
import type { SecretSpec, SecretStatus } from '../../src/kinds/secret/schema.js';
import { Expansion, ExpansionTooLarge } from './expand.js';
import type { Inputs } from './inputs.js';
import { readLogins } from './registry-logins.js';
import type { SecretVersions } from '../../storage/store.js';

export interface OrderDeps {
  readonly secrets: Pick<SecretVersions, 'open'>;
  read(address: Address): Promise<Buffer | undefined>;
  readonly inputs: Pick<Inputs, 'stage'>;
  /** The object with this uid has been used: it notes the time. */
  used(address: Address, uid: string): void;
  /** By work id; undefined where there is no attempt API. */
  readonly access?: ((work: string) => AttemptAccess | undefined) | undefined;
  now(): number;
}

/** How one Attempt reaches its own API. The token is in `env`, and nowhere else (I11). */
export interface AttemptAccess {
  /** Holds the socket; the service's. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
}

export type ResolvedOrder =
  | {
      readonly outcome: 'Order';
      readonly order: WorkOrder;
      /** What the work mounts, by Secret. */
      readonly mounted: PinnedVersions;
    }
  | { readonly outcome: 'Missing'; readonly reason: string; readonly message: string }
  | { readonly outcome: 'Later'; readonly message: string };

/** Processes and threads of one piece of work; a fork bomb ends here. */
const PIDS_LIMIT = 1_024;
/** Log kept per process of one piece of work. */
const LOG_BYTES = 64 * 1024 * 1024;

type Missing = Extract<ResolvedOrder, { outcome: 'Missing' }>;

type PinnedVersions = Extract<Letter, { letter: 'SecretsPinned' }>['versions'];

interface OpenedSecret {
  readonly name: string;
  readonly version: number;
  readonly uid: string;
  readonly type: string | undefined;
  readonly values: ReadonlyMap<string, Buffer>;
}

export async function resolveOrder(
  id: string,
  place: Address,
  plan: WorkPlan,
  labels: Readonly<Record<string, string>>,
  deps: OrderDeps,
  signal: AbortSignal,
): Promise<ResolvedOrder> {
  const opened = await openSecrets(place, plan, deps);
  if ('outcome' in opened) return opened;
  const registryLogins = await openLogins(place, plan, deps);
  if ('outcome' in registryLogins) return registryLogins;
  const inputs: WorkOrder['inputs'][number][] = [];
  for (const input of plan.inputs) {
    const staged = await deps.inputs.stage(id, place, input, signal);
    if (staged.outcome !== 'Staged') return staged;
    const { path, source, unpack, writable } = staged;
    inputs.push({ path, source, unpack, writable });
  }
  const mounted = plan.secrets.flatMap(({ name }) => opened.filter((secret) => secret.name === name));
  const api = deps.access?.(id);
  const standing: Standing = { network: plan.network, api };
  const process = (planned: PlannedProcess): OrderedProcess => processOf(planned, mounted, opened, standing);
  let processes: Pick<WorkOrder, 'main' | 'init' | 'sidecars'>;
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
    outcome: 'Order',
    order: {
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
      limits: { ...plan.amounts, pids: PIDS_LIMIT, logBytes: LOG_BYTES },
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
  deps: OrderDeps,
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

/** The proxy's variables are for those who say nothing of their own; nobody else can set those of the service. */
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
      // What stands above it; what comes from a secret is nobody's text to expand.
      env[name] = expansion.expand(value ?? '', env);
    }
  }
  return env;
}

const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

async function openSecrets(place: Address, plan: WorkPlan, deps: OrderDeps): Promise<OpenedSecret[] | Missing> {
  const wanted = new Map(plan.secrets.map(({ name, version }) => [name, version]));
  const keys = [plan.main, ...(plan.init ? [plan.init] : []), ...plan.sidecars].flatMap(({ env }) =>
    env.flatMap(({ fromSecret }) => (fromSecret ? [fromSecret] : [])),
  );
  for (const { name } of keys) if (!wanted.has(name)) wanted.set(name, undefined);
  const opened: OpenedSecret[] = [];
  for (const [name, pinned] of wanted) {
    const secret = await openSecret(place, name, pinned, deps);
    if ('outcome' in secret) return secret;
    opened.push(secret);
  }
  for (const { name, key } of keys) {
    const has = opened.find((secret) => secret.name === name)?.values.has(key);
    if (!has) return missing('SecretKeyNotFound', `secret "${name}" has no key "${key}"`);
  }
  return opened;
}

async function openSecret(
  place: Address,
  name: string,
  pinned: number | undefined,
  deps: OrderDeps,
): Promise<OpenedSecret | Missing> {
  const address: Address = { ...place, kind: 'Secret', name };
  const body = await deps.read(address);
  if (!body) return missing('SecretNotFound', `secret "${name}" does not exist in project "${place.project}"`);
  const { metadata, spec, status } = decodeObject<Partial<SecretSpec>, Partial<SecretStatus>>(body);
  const version = pinned ?? status.version ?? 0;
  const values = await deps.secrets.open(place.org, metadata.uid, version);
  if (!values) return missing('SecretNotFound', `secret "${name}" has no version ${version}`);
  // What it says already is as good as now: a Job of ten thousand indexes costs its Secret one commit a minute.
  if (isUseNews(status, deps.now())) deps.used(address, metadata.uid);
  return { name, version, uid: metadata.uid, type: spec.type, values };
}

async function openLogins(place: Address, plan: WorkPlan, deps: OrderDeps): Promise<RegistryLogin[] | Missing> {
  const logins: RegistryLogin[] = [];
  for (const name of plan.pullSecrets ?? []) {
    const secret = await openSecret(place, name, undefined, deps);
    if ('outcome' in secret) return secret;
    const read = readLogins(secret.type, secret.values);
    if (read.outcome === 'Unusable') return missing('ImagePullFailed', `secret "${name}" ${read.why}`);
    logins.push(...read.logins);
  }
  return logins;
}

function missing(reason: string, message: string): Missing {
  return { outcome: 'Missing', reason, message };
}
