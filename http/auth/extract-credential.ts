/**
 * Which credential a request brings: its `Authorization` header or, of a WebSocket, which browsers give no headers,
 * one of the offered subprotocols, as Kubernetes has it: `base64url.bearer.authorization.k8s.io.<base64url of the key>`.
 */
import type { IncomingMessage } from 'node:http';

const PREFIX = 'base64url.bearer.authorization.k8s.io.';
/** As in `bearer.ts`: what is longer is no key. */
const MAX_LENGTH = 1_024;

/** The text of an `Authorization` header, or undefined. */
export function extractCredential(req: IncomingMessage, webSocket: boolean): string | undefined {
  const { authorization } = req.headers;
  if (authorization !== undefined || !webSocket) return authorization;
  const bearers = subprotocols(req).filter(isBearer);
  const [only] = bearers;
  if (only === undefined || bearers.length > 1 || only.length > MAX_LENGTH) return undefined;
  const encoded = only.slice(PREFIX.length);
  if (!/^[A-Za-z0-9_-]+$/.test(encoded)) return undefined;
  return `Bearer ${Buffer.from(encoded, 'base64url').toString('utf8')}`;
}

/** Those that are offered for what follows: a credential is none of them, and is passed on to nobody. */
export function plainSubprotocols(req: IncomingMessage): readonly string[] {
  return subprotocols(req).filter((name) => !isBearer(name));
}

function subprotocols(req: IncomingMessage): readonly string[] {
  const header = req.headers['sec-websocket-protocol'] ?? '';
  return header
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

function isBearer(name: string): boolean {
  return name.startsWith(PREFIX);
}
