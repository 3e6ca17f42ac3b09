/**
 * A tar archive on its way into a box, made such that the tar inside can unpack it. That tar takes itself for root and makes a directory
 * with its final mode at once; but root inside has no capability, so in a directory of mode 0555 it can make nothing. Here every directory
 * gets all rights of its owner in its header, and the modes that were changed are remembered, to be set when tar has ended. Nothing else of
 * the archive is changed: not one byte of what it says otherwise, and none of its contents. Pure.
 *
 * It also tells which directories come next, since those that exist already have to be opened before tar gets there, and whether the archive
 * has come to its end, which tar does not ask for.
 *
 * Headers are understood as far as it takes to find the next one and the name: ustar, GNU's long names and sparse files, pax headers. What
 * is not understood, or what two programs would read in two ways, passes as it is from there on: tar has its own words for it.
 *
 * Bounds (I10): MAX_DIRECTORIES and MAX_NAMES, beyond which the archive is refused; MAX_ABOUT of a pax header or long name; one block.
 */

/** Directories whose mode is changed, and the bytes of their names together. */
const MAX_DIRECTORIES = 20_000;
const MAX_NAMES = 2 * 1024 * 1024;
/** A longer pax header or name is not read (bytes). */
const MAX_ABOUT = 1024 * 1024;
/** A path that the system takes has fewer bytes. */
const MAX_PATH = 4_096;

const BLOCK = 512;
const ZERO = Buffer.alloc(BLOCK);
const MODE = { at: 100, length: 8 };
const SIZE = { at: 124, length: 12 };
const SUM = { at: 148, length: 8 };
const OWNERS_RIGHTS = 0o700;

export interface DirectoryMode {
  /** Below the directory that is unpacked into; empty for that itself. One character for each byte. */
  readonly path: string;
  readonly mode: number;
}

export type TarPiece =
  | {
      readonly outcome: 'Passes';
      readonly bytes: Uint8Array;
      /** Directories of which the headers are in these bytes, each after those that it is in where the archive has it so. */
      readonly directories: readonly string[];
    }
  /** More directories than are remembered. */
  | { readonly outcome: 'TooMany'; readonly limit: number };

/** How an archive has ended. `Unknown`: not all of it was understood. */
export type TarEnd = 'Whole' | 'Cut' | 'Unknown';

/** What the next piece begins with. */
type Expected = 'header' | 'sparse map' | 'anything';

/** What a pax header or a long name says of the entry after it. */
interface About {
  readonly path?: string | undefined;
  readonly size?: number | undefined;
}

export class TarModes {
  private readonly modes = new Map<string, number>();
  private nameBytes = 0;
  private expected: Expected = 'header';
  /** The begun block. */
  private begun: Buffer = ZERO.subarray(0, 0);
  /** Bytes of content until the next block that is read, and what of them is kept for a header of this type. */
  private content = 0;
  private kept: { readonly type: string; readonly bytes: Buffer; length: number } | undefined;
  private afterMap = 0;
  private zeroBefore = false;
  private ended = false;
  private directories: string[] = [];
  private longName: string | undefined;
  private about: About = {};

  /** `chunk` is any part of the archive; what passes is as long, but for the beginning of a block, which waits for its rest. */
  take(chunk: Uint8Array): TarPiece {
    const bytes = Buffer.concat([this.begun, chunk]);
    let at = 0;
    while (at < bytes.length) {
      if (this.content > 0) at += this.passContent(bytes.subarray(at));
      else if (this.expected === 'anything') at = bytes.length;
      else if (bytes.length - at < BLOCK) break;
      else {
        this.takeBlock(bytes.subarray(at, at + BLOCK));
        at += BLOCK;
      }
    }
    this.begun = bytes.subarray(at);
    if (this.modes.size > MAX_DIRECTORIES || this.nameBytes > MAX_NAMES) {
      return { outcome: 'TooMany', limit: MAX_DIRECTORIES };
    }
    const { directories } = this;
    this.directories = [];
    return { outcome: 'Passes', bytes: bytes.subarray(0, at), directories };
  }

  /** After the last chunk: what was begun. */
  end(): Uint8Array {
    return this.begun;
  }

  /**
   * After the last chunk. An archive ends with two blocks of zeros, and every common program writes them; one is enough here, as it is to
   * tar. What ends without, though between two entries, was cut on its way.
   */
  howEnded(): TarEnd {
    if (this.ended) return 'Whole';
    if (this.expected === 'anything') return 'Unknown';
    return this.zeroBefore && this.content === 0 ? 'Whole' : 'Cut';
  }

  /** What has to be set when tar has ended, in this order: a directory comes after those in it. */
  changed(): readonly DirectoryMode[] {
    const found = [...this.modes].map(([path, mode]) => ({ path, mode }));
    return found.toSorted((one, other) => depthOf(other.path) - depthOf(one.path));
  }

  private passContent(bytes: Buffer): number {
    const part = bytes.subarray(0, this.content);
    this.content -= part.length;
    const { kept } = this;
    if (kept !== undefined) {
      // Without what fills its last block.
      kept.length += part.copy(kept.bytes, kept.length);
      if (this.content === 0) {
        this.kept = undefined;
        this.takeAbout(kept.type, kept.bytes);
      }
    }
    return part.length;
  }

  private takeBlock(block: Buffer): void {
    if (this.expected === 'sparse map') {
      if (block[504] === 0) {
        this.expected = 'header';
        this.content = this.afterMap;
      }
      return;
    }
    const zero = block.equals(ZERO);
    // Two such blocks are the end. What follows is nothing to tar.
    if (zero && this.zeroBefore) {
      this.ended = true;
      this.passRest();
    }
    this.zeroBefore = zero;
    if (!zero) this.takeHeader(block);
  }

