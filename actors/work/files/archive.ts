/**
 * Tar archives, in and out, by the tar inside: what an archive from anywhere tries, it tries with the box's own files, and not even that
 * outside of the directory: absolute names, `..` and links that lead out are tar's to refuse or to keep within. Owners are not kept.
 * Directories that their owner may not write to get their modes after tar has ended (`tar-modes.ts`), and those that exist already are
 * opened before (`open-directories.ts`).
 *
 * What was unpacked before an archive turns out to be broken, or its client goes, stays, and its directories may be written to: the
 * answer is a failure, and the archive can be sent again.
 */
import { refuse, type RefusalError } from '../../../src/api/refusal.js';
import { UPLOAD_GLOB } from '../../../src/engines/compute/shared/upload-names.js';
import type { AttachedWork } from '../attach.js';
import { runScript } from './box-script.js';
import { diskFull, EXIT, isDiskFull, overTheDisk, plainLines, quoted } from './faults.js';
import { DirectoryOpener } from './open-directories.js';
import { TarModes, type DirectoryMode } from './tar-modes.js';

/**
 * Not every tar can stay on one file system, without which the whole root would hold /proc, or leave unfinished uploads out.
 *
 * GNU tar ends with 1 when a file changed while it was read: its archive is whole, and has what was read. It also ends with 1 when a file
 * became shorter, and then has made up zeros for what was missing, which is a failure. Others end with 1 when they have failed.
 */
const PACK = `
[ -e "$1" ] || exit ${EXIT.missing}
[ -d "$1" ] || exit ${EXIT.noDirectory}
cd "$1" || exit
case $(tar --version 2>&1) in
  *GNU*) ;;
  *) exec tar -c -f - .;;
esac
exec 3>&1
{ tar --one-file-system --exclude='${UPLOAD_GLOB}' -c -f - . 2>&1 >&3 3>&-; echo "end $?"; } | {
  shrank=
  while IFS= read -r line; do
    case $line in
      *'; padding with zeros') shrank=1;;
      'end '*) e=\${line#end };;
      *) printf '%s\\n' "$line" >&2;;
    esac
  done
  [ -z "$shrank" ] || exit ${EXIT.changed}
  [ "$e" = 1 ] && exit 0
  exit "$e"
}`;

const UNPACK = `
umask 022
mkdir -p "$1" || exit
cd "$1" || exit
exec tar -x -v -o -f -`;

/**
 * Standard input: for each directory its mode, a slash, its path below $1, and NUL. An entry that is no longer a directory
 * keeps its mode. So does one that is reached through a link, which is reported as a failure.
 */
const SET_MODES = `
cd "$1" || exit
top=$(pwd -P; echo x)
top=\${top%?x}
exec xargs -0 sh -c '
top=\${0%/}
code=0
for one do
  path=\${one#*/}
  cd "$0" || exit
  [ -d "./$path" ] && [ ! -L "./$path" ] || continue
  cd -P "./$path" && [ "$PWD" = "$top\${path:+/}$path" ] && chmod "\${one%%/*}" . && continue
  printf "%s: its mode cannot be set\\n" "$path" >&2
  code=1
done
exit $code' "$top"`;

/** Of at most 4 KiB each. */
const MODES_AT_ONCE = 16;
/** Lines of what tar says that are passed on. */
const COMPLAINTS = 5;

/** Throws before its first bytes when there is nothing to pack. */
export async function* packDirectory(
  attached: AttachedWork,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const script = await runScript(attached, PACK, [path], signal, { bulk: true });
  yield* script.output;
  await script.done();
}

/** Answers how many files there were. Refuses with FileTooLarge, Invalid and what `faultOf` says. */
export async function unpackArchive(
  attached: AttachedWork,
  path: string,
  body: AsyncIterator<Uint8Array>,
  signal: AbortSignal,
): Promise<{ readonly files: number }> {
  const limit = attached.plan.amounts.disk;
  const script = await runScript(attached, UNPACK, [path], signal, { bulk: true });
  const counted = countFiles(script.output);
  const modes = new TarModes();
  const existing = new DirectoryOpener(attached, path, signal);
  let size = 0;
  for (let next = await body.next(); next.done !== true && !script.over(); next = await body.next()) {
    size += next.value.length;
    if (size > limit) throw overTheDisk(path, limit);
    const piece = modes.take(next.value);
    if (piece.outcome === 'TooMany') throw tooManyModes(path, piece.limit);
    await existing.open(piece.directories);
    if (piece.bytes.length > 0) await script.write(piece.bytes);
  }
  const begun = modes.end();
  if (begun.length > 0) await script.write(begun);
  script.endInput();
  const files = await counted;
  await existing.end();
  await script.done([], unpackFault);
  if (modes.howEnded() === 'Cut') throw cut(path);
  await setModes(attached, path, modes.changed(), signal);
  return { files };
}

async function setModes(
  attached: AttachedWork,
  path: string,
  modes: readonly DirectoryMode[],
  signal: AbortSignal,
): Promise<void> {
  if (modes.length === 0) return;
  const script = await runScript(attached, SET_MODES, [path], signal);
  const said = drain(script.output);
  for (let at = 0; at < modes.length && !script.over(); at += MODES_AT_ONCE) {
    const lines = modes.slice(at, at + MODES_AT_ONCE).map((one) => `${one.mode.toString(8)}/${one.path}\0`);
    await script.write(Buffer.from(lines.join(''), 'latin1'));
  }
  script.endInput();
  await said;
  await script.done([], unpackFault);
}

async function drain(output: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of output);
}

/** A line for each entry; directories end with a slash. */
async function countFiles(output: AsyncIterable<Uint8Array>): Promise<number> {
  let files = 0;
  let before = 0;
  for await (const part of output) {
    for (const byte of part) {
      if (byte === 10 && before !== 47) files += 1;
      before = byte;
    }
  }
  return files;
}

function cut(path: string): RefusalError {
  const message = 'the archive ends without the zeros that are the end of a tar: a part of it is missing';
  return refuse('Invalid', `not all of the archive was unpacked into ${quoted(path)}: ${message}`, {
    causes: [{ field: '', reason: 'FieldValueInvalid', message }],
    fix: 'Send the whole archive again. A program that makes one has to finish it, by which it writes two blocks of zeros.',
  });
}

function tooManyModes(path: string, limit: number): RefusalError {
  const message = `more than ${limit} directories, or more names of such, that their owner may not write to`;
  return refuse('Invalid', `not all of the archive was unpacked into ${quoted(path)}: ${message}`, {
    causes: [{ field: '', reason: 'FieldValueInvalid', message }],
    fix: 'Send it as several archives, or with directories that their owner may write to.',
  });
}

/** What tar says of single entries, and not its last word, which says only that there was something. */
function unpackFault(exitCode: number, complaint: string, path: string): RefusalError {
  if (isDiskFull(complaint)) return diskFull(quoted(path));
  const said = plainLines(complaint)
    .filter((line) => !/Exiting with failure|Error is not recoverable/.test(line))
    .slice(0, COMPLAINTS);
  const message = said.length === 0 ? `tar ended with exit code ${exitCode}` : said.join('; ');
  return refuse('Invalid', `not all of the archive was unpacked into ${quoted(path)}: ${message}`, {
    causes: [{ field: '', reason: 'FieldValueInvalid', message }],
    fix: 'Send a tar, uncompressed, of files and directories with relative names.',
  });
}
