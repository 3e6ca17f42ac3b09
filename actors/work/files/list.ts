/**
 * Lists one directory inside, bounded (I10): at most MAX_ENTRIES entries and MAX_BYTES about them; where there are more, the file
 * system chooses which ones are listed. Uploads that are not finished are none of them.
 *
 * GNU's find says all of it, ended by NULs. Others say it by `stat`, one name after another ended by `//` and a newline,
 * which no name can hold; where links lead is not shown then.
 */
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { UPLOAD_GLOB } from '../../../src/engines/compute/shared/upload-names.js';
import type { AttachedWork } from '../attach.js';
import { runScript } from './box-script.js';
import { EXIT } from './faults.js';

const MAX_ENTRIES = 10_000;
const MAX_BYTES = 8 * 1024 * 1024;
/** That are read in one turn of the event loop. */
const ENTRIES_PER_TURN = 500;

const LIST = `
[ -e "$1" ] || exit ${EXIT.missing}
[ -d "$1" ] || exit ${EXIT.noDirectory}
cd "$1" || exit
if find . -maxdepth 0 -printf '' 2>/dev/null; then
  printf G
  exec find . -mindepth 1 -maxdepth 1 ! -name '${UPLOAD_GLOB}' -printf '%y %s %m %T@ %f\\0%l\\0'
fi
printf S
exec find . -mindepth 1 -maxdepth 1 ! -name '${UPLOAD_GLOB}' -exec stat -c '%f %s %Y %n//' {} +`;

export interface Entry {
  readonly name: string;
  readonly type: 'File' | 'Directory' | 'Link' | 'Other';
  readonly size: number;
  /** Permissions, in octal. */
  readonly mode: string;
  /** ms since the epoch. */
  readonly modified: number;
  readonly target?: string | undefined;
}

export interface Listing {
  /** By name. */
  readonly entries: readonly Entry[];
  readonly truncated: boolean;
}

/** `hold`: called with the bytes that come about the entries, as they come; what it throws ends the listing. */
export async function listDirectory(
  attached: AttachedWork,
  path: string,
  signal: AbortSignal,
  hold: (bytes: number) => void = () => undefined,
): Promise<Listing> {
  const enough = new AbortController();
  const stop = (): void => enough.abort(signal.reason);
  signal.throwIfAborted();
  signal.addEventListener('abort', stop, { once: true });
  try {
    const script = await runScript(attached, LIST, [path], enough.signal);
    const parts: Uint8Array[] = [];
    let size = 0;
    let truncated = false;
    for await (const part of script.output) {
      hold(part.length);
      parts.push(part);
      size += part.length;
      // More than a whole listing of the longest names that can be listed.
      if (size > MAX_BYTES) {
        truncated = true;
        break;
      }
    }
    // Files that go away meanwhile are no fault (1).
    if (!truncated) await script.done([1]);
    const said = Buffer.concat(parts);
    const all = await (said[0] === 0x47 ? byFind(said.subarray(1)) : byStat(said.subarray(1)));
    const entries = all.slice(0, MAX_ENTRIES).toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    return { entries, truncated: truncated || all.length > MAX_ENTRIES };
  } finally {
    signal.removeEventListener('abort', stop);
    enough.abort();
  }
}

const TYPES: Readonly<Record<string, Entry['type']>> = { f: 'File', d: 'Directory', l: 'Link' };

/** Stops behind MAX_ENTRIES: one more says that there are more. */
async function byFind(said: Buffer): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let at = 0; at < said.length && entries.length <= MAX_ENTRIES;) {
    if (entries.length % ENTRIES_PER_TURN === 0) await turnOfLoop();
    const head = said.indexOf(0, at);
    const end = head < 0 ? -1 : said.indexOf(0, head + 1);
    if (end < 0) break;
    const parts = /^(.) (\d{1,16}) ([0-7]{1,5}) (-?\d{1,15})(?:\.\d*)? ([^]+)$/.exec(said.toString('utf8', at, head));
    const target = said.toString('utf8', head + 1, end);
    at = end + 1;
    if (!parts) continue;
    const [, type = '', size = '', mode = '', seconds = '', name = ''] = parts;
    entries.push({
      ...{ name, type: TYPES[type] ?? 'Other', size: Number(size), mode: mode.padStart(4, '0') },
      modified: Number(seconds) * 1_000,
      target: type === 'l' ? target : undefined,
    });
  }
  return entries;
}

const FORMATS: Readonly<Record<number, Entry['type']>> = { 0o100000: 'File', 0o040000: 'Directory', 0o120000: 'Link' };

async function byStat(said: Buffer): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let at = 0; at < said.length && entries.length <= MAX_ENTRIES;) {
    if (entries.length % ENTRIES_PER_TURN === 0) await turnOfLoop();
    const end = said.indexOf('//\n', at);
    if (end < 0) break;
    const parts = /^([0-9a-f]{1,8}) (\d{1,16}) (-?\d{1,15}) \.\/([^]+)$/.exec(said.toString('utf8', at, end));
    at = end + 3;
    if (!parts) continue;
    const [, raw = '', size = '', seconds = '', name = ''] = parts;
    const bits = Number.parseInt(raw, 16);
    const mode = (bits & 0o7777).toString(8).padStart(4, '0');
    entries.push({
      ...{ name, type: FORMATS[bits & 0o170000] ?? 'Other', size: Number(size), mode },
      modified: Number(seconds) * 1_000,
    });
  }
  return entries;
}
