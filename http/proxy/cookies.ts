/**
 * Cookies at the proxy: ours stay outside, and those that come from inside hold below the path of their port only, so that one
 * box cannot set them for another, or for us. Pure.
 */
import { BRAND } from '../../src/brand.js';

/** All cookies of this service begin with it. */
export const COOKIE_PREFIX = `${BRAND}_`;

/** `cookie` is `name=value`. */
export function isOurCookie(cookie: string): boolean {
  return cookie.trim().startsWith(COOKIE_PREFIX);
}

/** The value of a `Set-Cookie` from inside as it may go out; undefined: it may not. */
export function scopeCookie(setCookie: string, prefix: string): string | undefined {
  const [pair = '', ...attributes] = setCookie.split(';');
  const name = (pair.split('=')[0] ?? '').trim();
  // Those prefixes promise a host or a path that it cannot have here.
  if (isOurCookie(pair) || /^__(?:host|secure)-/i.test(name)) return undefined;
  const kept: string[] = [];
  let path = '/';
  for (const attribute of attributes) {
    const [key = '', ...value] = attribute.split('=');
    switch (key.trim().toLowerCase()) {
      case 'path': {
        const asked = value.join('=').trim();
        if (asked.startsWith('/')) path = asked;
        break;
      }
      case 'domain':
        break;
      default:
        kept.push(attribute);
    }
  }
  const scoped = path === prefix || path.startsWith(`${prefix}/`) ? path : prefix + path;
  return [pair, ` Path=${scoped}`, ...kept].join(';');
}
