/**
 * The registries behind the names of images: which one a name means, whose login is for it, and whether the daemon may be sent there.
 *
 * An image is named by the Job's author, and the daemon asks whatever host stands in the name, from this machine, and tells what it was
 * answered. So a name that leads to a special address (the machine's own, a neighbour, cloud metadata) is refused here, unless the
 * operator has named that registry. The daemon looks the name up once more and follows where a registry sends it, so this
 * is no pin: what is left is requests, whose answers are not passed on (`images.ts`).
 */
import { isIP } from 'node:net';
import { specialAddress } from '../../dialer/special-addresses.js';
import type { RegistryLogin } from '../contract/engine.js';

/** Where names without a registry lead: the daemon's own choice, or the mirror that its operator has set. */
export const HUB = 'docker.io';

const HUB_NAMES = new Set(['docker.io', 'index.docker.io', 'registry-1.docker.io', 'registry.hub.docker.com']);

/** `host` or `host:port`, lower-case. As daemons tell it: a first part with a dot or a colon, or `localhost`. */
export function registryOf(reference: string): string {
  const [first = '', ...rest] = reference.split('/');
  return rest.length > 0 && (/[.:]/.test(first) || first === 'localhost') ? registryNamed(first) : HUB;
}

/** From what people write in a login: `https://index.docker.io/v1/`, `ghcr.io`, `registry.example:5000`. */
export function registryNamed(text: string): string {
  const host = text
    .replace(/^https?:\/\//, '')
    .replace(/\/.*$/, '')
    .toLowerCase();
  return HUB_NAMES.has(host) ? HUB : host;
}

/** The first that is for this registry; one that names none is for every image of the work that brings it. */
export function loginFor(reference: string, logins: readonly RegistryLogin[]): RegistryLogin | undefined {
  const registry = registryOf(reference);
  return (
    logins.find((login) => login.registry !== undefined && registryNamed(login.registry) === registry) ??
    logins.find((login) => login.registry === undefined)
  );
}

export interface RegistryRules {
  lookup(host: string): Promise<readonly string[]>;
  /** Named by the operator, as `registryOf` answers them: wherever they are. */
  readonly trusted: ReadonlySet<string>;
}

/** Why the daemon is not sent to a registry. `passing`: it may be sent there later, since nobody knew where that is. */
export interface RegistryRefusal {
  readonly message: string;
  readonly passing: boolean;
}

/** Undefined: it may be sent there. */
export async function refusalOfRegistry(reference: string, rules: RegistryRules): Promise<RegistryRefusal | undefined> {
  const registry = registryOf(reference);
  if (registry === HUB || rules.trusted.has(registry)) return undefined;
  const host = registry.replace(/:\d+$/, '');
  let cause = 'it has no address';
  const resolve = (): Promise<readonly string[]> =>
    rules.lookup(host).catch((error: unknown) => {
      cause = error instanceof Error ? error.message : cause;
      return [];
    });
  const addresses = isIP(host) === 0 ? await resolve() : [host];
  if (addresses.length === 0) {
    return {
      passing: true,
      message: `the registry ${registry} cannot be reached: the name ${host} is not resolved (${cause})`,
    };
  }
  const special = addresses.map(specialAddress).find((what) => what !== undefined);
  if (special === undefined) return undefined;
  const message = `the registry ${registry} is at a ${special} address, and TROUPE_DOCKER_REGISTRIES does not name it`;
  return { passing: false, message };
}
