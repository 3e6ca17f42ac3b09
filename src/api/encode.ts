/**
 * The stored form of an object: its JSON, encoded once into one Buffer that later serves row, cache, answer and watch.
 *
 * Layout: `{"apiVersion":"…","kind":"…","metadata":{"resourceVersion":` + a hole of 18 bytes + `,"name":…`. The version is
 * known only inside the transaction, so the hole is blank until `stampVersion` writes `"123"` left-aligned into it
 * (blanks after a JSON string are legal). Does not own what the object means, nor who may stamp: whoever reads bytes
 * from Postgres, where the hole is blank, stamps them with the row's version.
 *
 * Invariants: the first `{` after byte 0 opens `metadata`; no raw U+2028 or U+2029 is in the bytes, because readers of
 * watch frames split lines there.
 */
import type { ApiObject, ObjectMeta } from './object.js';

/** Quotes and sixteen digits: room for every safe integer. */
export const HOLE_BYTES = 18;

/** Largest stored object, in bytes. The same as the largest request body (decisions: 3 MiB), so patches cannot grow past it. */
export const MAX_OBJECT_BYTES = 3 * 1024 * 1024;

const HOLE = ' '.repeat(HOLE_BYTES);
const BEFORE_HOLE = '"resourceVersion":';
const BLANK = 0x20;
const QUOTE = 0x22;
const OPEN = 0x7b;
const COLON = 0x3a;
const ZERO = 0x30;

/** Offset of the hole in the bytes of any object with this `apiVersion` and `kind`. */
export function versionHole(apiVersion: string, kind: string): number {
  return `{"apiVersion":"${apiVersion}","kind":"${kind}","metadata":{${BEFORE_HOLE}`.length;
}

/** The object's bytes with a blank hole. `metadata.resourceVersion` and members beyond the five of `ApiObject` are not encoded. */
export function encodeObject(object: ApiObject): Buffer {
  let text = `{"apiVersion":"${object.apiVersion}","kind":"${object.kind}","metadata":{${BEFORE_HOLE}${HOLE},`;
  text += membersOf(object.metadata);
  if (object.spec !== undefined) text += `,"spec":${JSON.stringify(object.spec)}`;
  if (object.status !== undefined) text += `,"status":${JSON.stringify(object.status)}`;
  text += '}';
  return Buffer.from(escapeLineSeparators(text), 'utf8');
}

/** The members without the version, and the closing brace. Copying metadata to leave one member out costs more than cutting text. */
function membersOf(metadata: ObjectMeta): string {
  const { resourceVersion } = metadata;
  const text = JSON.stringify(metadata);
  if (resourceVersion === undefined) return text.slice(1);
  const first = `{${BEFORE_HOLE}"${resourceVersion}",`;
  if (text.startsWith(first)) return text.slice(first.length);
  const { resourceVersion: _, ...rest } = metadata;
  return JSON.stringify(rest).slice(1);
}

/** Escapes U+2028 and U+2029, which are legal in JSON strings and end a line for many readers. */
export function escapeLineSeparators(json: string): string {
  if (!json.includes('\u2028') && !json.includes('\u2029')) return json;
  return json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}

/** Writes the version into the hole, in place, over whatever was there. Returns the same Buffer. */
export function stampVersion(body: Buffer, version: number): Buffer {
  const hole = findHole(body);
  const digits = String(version);
  if (digits.length > HOLE_BYTES - 2) throw new RangeError(`version ${digits} does not fit`);
  let at = hole;
  body[at++] = QUOTE;
  for (let i = 0; i < digits.length; i++) body[at++] = digits.charCodeAt(i);
  body[at++] = QUOTE;
  while (at < hole + HOLE_BYTES) body[at++] = BLANK;
  return body;
}

/** The stamped version; undefined while the hole is blank. */
export function readVersion(body: Buffer): number | undefined {
  let at = findHole(body);
  if (body[at] !== QUOTE) return undefined;
  let version = 0;
  for (at += 1; body[at] !== QUOTE; at++) version = version * 10 + ((body[at] ?? ZERO) - ZERO);
  return version;
}

/** The object; without `metadata.resourceVersion` while the hole is blank. */
export function decodeObject<Spec = unknown, Status = unknown>(body: Buffer): ApiObject<Spec, Status> {
  const hole = findHole(body);
  const text =
    body[hole] === BLANK
      ? body.toString('utf8', 0, hole - BEFORE_HOLE.length) + body.toString('utf8', hole + HOLE_BYTES + 1)
      : body.toString('utf8');
  const object: ApiObject<Spec, Status> = JSON.parse(text);
  return object;
}

function findHole(body: Buffer): number {
  const hole = body.indexOf(OPEN, 1) + 1 + BEFORE_HOLE.length;
  if (body[hole - 1] !== COLON || hole + HOLE_BYTES > body.length)
    throw new TypeError('these are not the bytes of an object');
  return hole;
}
