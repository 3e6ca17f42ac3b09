/**
 * Whether a client wants an answer compressed with gzip, by its `Accept-Encoding`. Pure.
 * Source: RFC 9110, section 12.5.3. A client that sends no header gets the plain bytes.
 */

const CODING = /^([!#$%&'*+.^_`|~0-9a-z-]+|\*)(?:\s*;\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/;

/** Weights by coding; what is malformed counts as not sent. */
function weights(header: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const part of header.slice(0, 1024).toLowerCase().split(',')) {
    const [, coding, weight] = CODING.exec(part.trim()) ?? [];
    // `x-gzip` is the same coding (RFC 9110, section 8.4.1.3).
    if (coding !== undefined) found.set(coding === 'x-gzip' ? 'gzip' : coding, Number(weight ?? 1));
  }
  return found;
}

export function acceptsGzip(header: string | string[] | undefined): boolean {
  if (header === undefined) return false;
  const given = weights(typeof header === 'string' ? header : header.join(','));
  const any = given.get('*');
  const gzip = given.get('gzip') ?? any ?? 0;
  // Plain bytes are always acceptable, at the lowest weight, unless the header says otherwise.
  const plain = given.get('identity') ?? (given.has('gzip') ? any : undefined) ?? 0;
  return gzip > 0 && gzip >= plain;
}
