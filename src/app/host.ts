/** The host of an address, as it is written in a URL, and as a bare name or address. */

/** Name or bare address in a URL. */
export const hostOf = (url: string): string => new URL(url).hostname.replace(/^\[(.*)\]$/, '$1');

/** The address at which a client on this machine reaches a listener: every-interface addresses mean loopback. */
export const reachable = (host: string): string => {
  if (host === '0.0.0.0' || host === '*') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
};
