/**
 * Cuts bytes that may be text into parts that can be decoded one by one: together they decode to what the whole does, whatever is in them.
 * Pure. Each part is made when it is asked for, so that the event loop can be left to others between two of them.
 *
 * I10: PART_BYTES for a part, and 6 times that as JSON (a control character is written as `\u0000`).
 */

/** Bytes that are decoded and written as JSON in well under a millisecond. */
export const PART_BYTES = 16 * 1024;

/** Leaves a character at the end, of which not all bytes are there, to the next part. */
export function* utf8Parts(blocks: Iterable<Uint8Array>): Generator<Buffer> {
  let left: Uint8Array = new Uint8Array(0);
  for (const block of blocks) {
    for (let from = 0; from < block.length; from += PART_BYTES) {
      const next = block.subarray(from, from + PART_BYTES);
      const bytes = left.length === 0 ? view(next) : Buffer.concat([left, next]);
      const end = endOfCharacters(bytes);
      left = bytes.subarray(end);
      if (end > 0) yield bytes.subarray(0, end);
    }
  }
  if (left.length > 0) yield view(left);
}

function view(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Decoding may always begin at the first byte of a character, so there is the only place where bytes are cut. */
function endOfCharacters(bytes: Uint8Array): number {
  for (let at = bytes.length - 1; at >= Math.max(0, bytes.length - 3); at -= 1) {
    const byte = bytes[at] ?? 0;
    if (byte < 0x80) return bytes.length;
    if (byte >= 0xc0) return at + lengthOf(byte) > bytes.length ? at : bytes.length;
  }
  return bytes.length;
}

function lengthOf(first: number): number {
  return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
}
