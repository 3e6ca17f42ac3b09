/**
 * Reads from the text of a JSON body what `JSON.parse` does not say: how deep it nests, how many values it holds, whether an
 * object names a member twice, and where and why the text is malformed. `measure` is on the way of every write and is one
 * pass over the bytes; `scan` is exact and runs only when something is wrong.
 */
import { fieldPath } from './path.js';

const BLANK = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

export interface Measure {
  /** Members of all objects, as written: one written twice counts twice. */
  readonly members: number;
  /** Members of all objects and elements of all lists. */
  readonly values: number;
  readonly depth: number;
}

/**
 * Exact for valid JSON. For other text the figures are guesses, and `scan` says what is wrong. Reads bytes, which is twice as
 * fast as characters; no byte of a longer UTF-8 sequence looks like a sign of structure.
 */
export function measure(bytes: Uint8Array): Measure {
  let members = 0;
  let values = 0;
  let depth = 0;
  let deepest = 0;
  /** Nothing but blanks since a container began. */
  let empty = false;
  const length = bytes.length;
  for (let at = 0; at < length; at++) {
    const code = bytes[at] ?? 0;
    if (code <= BLANK) continue;
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (++depth > deepest) deepest = depth;
      // Its first value, which has no comma before it.
      values++;
      empty = true;
      continue;
    }
    if (code === QUOTE) {
      for (at++; at < length; at++) {
        const inside = bytes[at];
        if (inside === QUOTE) break;
        if (inside === BACKSLASH) at++;
      }
    } else if (code === COMMA) values++;
    else if (code === COLON) members++;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      depth--;
      if (empty) values--;
    }
    empty = false;
  }
  return { members, values, depth: deepest };
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
  let line = 1;
  let start = -1;
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) {
    line += 1;
    start = at;
  }
  return `line ${line}, column ${offset - start}`;
}

/** Unwinds the scanner; never leaves this file. */
class Malformed extends Error {
  readonly offset: number;
  constructor(offset: number, problem: string) {
    super(problem);
    this.offset = offset;
  }
}

const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const WORDS = ['true', 'false', 'null'];
/** What may follow a backslash beside `u`. */
const ESCAPES = new Set(Buffer.from('"\\/bfnrt'));
const HEX = /^[0-9a-fA-F]{4}$/;

/** Works by character codes, and makes a path only where a member repeats: a body of 3 MiB may come here. */
class Scanner {
  readonly duplicates: string[] = [];
  readonly #text: string;
  readonly #maxDepth: number;
  /** Names and indexes that lead to where the scanner is. */
  readonly #path: (string | number)[] = [];
  #at = 0;

  constructor(text: string, maxDepth: number) {
    this.#text = text;
    this.#maxDepth = maxDepth;
  }

  document(): void {
    this.#value(0);
    this.#skipBlanks();
    if (this.#at < this.#text.length) this.#fail('expected nothing after the end of the value');
  }

  #value(depth: number): void {
    this.#skipBlanks();
    const next = this.#code();
    if (next === OPEN_BRACE) this.#object(depth + 1);
    else if (next === OPEN_BRACKET) this.#array(depth + 1);
    else if (next === QUOTE) this.#string();
    else if (next === MINUS || isDigit(next)) this.#number();
    else {
      const word = WORDS.find((one) => this.#text.startsWith(one, this.#at));
      if (word === undefined) this.#fail('expected a value');
      this.#at += word.length;
    }
  }

  #object(depth: number): void {
    this.#enter(depth);
    if (this.#ends(CLOSE_BRACE)) return;
    const seen = new Set<string>();
    for (;;) {
      this.#skipBlanks();
      if (this.#code() !== QUOTE) this.#fail('expected a member name in double quotes');
      const name = this.#name();
      this.#path.push(name);
      const known = seen.size;
      seen.add(name);
      if (seen.size === known && this.duplicates.length < MAX_DUPLICATES) {
        this.duplicates.push(fieldPath('', this.#path));
      }
      this.#skipBlanks();
      this.#expect(COLON, "expected ':' after the member name");
      this.#value(depth);
      this.#path.pop();
      if (this.#ends(CLOSE_BRACE)) return;
      this.#expect(COMMA, "expected ',' or '}' after the member");
    }
  }

  #array(depth: number): void {
    this.#enter(depth);
    if (this.#ends(CLOSE_BRACKET)) return;
    for (let index = 0; ; index++) {
      this.#path.push(index);
      this.#value(depth);
      this.#path.pop();
      if (this.#ends(CLOSE_BRACKET)) return;
      this.#expect(COMMA, "expected ',' or ']' after the element");
    }
  }

  #name(): string {
    const start = this.#at;
    if (!this.#string()) return this.#text.slice(start + 1, this.#at - 1);
    const name: string = JSON.parse(this.#text.slice(start, this.#at));
    return name;
  }

  /** True when there are escapes in it. */
  #string(): boolean {
    let escaped = false;
    this.#at += 1;
    for (;;) {
      const next = this.#code();
      if (next === QUOTE) break;
      if (Number.isNaN(next)) this.#fail('the string is not closed');
      if (next < 0x20) this.#fail('control characters in strings have to be escaped');
      if (next !== BACKSLASH) this.#at += 1;
      else {
        escaped = true;
        this.#at += this.#escape();
      }
    }
    this.#at += 1;
    return escaped;
  }

  /** Characters of the escape that begins here. */
  #escape(): number {
    const text = this.#text;
    if (ESCAPES.has(text.charCodeAt(this.#at + 1))) return 2;
    if (text[this.#at + 1] === 'u' && HEX.test(text.slice(this.#at + 2, this.#at + 6))) return 6;
    return this.#fail('bad escape in a string');
  }

  /** What is wrong behind the part of a number that is one is for what follows to say. */
  #number(): void {
    const start = this.#at;
    if (this.#code() === MINUS) this.#at += 1;
    if (!isDigit(this.#code())) {
      this.#at = start;
      this.#fail('expected a value');
    }
    if (this.#code() === ZERO) this.#at += 1;
    else this.#skipDigits();
    if (this.#text[this.#at] === '.' && isDigit(this.#text.charCodeAt(this.#at + 1))) {
      this.#at += 1;
      this.#skipDigits();
    }
    const sign = this.#text[this.#at];
    if (sign !== 'e' && sign !== 'E') return;
    const next = this.#text[this.#at + 1];
    const digits = next === '+' || next === '-' ? 2 : 1;
    if (!isDigit(this.#text.charCodeAt(this.#at + digits))) return;
    this.#at += digits;
    this.#skipDigits();
  }

  #enter(depth: number): void {
    if (depth > this.#maxDepth) this.#fail(`nested deeper than ${this.#maxDepth} levels`);
    this.#at += 1;
  }

  #ends(closer: number): boolean {
    this.#skipBlanks();
    if (this.#code() !== closer) return false;
    this.#at += 1;
    return true;
  }

  #expect(code: number, problem: string): void {
    if (this.#code() !== code) this.#fail(problem);
    this.#at += 1;
  }

  /** NaN at the end. */
  #code(): number {
    return this.#text.charCodeAt(this.#at);
  }

  #skipBlanks(): void {
    while (isBlank(this.#code())) this.#at += 1;
  }

  #skipDigits(): void {
    while (isDigit(this.#code())) this.#at += 1;
  }

  #fail(problem: string): never {
    const ended = this.#at >= this.#text.length;
    throw new Malformed(this.#at, ended ? `the text ends too early: ${problem}` : problem);
  }
}

function isBlank(code: number | undefined): boolean {
  return code === BLANK || code === 0x0a || code === 0x0d || code === 0x09;
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}
