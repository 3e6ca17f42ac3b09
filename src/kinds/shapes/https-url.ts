/** Owns what an https address in a spec must look like. Where it leads is for the dialer to judge, at each connection. */
import { z } from 'zod';

/** Longer addresses are refused by common servers. */
const LONGEST = 8192;

/** https with a host and without credentials: those would be shown to everyone who may read the object (I11). */
export function isHttps(text: string): boolean {
  try {
    const url = new URL(text);
    return url.protocol === 'https:' && url.hostname !== '' && url.username === '' && url.password === '';
  } catch {
    return false;
  }
}

/** It would be one with another port. */
function hasBadPort(text: string): boolean {
  const parts = /^(https:\/\/[^/?#]*):\d+(?=[/?#]|$)/.exec(text);
  return parts !== null && isHttps(parts[1] ?? '');
}

export const httpsUrl = z
  .string()
  .max(LONGEST)
  .refine(isHttps, {
    error: ({ input }) =>
      typeof input === 'string' && hasBadPort(input)
        ? 'must have a port from 1 to 65535, or none'
        : 'must be an https URL without credentials',
  })
  .meta({ format: 'uri', pattern: '^https://', example: 'https://example.com/hooks' });
