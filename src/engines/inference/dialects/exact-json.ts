/**
 * JSON whose whole numbers stay as they were written. `JSON.parse` rounds those above 2^53, and an id of 64 bits in the arguments of a call would
 * name another thing afterwards. While a value is in memory, such a number is a text that begins with MARK; nothing here calculates with it.
 */
import { isObject } from '../../../api/safe-value.js';
import { BrokenStreamError } from './dialect.js';

/** Of private use: who writes it into a text gets a number. */
const MARK = '\uf8a1number ';
const MARKED = new RegExp(`"${MARK}(-?\\d[\\d.eE+-]*)"`, 'g');
/** Fewer digits are exact; a larger exponent is none that a number has. */
const SUSPECT = /\d{16}|\d[eE]\+?\d{3}/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const WHOLE = /^-?\d{16,}$/;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;

/** Throws a SyntaxError, as `JSON.parse` does. */
export function parseExact(text: string): unknown {
  return JSON.parse(SUSPECT.test(text) ? marked(text) : text);
}

/** Undefined: it is no JSON. */
export function parsed(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return undefined;
  }
}

/** As `JSON.stringify` of a value that JSON can say. */
export function writeExact(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes(MARK) ? text.replaceAll(MARKED, '$1') : text;
}

/** Of a frame. Throws a BrokenStreamError for data that is no JSON object. */
export function readExactData(data: string): Record<string, unknown> {
  const value = parsed(data);
  if (!isObject(value)) throw new BrokenStreamError('a frame of the stream is no JSON object');
  return value;
}

function marked(text: string): string {
  let out = '';
  let copied = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === MINUS || isDigit(code)) {
      const end = endOfNumber(text, at);
      const number = text.slice(at, end);
      if (isLost(number)) {
        out += `${text.slice(copied, at)}"${MARK}${number}"`;
        copied = end;
      }
      at = end - 1;
    }
  }
  return copied === 0 ? text : out + text.slice(copied);
}

/** What is no number of JSON stays, so that it is refused. */
function isLost(number: string): boolean {
  if (!NUMBER.test(number)) return false;
  const value = Number(number);
  return !Number.isFinite(value) || (WHOLE.test(number) && !Number.isSafeInteger(value) && String(value) !== number);
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Of the last character of the string that begins here. */
function endOfString(text: string, from: number): number {
  let at = from + 1;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at += 1;
    else if (code === QUOTE) return at;
  }
  return at;
}

function endOfNumber(text: string, from: number): number {
  let at = from + 1;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const isPart = isDigit(code) || code === POINT || code === PLUS || code === MINUS || (code | 0x20) === 0x65;
    if (!isPart) return at;
  }
  return at;
}
