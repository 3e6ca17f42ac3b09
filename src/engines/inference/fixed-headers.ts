/** Which headers an operator may add to what an upstream is sent. Pure. */

/** Those that the service sets itself, that carry the key, or that belong to one connection (RFC 9110, 7.6.1). */
const OWN: ReadonlySet<string> = new Set([
  ...[
    'accept',
    'accept-encoding',
    'anthropic-beta',
    'anthropic-version',
    'authorization',
    'content-length',
    'content-type',
  ],
  ...['content-encoding', 'cookie', 'expect', 'host', 'user-agent', 'x-api-key'],
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade'],
]);

export function mayBeFixed(name: string): boolean {
  return !OWN.has(name.toLowerCase());
}
