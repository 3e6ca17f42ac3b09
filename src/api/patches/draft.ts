/**
 * The value under a JSON Patch: each operation changes it in place, and the value that it was made from is never changed.
 * A container is copied the first time that something in it changes and not again, so a patch costs what it touches: the
 * containers on its paths once, and the elements that a list moves up or down. Both are bounded (I10), and what is beyond a
 * bound is not copied.
 *
 * Only own members are reached, whatever they are called. A path that leads nowhere throws `Misfit`.
 */
import { isObject, MAX_DEPTH } from '../safe-value.js';

export type Pointer = readonly string[];

/** Why a patch or one of its operations does not fit the value; caught where that one is known. */
export class Misfit extends Error {}

/** Members and elements that one patch may copy or move: most of them move up or down in a list, a thousand in a microsecond. */
export const MAX_TOUCHED = 2_000_000;
/**
 * Members of objects among them. One takes up to a microsecond: its name is put into a table. An object with all maps of
 * its schema at their bounds has fewer, and what has more of them stays as it is or is replaced whole.
 */
export const MAX_MEMBERS = 20_000;

/** Characters that the `copy` operations of one patch may add in all; without it 40 copies make a terabyte. */
const MAX_COPIED = 1024 * 1024;
/** Characters that a container counts for: making one takes as long as copying so many. */
const CONTAINER_WEIGHT = 64;

function weightOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 2;
  return typeof value === 'object' && value !== null ? CONTAINER_WEIGHT : 4;
}

type Members = Record<string, unknown>;

export class PatchDraft {
  #root: unknown;
  /** Containers that this draft has made, which nothing else refers to. */
  readonly #own = new Set<unknown>();
  #touched = 0;
  #members = 0;
  #copied = 0;

  constructor(value: unknown) {
    this.#root = value;
  }

  get value(): unknown {
    return this.#root;
  }

  /** Members and elements that were copied or moved so far. */
  get touched(): number {
    return this.#touched;
  }

  read(path: Pointer): unknown {
    let value = this.#root;
    for (const token of path) value = memberOf(value, token);
    return value;
  }

  add(path: Pointer, value: unknown): void {
    const last = path.at(-1);
    if (last === undefined) {
      this.#root = value;
      return;
    }
    const holder = this.#holder(path);
    if (!Array.isArray(holder)) {
      holder[last] = value;
      return;
    }
    const index = last === '-' ? holder.length : indexIn(holder.length + 1, last);
    this.#touch(holder.length - index);
    holder.splice(index, 0, value);
  }

  remove(path: Pointer): void {
    const holder = this.#holder(path);
    const last = path.at(-1) ?? '';
    memberOf(holder, last);
    if (Array.isArray(holder)) {
      this.#touch(holder.length - Number(last));
      holder.splice(Number(last), 1);
    } else delete holder[last];
  }

  replace(path: Pointer, value: unknown): void {
    const last = path.at(-1);
    if (last === undefined) {
      this.#root = value;
      return;
    }
    const holder = this.#holder(path);
    memberOf(holder, last);
    if (Array.isArray(holder)) holder[Number(last)] = value;
    else holder[last] = value;
  }

  /** A second one of the value there, which shares nothing with it that can change. */
  copyOf(path: Pointer): unknown {
    return this.#clone(this.read(path), 1);
  }

  /** The container that has the last part of the path; it and all above it are the draft's own afterwards. */
  #holder(path: Pointer): unknown[] | Members {
    let holder = this.#owned(this.#root);
    this.#root = holder;
    for (let at = 0; at < path.length - 1; at++) {
      const token = path[at] ?? '';
      const child = memberOf(holder, token);
      const owned = this.#owned(child);
      if (owned !== child) {
        if (Array.isArray(holder)) holder[Number(token)] = owned;
        else holder[token] = owned;
      }
      holder = owned;
    }
    return holder;
  }

  #owned(value: unknown): unknown[] | Members {
    if (!Array.isArray(value) && !isObject(value)) throw new Misfit(MISSING);
    if (this.#own.has(value)) return value;
    const copy = this.#shallow(value);
    this.#own.add(copy);
    return copy;
  }

  /** Another container with the same values in it. */
  #shallow(value: unknown[] | Members): unknown[] | Members {
    if (Array.isArray(value)) {
      this.#touch(value.length);
      return [...value];
    }
    const count = Object.keys(value).length;
    this.#members += count;
    if (this.#members > MAX_MEMBERS) throw new Misfit(`the patch copies more than ${MAX_MEMBERS} members of objects`);
    this.#touch(count);
    // Members of a literal are own members whatever they are called.
    return { ...value };
  }

  #clone(value: unknown, depth: number): unknown {
    this.#copied += weightOf(value);
    if (this.#copied > MAX_COPIED) throw new Misfit('copies too much');
    if (!Array.isArray(value) && !isObject(value)) return value;
    if (depth > MAX_DEPTH) throw new Misfit(`nests deeper than ${MAX_DEPTH} levels`);
    const copy = this.#shallow(value);
    this.#own.add(copy);
    if (Array.isArray(copy)) {
      for (let at = 0; at < copy.length; at++) copy[at] = this.#clone(copy[at], depth + 1);
      return copy;
    }
    for (const key in copy) {
      this.#copied += key.length + 3;
      copy[key] = this.#clone(copy[key], depth + 1);
    }
    return copy;
  }

  #touch(count: number): void {
    this.#touched += count;
    if (this.#touched <= MAX_TOUCHED) return;
    throw new Misfit(`the patch copies or moves more than ${MAX_TOUCHED} members and elements`);
  }
}

const MISSING = 'names nothing that is there';

/** The own member or element; refuses what is not there. */
function memberOf(value: unknown, token: string): unknown {
  if (Array.isArray(value)) return value[indexIn(value.length, token)] as unknown;
  if (isObject(value) && Object.hasOwn(value, token)) return value[token];
  throw new Misfit(MISSING);
}

function indexIn(length: number, token: string): number {
  if (/^(?:0|[1-9]\d{0,8})$/.test(token) && Number(token) < length) return Number(token);
  throw new Misfit(MISSING);
}
