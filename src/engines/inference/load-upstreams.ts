/** Reads the file of upstreams (`TROUPE_UPSTREAMS`) and the keys that it names. Every fault is a line that begins with the file's name. */
import { basename } from 'node:path';
import { readKeys, type KeySources } from './upstream-keys.js';
import { parseUpstreams, withoutFile, type Catalog, type UpstreamsFile } from './upstreams-file.js';

export type LoadedUpstreams =
  | { readonly outcome: 'Read'; readonly file: UpstreamsFile; readonly keys: ReadonlyMap<string, string> }
  | { readonly outcome: 'Invalid'; readonly lines: readonly string[] };

/** Reading YAML takes milliseconds for each kilobyte. */
const LARGEST_FILE = 128 * 1024;

/** `path` undefined: there are no upstreams but the embedded one. */
export async function loadUpstreams(
  path: string | undefined,
  catalog: Catalog,
  sources: KeySources,
): Promise<LoadedUpstreams> {
  if (path === undefined) return { outcome: 'Read', file: withoutFile(catalog), keys: new Map() };
  const invalid = (lines: readonly string[]): LoadedUpstreams => ({
    outcome: 'Invalid',
    lines: lines.map((line) => `${basename(path)}: ${line}`),
  });
  const text = await sources.readFile(path).catch(() => undefined);
  if (text === undefined)
    return invalid(['cannot be read. Make it readable for the service, or correct TROUPE_UPSTREAMS.']);
  if (text.length > LARGEST_FILE) return invalid([`is larger than ${LARGEST_FILE} bytes. Name fewer models.`]);
  const parsed = parseUpstreams(text, catalog);
  if (parsed.outcome === 'Invalid') return invalid(parsed.lines);
  const read = await readKeys(parsed.file.upstreams, sources);
  return read.outcome === 'Invalid' ? invalid(read.lines) : { ...read, file: parsed.file };
}
