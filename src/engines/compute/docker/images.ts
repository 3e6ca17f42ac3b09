/**
 * Owns the finding of an image: what the daemon has is taken as it is, else it is pulled. Images of the catalog stand for what the
 * settings name; one that they do not name does not exist. An image is pinned by the digest under which its registry has it, and can be
 * pulled again by that; one that was never in a registry by its own, and is there as long as the daemon keeps it.
 */
import type Docker from 'dockerode';
import type { ImageInspectInfo } from 'dockerode';
import { BRAND } from '../../../brand.js';
import { found, statusOf, wordsOf } from './daemon.js';

export type Image =
  | {
      readonly outcome: 'Here';
      /** Names it to the daemon, and nothing else, ever. */
      readonly id: string;
      readonly digest: string;
      readonly env: Readonly<Record<string, string>>;
    }
  | { readonly outcome: 'Missing'; readonly reason: 'ImageNotFound' | 'ImagePullFailed'; readonly message: string };

/** `pin`: the digest that it must have. */
export async function findImage(
  docker: Docker,
  name: string,
  pin: string | undefined,
  catalog: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Image> {
  const reference = name.startsWith(`${BRAND}/`) ? catalog[name] : name;
  if (reference === undefined) return missing('ImageNotFound', `no image of this engine stands for ${name}`);
  const pulled = pin === undefined ? withTag(reference) : `${repositoryOf(reference)}@${pin}`;
  const here = await look(docker, reference, pin);
  if (here !== undefined) return here;
  try {
    const progress = await docker.pull(pulled, { abortSignal: signal });
    await new Promise<void>((done, failed) => {
      docker.modem.followProgress(progress, (error: unknown) => (error == null ? done() : failed(error)));
    });
  } catch (error) {
    signal.throwIfAborted();
    const words = wordsOf(error);
    // A registry answers the same for what is not there and what is not for everybody.
    const none =
      statusOf(error) === 404 ||
      /not found|manifest unknown|no such host|does not exist|invalid reference/i.test(words);
    return missing(none ? 'ImageNotFound' : 'ImagePullFailed', `${pulled}: ${words}`);
  }
  return (await look(docker, reference, pin)) ?? missing('ImageNotFound', `${pulled}: it was pulled and is not there`);
}

async function look(docker: Docker, reference: string, pin: string | undefined): Promise<Image | undefined> {
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
  return { outcome: 'Here', id, digest: pin ?? digestOf(reference, info) ?? id, env: Object.fromEntries(entries) };
}

/** As the registry of this name has it. */
function digestOf(reference: string, info: ImageInspectInfo): string | undefined {
  const named = /@(sha256:[0-9a-f]{64})$/.exec(reference)?.[1];
  if (named !== undefined) return named;
  const repository = wholeName(repositoryOf(reference));
  const same = (info.RepoDigests ?? []).find((each) => wholeName(repositoryOf(each)) === repository);
  return same?.slice(same.indexOf('@') + 1);
}

/** Without tag and digest. */
function repositoryOf(reference: string): string {
  return reference.replace(/@.*$/, '').replace(/:[^/:]*$/, '');
}

/** Daemons leave out what names of one registry have in common, or do not. */
function wholeName(repository: string): string {
  return repository.replace(/^(index\.)?docker\.io\//, '').replace(/^library\//, '');
}

/** Without a tag the daemon would pull all of them. */
function withTag(reference: string): string {
  return /:[^/]+$|@/.test(reference) ? reference : `${reference}:latest`;
}

function missing(reason: 'ImageNotFound' | 'ImagePullFailed', message: string): Image {
  return { outcome: 'Missing', reason, message: message.slice(0, 500) };
}
