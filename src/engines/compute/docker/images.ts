/**
 * Finds an image: what the daemon has is taken as it is, else it is pulled, by the login that is for its
 * registry; what a login has brought is for those alone who have one (`private-images.ts`). Images of the catalog stand for what the
 * settings name; one that they do not name does not exist. An image is pinned by the digest under which its registry has it, and can be
 * pulled again by that; one that was never in a registry by its own, and is there as long as the daemon keeps it.
 */
import type Docker from 'dockerode';
import type { AuthConfig, ImageInspectInfo } from 'dockerode';
import { BRAND } from '../../../brand.js';
import type { RegistryLogin } from '../contract/engine.js';
import { found, statusOf, orAbort, wordsOf } from './daemon.js';
import type { PrivateImages } from './private-images.js';
import { repositoryOf, wholeName, withTag } from './image-name.js';
import { HUB, loginFor, refusalOfRegistry, registryOf, type RegistryRules } from './registry.js';

export interface Present {
  readonly outcome: 'Here';
  /** Names it to the daemon, and nothing else, ever. */
  readonly id: string;
  readonly digest: string;
  readonly env: Readonly<Record<string, string>>;
  /** All of its names, with tag or digest. */
  readonly names: readonly string[];
}

export interface Missing {
  readonly outcome: 'Missing';
  readonly reason: 'ImageNotFound' | 'ImagePullFailed';
  readonly message: string;
}

export interface ImageWish {
  readonly name: string;
  /** The digest that it must have. */
  readonly pin?: string | undefined;
  readonly logins: readonly RegistryLogin[];
}

export interface ImageDeps extends RegistryRules {
  readonly docker: Docker;
  /** Catalog name → reference. */
  readonly catalog: Readonly<Record<string, string>>;
  readonly privateImages: PrivateImages;
  isPodman(signal: AbortSignal): Promise<boolean>;
}

export async function findImage(
  { name, pin, logins }: ImageWish,
  deps: ImageDeps,
  signal: AbortSignal,
): Promise<Present | Missing> {
  const { docker, catalog, privateImages } = deps;
  // What the catalog's names stand for is the operator's word, and everybody's.
  const common = name.startsWith(`${BRAND}/`);
  const reference = common ? catalog[name] : name;
  if (reference === undefined) return missing('ImageNotFound', `no image of this engine stands for ${name}`);
  const login = loginFor(reference, logins);
  const here = await look(docker, reference, pin);
  if (here !== undefined && (common || privateImages.mayHave(here.id, here.names, login))) return here;
  const pulled = pin === undefined ? withTag(reference) : `${repositoryOf(reference)}@${pin}`;
  const refusal = common ? undefined : await refusalOfRegistry(reference, deps);
  if (refusal !== undefined) {
    return missing(refusal.passing ? 'ImagePullFailed' : 'ImageNotFound', `${pulled}: ${refusal.message}`);
  }
  if (here !== undefined) {
    // A daemon that has all of it takes a digest for pulled without asking anybody.
    const ask = (await deps.isPodman(signal)) ? pull : askRegistry;
    const unproven = await ask(docker, pulled, login, signal);
    if (unproven === undefined) privateImages.show(here.id, login);
    return unproven ?? here;
  }
  // One that is broken off stays begun: nobody knows what the daemon makes of it.
  if (login !== undefined) await privateImages.begin(wholeName(pulled));
  const failure = await pull(docker, pulled, login, signal);
  const image = failure === undefined ? await look(docker, reference, pin) : undefined;
  if (login !== undefined) {
    const brought = image !== undefined && !wasCommon(image, pulled, privateImages);
    await privateImages.end(wholeName(pulled), brought ? image.id : undefined);
  }
  if (image === undefined) return failure ?? missing('ImageNotFound', `${pulled}: it was pulled and is not there`);
  privateImages.show(image.id, login);
  return image;
}

