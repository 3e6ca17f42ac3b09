/**
 * Writes one file inside: into a temporary one beside it, which takes the name only when all has come and its hash is what was
 * promised. So no reader sees half a file, and the file that was there before stays when anything goes wrong.
 *
 * Nothing is flushed to the disk: what is inside lives as long as this machine runs, and is saved as a whole when it stops.
 *
 * A small file is taken whole first, and written by one script. A large one streams into a script that only copies; a second one
 * gives it its name, or takes it away. What is left of a service that was killed between the two has a name by which the next upload
 * into the same directory finds it, and which is neither listed nor saved.
 *
 * The script that gives the name runs under the lock of the box (`write-locks.ts`); what comes before, however long, does not.
 */
import { createHash, randomBytes } from 'node:crypto';
import { refuse } from '../../../src/api/refusal.js';
import { UPLOAD_GLOB, uploadName } from '../../../src/engines/compute/shared/upload-names.js';
import type { AttachedWork } from '../attach.js';
import { collect, runScript } from './box-script.js';
import { EXIT, overTheDisk, quoted } from './faults.js';
import { HOLDS, sharingOf, wordsOf, type Preconditions } from './preconditions.js';
import { parseStat, STAT_FORMAT, type Hashes } from './read.js';
import type { WriteLocks } from './write-locks.js';

/** Written as a whole, bytes. */
const SMALL = 256 * 1024;
/** The answer of `finish`. */
const LINE_BYTES = 1_024;
/** A client that goes does not end scripts at once: they get so long (ms) to leave nothing behind. */
const GRACE_MS = 20_000;

/** Tells uploads of this process from those of one before. */
const PROCESS = randomBytes(4).toString('hex');
let uploads = 0;

/** $1: where to. $2: name of the temporary file. A link is followed: the file that it leads to is written. */
const PLACE = `
umask 022
case $1 in */) exit ${EXIT.overDirectory};; esac
t=$1
if [ -L "$t" ]; then
  t=$(readlink -f "$1" && echo x) || exit ${EXIT.missing}
  t=\${t%?x}
fi
[ -d "$t" ] && exit ${EXIT.overDirectory}
[ -e "$t" ] && ! [ -f "$t" ] && exit ${EXIT.special}
d=\${t%/*}
w=$d/$2
`;

const RECEIVE = `
[ -d "$d/" ] || mkdir -p "$d" || exit
for f in "$d"/${UPLOAD_GLOB}; do
  case $f in */${uploadName(PROCESS, '*')}) ;; *) [ -f "$f" ] && rm -f "$f";; esac
done
cat >"$w" || { e=$?; rm -f "$w"; exit $e; }
`;

/**
 * What is replaced is held open for a second by a process for which nothing waits: the kernel needs 50 to 150 ms to free 200 MB, and
 * the last process to close the file waits for that.
 */
const LET_GO = `
[ -f "$t" ] && { sleep 1 </dev/null >/dev/null 2>&1 & } 2>/dev/null 9<"$t"
`;

/** $3: bytes that must be there. $4: permissions; empty: those of the file that is replaced, or 0644. $5, $6: preconditions. */
const FINISH = `${HOLDS}
unheld() { rm -f "$w"; }
[ "$(stat -c %s "$w")" = "$3" ] || { rm -f "$w"; exit ${EXIT.changed}; }
if [ -n "$4" ]; then m=$4; elif [ -f "$t" ]; then m=$(stat -c %a "$t"); else m=0644; fi
chmod "$m" "$w" || { e=$?; rm -f "$w"; exit $e; }
holds "$t" "$5" "$6"
if [ "$6" = '*' ]; then
  ln "$w" "$t"; e=$?
  rm -f "$w"
  [ $e = 0 ] || { [ -e "$t" ] && exit ${EXIT.matched}; exit $e; }
else mv -f "$w" "$t" || { e=$?; rm -f "$w"; exit $e; }
fi
stat -L -c '${STAT_FORMAT}' "$t"
`;

const DISCARD = `rm -f "$w"`;

export interface WriteOrder extends Preconditions {
  readonly path: string;
  /** Octal; absent: that of the file that is replaced, or 0644. */
  readonly mode?: string | undefined;
  /** Hex: what the bytes must be. */
  readonly sha256?: string | undefined;
  /** As the client promises it; undefined: not known. */
  readonly length?: number | undefined;
}

export interface Written {
  readonly size: number;
  readonly sha256: string;
  readonly mode: string;
  readonly modified: number;
}

/** One write under way. */
interface Upload {
  readonly attached: AttachedWork;
  readonly path: string;
  /** Name of the temporary file. */
  readonly temporary: string;
  readonly intake: Intake;
  readonly signal: AbortSignal;
  /** Runs the script that gives the file its name when no other change may come between. */
  readonly ordered: <T>(change: () => Promise<T>) => Promise<T>;
}

