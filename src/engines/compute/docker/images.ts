/**
 * Owns the finding of an image: what the daemon has is taken as it is, else it is pulled. Images of the catalog stand for what the
 * settings name; one that they do not name does not exist.
 */
import type Docker from 'dockerode';
import { BRAND } from '../../../brand.js';
import { found, statusOf, wordsOf } from './daemon.js';

export type Image =
  | { readonly outcome: 'Here'; readonly reference: string; readonly env: Readonly<Record<string, string>> }
  | { readonly outcome: 'Missing'; readonly reason: 'ImageNotFound' | 'ImagePullFailed'; readonly message: string };

export async function findImage(
  docker: Docker,
  name: string,
  catalog: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Image> {
  const reference = name.startsWith(`${BRAND}/`) ? catalog[name] : name;
  if (reference === undefined) return missing('ImageNotFound', `no image of this engine stands for ${name}`);
  const here = await look(docker, reference);
  if (here !== undefined) return here;
  try {
    const progress = await docker.pull(withTag(reference), { abortSignal: signal });
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
    return missing(none ? 'ImageNotFound' : 'ImagePullFailed', `${reference}: ${words}`);
  }
  return (await look(docker, reference)) ?? missing('ImageNotFound', `${reference}: it was pulled and is not there`);
}

async function look(docker: Docker, reference: string): Promise<Image | undefined> {
  const info = await found(docker.getImage(reference).inspect());
  if (info === undefined) return undefined;
  const entries = (info.Config?.Env ?? []).map((entry): [string, string] => {
    const at = entry.indexOf('=');
    return at < 0 ? [entry, ''] : [entry.slice(0, at), entry.slice(at + 1)];
  });
  return { outcome: 'Here', reference, env: Object.fromEntries(entries) };
}

/** Without a tag the daemon would pull all of them. */
function withTag(reference: string): string {
  return /:[^/]+$|@/.test(reference) ? reference : `${reference}:latest`;
}

function missing(reason: 'ImageNotFound' | 'ImagePullFailed', message: string): Image {
  return { outcome: 'Missing', reason, message: message.slice(0, 500) };
}
