/**
 * The messages of SOCKS5 (RFC 1928) that the proxy speaks: no authentication, CONNECT by name and by address. Pure; every
 * parser says how many bytes it took, or that it needs more.
 */
import { isIP } from 'node:net';
import { targetOf, type Target } from './policy.js';

export const SOCKS_VERSION = 5;

/** Bytes of a greeting and a request at most; one that has sent more and is not understood is refused. */
export const MAX_HANDSHAKE = 2 + 255 + 4 + 256 + 2;

export const NO_AUTHENTICATION = Buffer.from([SOCKS_VERSION, 0]);
export const NO_METHOD = Buffer.from([SOCKS_VERSION, 0xff]);

export const REPLY = {
  succeeded: 0,
  failed: 1,
  notAllowed: 2,
  hostUnreachable: 4,
  connectionRefused: 5,
  timedOut: 6,
  commandNotSupported: 7,
  addressTypeNotSupported: 8,
} as const;

const CONNECT = 1;
const IPV4 = 1;
const NAME = 3;
const IPV6 = 4;

export type Greeting =
  | { readonly kind: 'More' }
  | { readonly kind: 'Greeting'; readonly noAuthentication: boolean; readonly length: number }
  | { readonly kind: 'Bad' };

export function parseGreeting(bytes: Buffer): Greeting {
  const [version, count] = bytes;
  if (version === undefined || count === undefined) return { kind: 'More' };
  if (version !== SOCKS_VERSION) return { kind: 'Bad' };
  const length = 2 + count;
  if (bytes.length < length) return { kind: 'More' };
  return { kind: 'Greeting', noAuthentication: bytes.subarray(2, length).includes(0), length };
}

export type Request =
  | { readonly kind: 'More' }
  | { readonly kind: 'Connect'; readonly target: Target; readonly length: number }
  | { readonly kind: 'Refused'; readonly reply: number };

export function parseRequest(bytes: Buffer): Request {
  const [version, command, , type, nameLength] = bytes;
  if (version !== undefined && version !== SOCKS_VERSION) return { kind: 'Refused', reply: REPLY.failed };
  if (type === undefined || nameLength === undefined) return { kind: 'More' };
  if (command !== CONNECT) return { kind: 'Refused', reply: REPLY.commandNotSupported };
  const from = type === NAME ? 5 : 4;
  const size = type === IPV4 ? 4 : type === IPV6 ? 16 : type === NAME ? nameLength : -1;
  if (size < 0) return { kind: 'Refused', reply: REPLY.addressTypeNotSupported };
  const length = from + size + 2;
  if (bytes.length < length) return { kind: 'More' };
  const host = hostOf(type, bytes.subarray(from, from + size));
  // A name that carries an address in text is one: targetOf tells.
  const target = targetOf(host, bytes.readUInt16BE(from + size));
  return target === undefined ? { kind: 'Refused', reply: REPLY.failed } : { kind: 'Connect', target, length };
}

/** The address that the service dialled from is nobody's business: all zeros. */
export function reply(code: number): Buffer {
  return Buffer.from([SOCKS_VERSION, code, 0, IPV4, 0, 0, 0, 0, 0, 0]);
}

function hostOf(type: number, bytes: Buffer): string {
  if (type === IPV4) return bytes.join('.');
  if (type === NAME) return bytes.toString('latin1');
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16));
  const text = groups.join(':');
  return isIP(text) === 6 ? new URL(`http://[${text}]`).hostname.slice(1, -1) : text;
}
