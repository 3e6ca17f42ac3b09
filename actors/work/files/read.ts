/**
 * Reads a file from inside. One script opens it once, prints its `stat`, and then carries out commands from its input: the hash of the
 * whole, and the bytes of one range, all of the file that was opened, also when another has taken its name.
 *
 * A small file comes with its `stat`, and is hashed here: such an answer is consistent in itself. The hash of a large one is remembered
 * by its `stat` (its number, size and times, all to the nanosecond). The `stat` comes once more behind the bytes, and the last of
 * them are given only if it is the same: what was changed meanwhile must not end as if it were whole.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { refuse } from '../../../src/api/refusal.js';
import type { AttachedWork } from '../attach.js';
import { runScript, type BoxScript } from './box-script.js';
import { EXIT, faultOf } from './faults.js';
import { atMost } from '../../../src/lru-bound.js';

/** Largest file that is taken as a whole, bytes. */
const SMALL = 256 * 1024;
const SHA256 = /^[0-9a-f]{64}$/;
/** Longest line of an answer. */
const LINE_BYTES = 1_024;
/** A small file that grows while it is read is looked at again. */
const TRIES = 3;

const FORMAT = '%s|%a|%Y|%d.%i.%s.%y.%z';

/** `openssl` is several times as fast as `sha256sum` where the processor helps. */
const READ = `
[ -e "$1" ] || exit ${EXIT.missing}
[ -d "$1" ] && exit ${EXIT.directory}
[ -f "$1" ] || exit ${EXIT.special}
exec 3<"$1"
f=/proc/self/fd/3
m=$(stat -L -c '${FORMAT}' "$f") || exit
echo "$m"
[ "\${m%%|*}" -le ${SMALL} ] && exec head -c ${SMALL + 1} <&3
while read -r verb from count; do
  case $verb in
    hash) h=$(openssl dgst -sha256 -r 2>/dev/null <"$f") || h=$(sha256sum <"$f") || exit
      echo "\${h%% *}";;
    all) cat "$f" || exit; exec stat -L -c '${FORMAT}' "$f";;
    some) tail -c "+$from" "$f" | head -c "$count"; exec stat -L -c '${FORMAT}' "$f";;
  esac
done`;

/** Hashes of large files, by epoch of their owner and what `stat` says of them. */
export type Hashes = LRUCache<string, string>;

const MAX_HASHES = 20_000;

export function openHashes(): Hashes {
  return new LRUCache(atMost(MAX_HASHES));
}

export interface OpenedFile {
  readonly size: number;
  /** Hex, of the whole. */
  readonly sha256: string;
  /** Permissions, in octal. */
  readonly mode: string;
  /** ms since the epoch. */
  readonly modified: number;
  /** Once; both ends included. Throws when the file was changed since it was opened. */
  read(range: { readonly start: number; readonly end: number } | undefined): AsyncGenerator<Uint8Array, void>;
}

export interface Stat {
  readonly size: number;
  readonly mode: string;
  readonly modified: number;
  /** All that the system says of it, which is another when it was changed. */
  readonly identity: string;
}

/** The format of what `stat` is asked for, and its reader. */
export const STAT_FORMAT = FORMAT;

export function parseStat(line: string): Stat | undefined {
  const [, size, mode, seconds, identity] = /^(\d{1,16})\|([0-7]{1,5})\|(-?\d{1,15})\|(.{1,300})$/.exec(line) ?? [];
  if (size === undefined || mode === undefined || seconds === undefined || identity === undefined) return undefined;
  return { size: Number(size), mode: mode.padStart(4, '0'), modified: Number(seconds) * 1_000, identity };
}

/** Ends with the signal, by which a file that was not read to its end is let go. */
export async function openFile(
  attached: AttachedWork,
  path: string,
  hashes: Hashes,
  signal: AbortSignal,
): Promise<OpenedFile> {
  for (let tries = 1; ; tries += 1) {
    const script = await runScript(attached, READ, [path], signal, { bulk: true });
    const source = new Source(script);
    const stat = parseStat((await source.line()) ?? '');
    if (!stat) {
      await script.done();
      throw garbled(path);
    }
    if (stat.size > SMALL) return openLarge(attached, path, stat, source, hashes);
    const content = await source.rest(SMALL);
    if (content) {
      await script.done();
      return ofContent(stat, content);
    }
    if (tries === TRIES) throw faultOf(EXIT.changed, '', path);
  }
}

function ofContent({ mode, modified }: Stat, content: Buffer): OpenedFile {
  return {
    ...{ mode, modified, size: content.length },
    sha256: createHash('sha256').update(content).digest('hex'),
    async *read(range) {
      const part = range ? content.subarray(range.start, range.end + 1) : content;
      if (part.length > 0) yield part;
    },
  };
}

async function openLarge(
  attached: AttachedWork,
  path: string,
  { size, mode, modified, identity }: Stat,
  source: Source,
  hashes: Hashes,
): Promise<OpenedFile> {
  const { script } = source;
  const key = `${attached.work} ${identity}`;
  let sha256 = hashes.get(key);
  if (sha256 === undefined) {
    await script.write(Buffer.from('hash\n'));
    sha256 = await source.line();
    if (sha256 === undefined || !SHA256.test(sha256)) {
      await script.done();
      throw garbled(path);
    }
    hashes.set(key, sha256);
  }
  return {
    ...{ size, mode, modified, sha256 },
    async *read(range) {
      const count = range ? range.end - range.start + 1 : size;
      await script.write(Buffer.from(range ? `some ${range.start + 1} ${count}\n` : 'all\n'));
      let left = count;
      for await (const part of source.parts()) {
        const data = part.subarray(0, left);
        left -= data.length;
        if (left === 0) {
          source.unread(part.subarray(data.length));
          if (parseStat((await source.line()) ?? '')?.identity !== identity) break;
        }
        yield data;
        if (left === 0) return;
      }
      if (left > 0) await script.done();
      throw faultOf(EXIT.changed, '', path);
    },
  };
}

function garbled(path: string): Error {
  return refuse('Invalid', `the programs inside do not say what is expected of ${JSON.stringify(path.slice(0, 300))}`, {
    fix: 'Look whether stat, sha256sum, cat, head and tail of the image work.',
  });
}

/** Lines, then bytes, then a line. */
class Source {
  readonly script: BoxScript;
  private held: Buffer = Buffer.alloc(0);

  constructor(script: BoxScript) {
    this.script = script;
  }

  /** Undefined: it ended, or the line is too long. */
  async line(): Promise<string | undefined> {
    for (;;) {
      const end = this.held.indexOf(10);
      if (end >= 0) {
        const line = this.held.toString('utf8', 0, end);
        this.held = this.held.subarray(end + 1);
        return line;
      }
      if (this.held.length > LINE_BYTES) return undefined;
      const next = await this.script.output.next();
      if (next.done === true) return undefined;
      this.held = this.held.length === 0 ? Buffer.from(next.value) : Buffer.concat([this.held, next.value]);
    }
  }

  unread(bytes: Uint8Array): void {
    this.held = Buffer.from(bytes);
  }

  async *parts(): AsyncGenerator<Uint8Array, void> {
    if (this.held.length > 0) yield this.held;
    this.held = Buffer.alloc(0);
    yield* this.script.output;
  }

  /** All that comes. Undefined: it is more than that. */
  async rest(limit: number): Promise<Buffer | undefined> {
    const parts: Uint8Array[] = [];
    let size = 0;
    for await (const part of this.parts()) {
      size += part.length;
      if (size > limit) return undefined;
      parts.push(part);
    }
    return Buffer.concat(parts);
  }
}
