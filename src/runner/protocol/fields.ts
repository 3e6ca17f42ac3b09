/** The form of what the runner says to its programs in Perl: fields, each with four bytes of length (big endian) before it, which one `unpack` takes apart. */

export function encodeFields(fields: readonly (string | Buffer)[]): Buffer {
  const parts = fields.map((field) => (typeof field === 'string' ? Buffer.from(field) : field));
  const bytes = Buffer.allocUnsafe(parts.reduce((sum, { length }) => sum + 4 + length, 0));
  let at = 0;
  for (const part of parts) {
    at = bytes.writeUInt32BE(part.length, at);
    at += part.copy(bytes, at);
  }
  return bytes;
}