/** `body` throws when the client breaks off. Refuses with SHA256Mismatch, FileTooLarge and what `faultOf` says. */
export async function writeFile(
  attached: AttachedWork,
  { path, mode = '', sha256, length, ...conditions }: WriteOrder,
  body: AsyncIterator<Uint8Array>,
  { hashes, locks }: { readonly hashes: Hashes; readonly locks: WriteLocks },
  signal: AbortSignal,
): Promise<Written> {
  const limit = attached.plan.amounts.disk;
  if (length !== undefined && length > limit) throw overTheDisk(path, limit);
  const lingering = linger(signal);
  const temporary = uploadName(PROCESS, (uploads += 1));
  const ordered: Upload['ordered'] = (change) => locks.run(attached.work, sharingOf(conditions), signal, change);
  const intake = new Intake(body, path, limit);
  try {
    const said = await put(
      { attached, path, temporary, intake, signal: lingering.signal, ordered },
      [mode, ...wordsOf(conditions)],
      sha256,
    );
    const stat = parseStat(said?.toString('utf8').trimEnd() ?? '');
    if (!stat) throw refuse('Invalid', `the programs inside do not say what is expected of ${quoted(path)}`);
    const hash = intake.sha256();
    hashes.set(`${attached.work} ${stat.identity}`, hash);
    return { size: intake.size, sha256: hash, mode: stat.mode, modified: stat.modified };
  } finally {
    lingering.clear();
  }
}

/** Answers what `stat` says of the file in its place. */
async function put(upload: Upload, more: readonly string[], sha256: string | undefined): Promise<Buffer | undefined> {
  const { intake } = upload;
  const first = await intake.upTo(SMALL);
  if (intake.ended) {
    intake.check(sha256);
    return upload.ordered(() => run(upload, PLACE + RECEIVE + FINISH, first, [String(intake.size), ...more]));
  }
  let finishing = false;
  try {
    await receive(upload, first);
    intake.check(sha256);
    return await upload.ordered(() => {
      finishing = true;
      return run(upload, PLACE + LET_GO + FINISH, [], [String(intake.size), ...more]);
    });
  } catch (error) {
    // The last script cleans up by itself.
    if (!finishing) await discard(upload);
    throw error;
  }
}

/** One script from its input to its answer. */
async function run(
  { attached, path, temporary, signal }: Upload,
  program: string,
  input: readonly Uint8Array[],
  more: readonly string[],
): Promise<Buffer | undefined> {
  const script = await runScript(attached, program, [path, temporary, ...more], signal);
  for (const part of input) await script.write(part);
  script.endInput();
  const said = await collect(script, LINE_BYTES);
  await script.done();
  return said;
}

async function receive(
  { attached, path, temporary, intake, signal }: Upload,
  first: readonly Uint8Array[],
): Promise<void> {
  const script = await runScript(attached, PLACE + RECEIVE, [path, temporary], signal, { bulk: true });
  // It says nothing; read all the same, for what it complains of.
  const said = collect(script, LINE_BYTES);
  try {
    for (const part of first) await script.write(part);
    for (let part = await intake.next(); part && !script.over(); part = await intake.next()) await script.write(part);
  } finally {
    script.endInput();
    await said;
  }
  await script.done();
}

/** Best done, and no more: an epoch that is over took the file with it. */
async function discard(upload: Upload): Promise<void> {
  try {
    await run(upload, PLACE + DISCARD, [], []);
  } catch {
    // The next upload into the directory finds it, once this process has ended.
  }
}

/** Aborted so long after the other, and not at all once it is cleared. */
function linger(signal: AbortSignal): { readonly signal: AbortSignal; clear(): void } {
  const late = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const begin = (): void => {
    timer = setTimeout(() => late.abort(signal.reason), GRACE_MS);
  };
  if (signal.aborted) begin();
  else signal.addEventListener('abort', begin, { once: true });
  return {
    signal: late.signal,
    clear() {
      signal.removeEventListener('abort', begin);
      clearTimeout(timer);
      // Nothing of it goes on behind its answer.
      late.abort();
    },
  };
}

/** The body as it comes: counted, bounded, hashed. */
class Intake {
  size = 0;
  ended = false;
  private readonly hash = createHash('sha256');
  private digest: string | undefined;
  private readonly body: AsyncIterator<Uint8Array>;
  private readonly path: string;
  private readonly limit: number;

  constructor(body: AsyncIterator<Uint8Array>, path: string, limit: number) {
    this.body = body;
    this.path = path;
    this.limit = limit;
  }

  async next(): Promise<Uint8Array | undefined> {
    const next = await this.body.next();
    if (next.done === true) {
      this.ended = true;
      return undefined;
    }
    this.size += next.value.length;
    if (this.size > this.limit) throw overTheDisk(this.path, this.limit);
    this.hash.update(next.value);
    return next.value;
  }

  /** As much as comes until there is more than that. */
  async upTo(bytes: number): Promise<readonly Uint8Array[]> {
    const parts: Uint8Array[] = [];
    while (this.size <= bytes) {
      const part = await this.next();
      if (!part) break;
      parts.push(part);
    }
    return parts;
  }

  sha256(): string {
    return (this.digest ??= this.hash.digest('hex'));
  }

  check(expected: string | undefined): void {
    if (expected === undefined || expected === this.sha256()) return;
    throw refuse('SHA256Mismatch', `the bytes have SHA-256 ${this.sha256()}, not ${expected}`);
  }
}
