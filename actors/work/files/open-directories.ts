/**
 * Opens directories that an archive is about to be unpacked into and that exist already: their owner gets all rights to them, as tar gives them
 * to those that it makes (`tar-modes.ts`), else nothing could be written into one of mode 0555 that an archive before has brought. Their
 * modes are set when tar has ended. A directory that is reached through a link is left as it is.
 *
 * One script for each archive, which is asked before tar gets to those directories; none where the place is empty at the first of them.
 */
import type { AttachedWork } from '../attach.js';
import { collect, runScript, type BoxScript } from './box-script.js';

/** $1: whether anything is in it. */
const OCCUPIED = `
cd "$1" 2>/dev/null || exit 0
[ -r . ] && [ -w . ] && [ -z "$(find . ! -name . -prune | head -n 1)" ] || echo yes`;

/**
 * Standard input: the path below $1 of each directory on a line, with escapes of \`printf\`, and \`.\` after those that are to be opened
 * now, which is answered by a line. For what cannot be opened tar has its own words.
 */
const OPEN = `
cd "$1" || exit
top=$(pwd -P; echo x)
top=\${top%?x}
root=\${top%/}
while IFS= read -r path; do
  if [ "$path" = . ]; then echo; continue; fi
  case $path in *\\\\*) path=$(printf '%bx' "$path"); path=\${path%x};; esac
  cd "$top" || exit
  case $path in
    */*) cd -P "./\${path%/*}" 2>/dev/null && [ "$PWD" = "$root/\${path%/*}" ] || continue;;
  esac
  name=./\${path##*/}
  [ -d "$name" ] && [ ! -L "$name" ] || continue
  [ -r "$name" ] && [ -w "$name" ] && [ -x "$name" ] || chmod u+rwx "$name" 2>/dev/null
done`;

/** A line of an answer. */
const LINE_BYTES = 64;
/** What a line has as it is. */
const PLAIN = /[^\w./-]/g;

export class DirectoryOpener {
  private readonly attached: AttachedWork;
  private readonly path: string;
  private readonly signal: AbortSignal;
  private occupied: boolean | undefined;
  private script: BoxScript | undefined;

  constructor(attached: AttachedWork, path: string, signal: AbortSignal) {
    this.attached = attached;
    this.path = path;
    this.signal = signal;
  }

  /** Returns when they are open, or were left as they are. `directories`: below the path; one character for each byte. */
  async open(directories: readonly string[]): Promise<void> {
    if (directories.length === 0) return;
    this.occupied ??= await this.isOccupied();
    if (!this.occupied) return;
    this.script ??= await runScript(this.attached, OPEN, [this.path], this.signal);
    const lines = directories.map((one) => `${one.replaceAll(PLAIN, escaped)}\n`);
    await this.script.write(Buffer.from(`${lines.join('')}.\n`));
    const answer = await this.script.output.next();
    if (answer.done === true) await this.script.done();
  }

  async end(): Promise<void> {
    this.script?.endInput();
    if (this.script) await collect(this.script, LINE_BYTES);
    await this.script?.done();
  }

  private async isOccupied(): Promise<boolean> {
    const script = await runScript(this.attached, OCCUPIED, [this.path], this.signal);
    const said = await collect(script, LINE_BYTES);
    await script.done();
    return said?.length !== 0;
  }
}

const escaped = (byte: string): string => `\\0${byte.charCodeAt(0).toString(8).padStart(3, '0')}`;
