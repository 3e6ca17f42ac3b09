/**
 * Whether a URL can never be dialled, whatever a name server answers: its host is written as an address that is not on the public internet,
 * in any spelling, or as a name of the machine itself. Names are judged at each connection (`dialer.ts`). Pure.
 */
import { isIP } from 'node:net';
import { specialAddress, type AllowedAddresses } from './special-addresses.js';

/** Why, for people; undefined: it may be dialled, or is no URL. */
export function neverDialled(text: string, allowed: AllowedAddresses): string | undefined {
  if (!URL.canParse(text)) return undefined;
  // A URL has read other spellings of an IPv4 address (decimal, octal, hexadecimal) already.
  const host = new URL(text).hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (host === 'localhost' || host.endsWith('.localhost')) {
    return allowed.has('127.0.0.1') || allowed.has('::1') ? undefined : `${host} is this machine`;
  }
  if (isIP(host) === 0 || allowed.has(host)) return undefined;
  const special = specialAddress(host);
  return special === undefined ? undefined : `${host} is not on the public internet (${special})`;
}
