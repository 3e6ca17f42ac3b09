/**
 * Reads the keys that the file of upstreams names, from the environment or from files, once. They are kept in memory only, for the
 * connections to their upstream, and stand in no message (I11).
 */
import type { KeyReference, UpstreamEntry } from './upstreams-file.js';

export interface KeySources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Rejects when it cannot be read. */
  readFile(path: string): Promise<string>;
}

export type KeysResult =
  /** By the name of the upstream; one without a key is absent. */
  | { readonly outcome: 'Read'; readonly keys: ReadonlyMap<string, string> }
  /** A line for each fault: the field, the reason and the next step. */
  | { readonly outcome: 'Invalid'; readonly lines: readonly string[] };

/** What can stand in a header. */
const KEY = /^[\x21-\x7e]{1,4096}$/;

export async function readKeys(upstreams: readonly UpstreamEntry[], sources: KeySources): Promise<KeysResult> {
  const keys = new Map<string, string>();
  const lines: string[] = [];
  for (const [at, { name, key }] of upstreams.entries()) {
    if (key === undefined) continue;
    const text = (await valueOf(key, sources))?.trim();
    const field = `upstreams[${at}].key.${'env' in key ? 'env' : 'file'}`;
    if (text === undefined || text === '') lines.push(`${field}: ${missing(key)}`);
    else if (!KEY.test(text))
      lines.push(`${field}: what it holds is no key. It must be 1 to 4096 visible characters, on one line.`);
    else keys.set(name, text);
  }
  return lines.length > 0 ? { outcome: 'Invalid', lines } : { outcome: 'Read', keys };
}

async function valueOf(key: KeyReference, { env, readFile }: KeySources): Promise<string | undefined> {
  if ('env' in key) return env[key.env];
  return readFile(key.file).catch(() => undefined);
}

function missing(key: KeyReference): string {
  return 'env' in key
    ? `environment variable ${key.env} is not set. Set it for the service, or name another one.`
    : `${key.file} cannot be read, or is empty. Make it readable for the service, or name another file.`;
}