/** It was here under another name, for everybody, and is. */
function wasCommon({ id, names }: Present, pulled: string, privateImages: PrivateImages): boolean {
  const repository = repositoryOf(wholeName(pulled));
  return !privateImages.has(id) && names.some((name) => repositoryOf(name) !== repository);
}

/** Undefined: done. Rejects with the signal's reason alone. */
type Ask = (
  docker: Docker,
  reference: string,
  login: RegistryLogin | undefined,
  signal: AbortSignal,
) => Promise<Missing | undefined>;

const pull: Ask = async (docker, reference, login, signal) => {
  try {
    const progress = await docker.pull(reference, { abortSignal: signal, ...authOf(reference, login) });
    await new Promise<void>((done, failed) => {
      docker.modem.followProgress(progress, (error: unknown) => (error == null ? done() : failed(error)));
    });
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    return failureOf(reference, login, error);
  }
};

/** Whether this login may have it. */
const askRegistry: Ask = async (docker, reference, login, signal) => {
  try {
    await orAbort(docker.getImage(reference).distribution(authOf(reference, login)), signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    return failureOf(reference, login, error);
  }
};

function failureOf(reference: string, login: RegistryLogin | undefined, error: unknown): Missing {
  // What something answered that is no registry is not passed on.
  const words = wordsOf(error).replace(/\bbody\b.*/s, '…');
  // A registry answers the same for what is not there and what is not for everybody.
  // That its name was not resolved says nothing of what it has.
  const unresolved = /no such host|name resolution|server misbehaving|dial tcp: lookup/i.test(words);
  const none =
    !unresolved &&
    (statusOf(error) === 404 || /not found|manifest unknown|does not exist|invalid reference/i.test(words));
  const wanted = login === undefined && /no basic auth|unauthorized|authentication required|denied/i.test(words);
  const next = wanted ? '; the imagePullSecrets of a Job or Workspace may name a login' : '';
  return missing(none ? 'ImageNotFound' : 'ImagePullFailed', `${reference}: ${words}${next}`);
}

/** As the daemon wants it. */
function authOf(reference: string, login: RegistryLogin | undefined): { readonly authconfig?: AuthConfig } {
  if (login === undefined) return {};
  const { username, password } = login;
  const registry = registryOf(reference);
  return {
    authconfig: { username, password, serveraddress: registry === HUB ? 'https://index.docker.io/v1/' : registry },
  };
}

async function look(docker: Docker, reference: string, pin: string | undefined): Promise<Present | undefined> {
  const inspect = (name: string): Promise<ImageInspectInfo | undefined> => found(docker.getImage(name).inspect());
  const info =
    pin === undefined
      ? await inspect(reference)
      : ((await inspect(`${repositoryOf(reference)}@${pin}`)) ?? (await inspect(pin)));
  if (info === undefined) return undefined;
  const entries = (info.Config?.Env ?? []).map((entry): [string, string] => {
    const at = entry.indexOf('=');
    return at < 0 ? [entry, ''] : [entry.slice(0, at), entry.slice(at + 1)];
  });
  const id = info.Id.startsWith('sha256:') ? info.Id : `sha256:${info.Id}`;
  const names = [...(info.RepoTags ?? []), ...(info.RepoDigests ?? [])].map(wholeName);
  return {
    outcome: 'Here',
    id,
    digest: pin ?? digestOf(reference, info) ?? id,
    env: Object.fromEntries(entries),
    names,
  };
}

/** As the registry of this name has it. */
function digestOf(reference: string, info: ImageInspectInfo): string | undefined {
  const named = /@(sha256:[0-9a-f]{64})$/.exec(reference)?.[1];
  if (named !== undefined) return named;
  const repository = wholeName(repositoryOf(reference));
  const same = (info.RepoDigests ?? []).find((each) => wholeName(repositoryOf(each)) === repository);
  return same?.slice(same.indexOf('@') + 1);
}

function missing(reason: 'ImageNotFound' | 'ImagePullFailed', message: string): Missing {
  return { outcome: 'Missing', reason, message: message.slice(0, 500) };
}
