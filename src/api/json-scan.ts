/**
 * Owns what has to be read from the text of a JSON body because `JSON.parse` does not tell it: how deep it nests, whether
 * an object names a member twice, and where and why the text is malformed. `measure` is on the way of every write and
 * is one pass over the bytes; `scan` is exact and runs only when something is wrong.
 */
import { below } from './path.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

export interface Measure {
  /** Members of all objects, as written: one written twice counts twice. */
  readonly members: number;
  readonly depth: number;
}

/**
 * Exact for valid JSON. For other text the depth is a guess, and `scan` says what is wrong. Reads bytes, which is twice as
 * fast as characters; no byte of a longer UTF-8 sequence looks like a sign of structure.
 */
export function measure(bytes: Uint8Array): Measure {
  let members = 0;
  let depth = 0;
  let deepest = 0;
  const length = bytes.length;
  for (let at = 0; at < length; at++) {
    const code = bytes[at];
    if (code === QUOTE) {
      for (at++; at < length; at++) {
        const inside = bytes[at];
        if (inside === QUOTE) break;
        if (inside === BACKSLASH) at++;
      }
    } else if (code === COLON) members++;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (++depth > deepest) deepest = depth;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
  }
  return { members, depth: deepest };
}

export type ScanResult =
  | { readonly outcome: 'Valid'; readonly duplicates: readonly string[] }
  /** `offset` counts UTF-16 units from the start of the text. */
  | { readonly outcome: 'Malformed'; readonly offset: number; readonly problem: string };

/** At most this many paths are told; a body made of nothing else is no reason for a longer answer. */
const MAX_DUPLICATES = 100;

/** Reads the whole text by the grammar of RFC 8259. */
export function scan(text: string, maxDepth: number): ScanResult {
  const scanner = new Scanner(text, maxDepth);
  try {
    scanner.document();
    return { outcome: 'Valid', duplicates: scanner.duplicates };
  } catch (error) {
    if (error instanceof Malformed) return { outcome: 'Malformed', offset: error.offset, problem: error.message };
    throw error;
  }
}

/** `line 3, column 14`, both from 1. */
export function placeOf(text: string, offset: number): string {
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  return `line ${line}, column ${offset - before.lastIndexOf('\n')}`;
}

/** Unwinds the scanner; never leaves this file. */
class Malformed extends Error {
  readonly offset: number;
  constructor(offset: number, problem: string) {
    super(problem);
    this.offset = offset;
  }
}

const BLANKS = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// eslint-disable-next-line no-control-regex
const PLAIN_TEXT = /[^"\\\u0000-\u001f]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const WORD = /true|false|null/y;

class Scanner {
  readonly duplicates: string[] = [];
  readonly #text: string;
  readonly #maxDepth: number;
  #at = 0;

  constructor(text: string, maxDepth: number) {
    this.#text = text;
    this.#maxDepth = maxDepth;
  }

  document(): void {
    this.#value('', 0);
    this.#skip(BLANKS);
    if (this.#at < this.#text.length) this.#fail('expected nothing after the end of the value');
  }

  #value(path: string, depth: number): void {
    this.#skip(BLANKS);
    const next = this.#text[this.#at];
    if (next === '{') this.#object(path, depth + 1);
    else if (next === '[') this.#array(path, depth + 1);
    else if (next === '"') this.#string();
    else if (this.#skip(NUMBER) === 0 && this.#skip(WORD) === 0) this.#fail('expected a value');
  }

  #object(path: string, depth: number): void {
    this.#enter(depth);
    const seen = new Set<string>();
    if (this.#ends('}')) return;
    for (;;) {
      this.#skip(BLANKS);
      if (this.#text[this.#at] !== '"') this.#fail('expected a member name in double quotes');
      const name = this.#string();
      const member = below(path, name);
      if (seen.has(name) && this.duplicates.length < MAX_DUPLICATES) this.duplicates.push(member);
      seen.add(name);
      this.#skip(BLANKS);
      this.#expect(':', "expected ':' after the member name");
      this.#value(member, depth);
      if (this.#ends('}')) return;
      this.#expect(',', "expected ',' or '}' after the member");
    }
  }

  #array(path: string, depth: number): void {
    this.#enter(depth);
    if (this.#ends(']')) return;
    for (let index = 0; ; index++) {
      this.#value(below(path, index), depth);
      if (this.#ends(']')) return;
      this.#expect(',', "expected ',' or ']' after the element");
    }
  }

  #string(): string {
    const start = this.#at;
    this.#at += 1;
    for (;;) {
      this.#skip(PLAIN_TEXT);
      const next = this.#text[this.#at];
      if (next === '"') break;
      if (next === undefined) this.#fail('the string is not closed');
      if (next !== '\\') this.#fail('control characters in strings have to be escaped');
      if (this.#skip(ESCAPE) === 0) this.#fail('bad escape in a string');
    }
    this.#at += 1;
    const name: string = JSON.parse(this.#text.slice(start, this.#at));
    return name;
  }

  #enter(depth: number): void {
    if (depth > this.#maxDepth) this.#fail(`nested deeper than ${this.#maxDepth} levels`);
    this.#at += 1;
  }

  #ends(closer: string): boolean {
    this.#skip(BLANKS);
    if (this.#text[this.#at] !== closer) return false;
    this.#at += 1;
    return true;
  }

  #expect(character: string, problem: string): void {
    if (this.#text[this.#at] !== character) this.#fail(problem);
    this.#at += 1;
  }

  /** Moves past what the sticky pattern matches here; how many characters that were. */
  #skip(pattern: RegExp): number {
    pattern.lastIndex = this.#at;
    const length = pattern.exec(this.#text)?.[0].length ?? 0;
    this.#at += length;
    return length;
  }

  #fail(problem: string): never {
    const ended = this.#at >= this.#text.length;
    throw new Malformed(this.#at, ended ? `the text ends too early: ${problem}` : problem);
  }
}
