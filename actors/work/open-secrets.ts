/**
 * Opens the Secrets that a piece of work names: what they hold at the version that is meant, for the one order that is being made
 * (I11). Each opening is reported to the Secret, which notes when it was used.
 */
import type { Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import type { RegistryLogin } from '../../src/engines/compute/contract/engine.js';
import { isUseNews } from '../../src/kinds/plain-machine.js';
import type { SecretSpec, SecretStatus } from '../../src/kinds/secret/schema.js';
import type { WorkPlan } from '../../src/kinds/work.js';
import type { SecretVersions } from '../../storage/store.js';
import { readLogins } from './registry-logins.js';

export interface OpenDeps {
  readonly secrets: Pick<SecretVersions, 'open'>;
  read(address: Address): Promise<Buffer | undefined>;
  /** The object with this uid has been used: it notes the time. */
  used(address: Address, uid: string): void;
  now(): number;
}

export interface OpenedSecret {
  readonly name: string;
  readonly version: number;
  readonly uid: string;
  readonly type: string | undefined;
  readonly values: ReadonlyMap<string, Buffer>;
}

/** What the work names and does not get. */
export interface Missing {
  readonly outcome: 'Missing';
  readonly reason: string;
  readonly message: string;
}

/** All that the plan mounts or takes a variable from. */
export async function openSecrets(place: Address, plan: WorkPlan, deps: OpenDeps): Promise<OpenedSecret[] | Missing> {
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
  deps: OpenDeps,
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

/** Of the Secrets that may pull its image. */
export async function openLogins(place: Address, plan: WorkPlan, deps: OpenDeps): Promise<RegistryLogin[] | Missing> {
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

export function missing(reason: string, message: string): Missing {
  return { outcome: 'Missing', reason, message };
}