  private takeHeader(block: Buffer): void {
    const size = numberOf(block, SIZE);
    if (!isSum(block, numberOf(block, SUM)) || size === undefined) return this.passRest();
    const type = String.fromCharCode(block[156] ?? 0);
    if ('xXgLK'.includes(type)) {
      if (size > MAX_ABOUT) return this.passRest();
      this.content = inBlocks(size);
      if (type !== 'K' && size > 0) this.kept = { type, bytes: Buffer.alloc(size), length: 0 };
      return;
    }
    const { about, longName } = this;
    this.about = {};
    this.longName = undefined;
    const name = about.path ?? longName ?? nameOf(block);
    const length = about.size ?? size;
    if (type === '5' || ((type === '0' || type === '\0') && name.endsWith('/') && length === 0)) {
      this.openUp(block, name);
    }
    if (type === 'S' && block[482] !== 0) {
      this.expected = 'sparse map';
      this.afterMap = inBlocks(length);
    } else if (length > 0 && '123456'.includes(type)) {
      // Some programs take what follows for its content, others for the next header.
      this.passRest();
    } else this.content = inBlocks(length);
  }

  private openUp(header: Buffer, name: string): void {
    const path = plainPath(name);
    const mode = numberOf(header, MODE);
    if (path === undefined || mode === undefined) return;
    this.directories.push(path);
    if (this.modes.delete(path)) this.nameBytes -= path.length;
    if ((mode & OWNERS_RIGHTS) === OWNERS_RIGHTS) return;
    this.modes.set(path, mode & 0o7777);
    this.nameBytes += path.length;
    header.write(`${octal(mode | OWNERS_RIGHTS, 7)}\0`, MODE.at, 'latin1');
    header.write(`${octal(sumsOf(header)[0], 6)}\0 `, SUM.at, 'latin1');
  }

  private takeAbout(type: string, bytes: Buffer): void {
    if (type === 'L') this.longName = bytes.toString('latin1').split('\0', 1)[0];
    else {
      const about = recordsOf(bytes);
      const global = type === 'g' && (about?.path ?? about?.size) !== undefined;
      if (about === undefined || global) return this.passRest();
      if (type !== 'g') this.about = about;
    }
  }

  private passRest(): void {
    this.expected = 'anything';
    this.content = 0;
  }
}

/** Undefined: they cannot be read. */
function recordsOf(bytes: Buffer): About | undefined {
  let path: string | undefined;
  let size: number | undefined;
  for (let at = 0; at < bytes.length;) {
    const [, digits] = /^(\d{1,8}) /.exec(bytes.toString('latin1', at, at + 9)) ?? [];
    const end = at + Number(digits ?? 0);
    if (digits === undefined || end > bytes.length || end <= at + digits.length + 1) return undefined;
    const record = bytes.toString('latin1', at + digits.length + 1, end - 1);
    const equals = record.indexOf('=');
    const value = record.slice(equals + 1);
    switch (record.slice(0, Math.max(equals, 0))) {
      case 'path':
        path = value;
        break;
      case 'size':
        if (!/^\d{1,15}$/.test(value)) return undefined;
        size = Number(value);
    }
    at = end;
  }
  return { path, size };
}

/** Undefined: tar refuses it, or makes something else of it. */
function plainPath(name: string): string | undefined {
  const way = name.split('/').filter((part) => part !== '' && part !== '.');
  const path = way.join('/');
  return way.includes('..') || path.includes('\0') || path.length >= MAX_PATH ? undefined : path;
}

function nameOf(header: Buffer): string {
  const text = (from: number, to: number): string => header.toString('latin1', from, to).split('\0', 1)[0] ?? '';
  const prefix = header.toString('latin1', 257, 263) === 'ustar\0' ? text(345, 500) : '';
  return prefix === '' ? text(0, 100) : `${prefix}/${text(0, 100)}`;
}

/** Octal digits, none being zero, or base 256. Undefined: neither, or too large. */
function numberOf(
  header: Buffer,
  { at, length }: { readonly at: number; readonly length: number },
): number | undefined {
  const field = header.subarray(at, at + length);
  if (field[0] === 0x80) {
    const number = field.subarray(1).reduce((sum, byte) => sum * 256 + byte, 0);
    return Number.isSafeInteger(number) ? number : undefined;
  }
  const digits = /^ *([0-7]*)[ \0]*$/.exec(field.toString('latin1'))?.[1];
  return digits === undefined ? undefined : Number.parseInt(`0${digits}`, 8);
}

/** The bytes of a header, its own field counted as blanks: as they are, and with a sign, as some old programs took them. */
function sumsOf(header: Buffer): readonly [unsigned: number, signed: number] {
  let unsigned = 32 * SUM.length;
  let signed = unsigned;
  for (const [at, byte] of header.entries()) {
    if (at >= SUM.at && at < SUM.at + SUM.length) continue;
    unsigned += byte;
    signed += byte > 127 ? byte - 256 : byte;
  }
  return [unsigned, signed];
}

function isSum(header: Buffer, sum: number | undefined): boolean {
  return sum !== undefined && sumsOf(header).includes(sum);
}

const octal = (number: number, digits: number): string => number.toString(8).padStart(digits, '0');
const inBlocks = (size: number): number => Math.ceil(size / BLOCK) * BLOCK;
const depthOf = (path: string): number => (path === '' ? 0 : path.split('/').length);
