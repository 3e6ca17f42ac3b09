/**
 * Rewrites the references in headers of an answer from inside (Location, Content-Location, Refresh, Link), so that what a program
 * means by them inside is what a client outside understands. Pure.
 *
 * Each is read as a browser reads it, with dot segments, backslashes and blanks, and written anew. One to the port itself, or to
 * this service, stays below the path of the port. One to anywhere else says so in a form that all readers read alike; it is
 * not dropped, since a page may lead its reader to any place by a link or a script, too.
 *
 * I10: MOST_REFERRING headers of one answer, MOST_LINKS references in one; what is beyond is dropped.
 */

export interface Passage {
  /** Path of this service below which the port is reached, without a slash at its end. */
  readonly prefix: string;
  readonly port: number;
  /** Path and query of the request, as they are asked for inside. */
  readonly path: string;
  /** Host and port by which the client knows this service; empty: it did not say. */
  readonly host: string;
}

/** Headers with references that one answer may have. */
export const MOST_REFERRING = 16;
const MOST_LINKS = 32;

/** The port itself, by the names that a program inside has for it. */
const OWN_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Undefined: nobody could say where it leads, or it leads to no page (`javascript:`). */
export function outwardLocation(location: string, passage: Passage): string | undefined {
  const { prefix, port, path } = passage;
  const inside = `http://localhost:${port}`;
  const url = parsed(location, `${inside}${path}`);
  if (url === undefined || !isHttp(url)) return undefined;
  if (!isOwn(url, passage)) {
    url.username = '';
    url.password = '';
    return hasScheme(location) ? url.href : url.href.slice(url.protocol.length);
  }
  const below = (pathname: string): boolean => pathname === prefix || pathname.startsWith(`${prefix}/`);
  const page = new URL(below(path) ? path : prefix + path, inside);
  // One that is relative to the page leads to the same outside, unless it climbs out.
  const relative = !/^[/\\]|:/.test(location.trim()) && below(new URL(location, page).pathname);
  if (relative) return location;
  return `${below(url.pathname) ? '' : prefix}${url.href.slice(url.origin.length)}`;
}

/** `5`, `5; url=/next`, `0;URL='x'`, as HTML reads it. Undefined: it is none. */
export function outwardRefresh(refresh: string, passage: Passage): string | undefined {
  const [, seconds, behind = ''] = /^\s*(\d+)(?:\.[\d.]*)?(?:[\s;,]\s*[;,]?\s*(.*))?$/s.exec(refresh) ?? [];
  if (seconds === undefined) return undefined;
  const said = behind.replace(/^url\s*=\s*/i, '');
  const [quote = ''] = /^["']/.exec(said) ?? [];
  const [reference = ''] = quote === '' ? [said] : said.slice(1).split(quote, 1);
  if (reference.trim() === '') return seconds;
  const location = outwardLocation(reference, passage);
  // One that began with a quote would be read in another way than it was here.
  return location && `${seconds}; url=${location.replaceAll('"', '%22').replaceAll("'", '%27')}`;
}

/** `<a>; rel=next, <b>; rel=prev`. Undefined: one of them leads nowhere, or there are too many. */
export function outwardLink(link: string, passage: Passage): string | undefined {
  const found = [...link.matchAll(/<([^<>]*)>/g)];
  if (found.length > MOST_LINKS) return undefined;
  let written = '';
  let end = 0;
  for (const { 0: whole, 1: reference = '', index } of found) {
    const location = outwardLocation(reference, passage);
    if (location === undefined) return undefined;
    written += `${link.slice(end, index)}<${location}>`;
    end = index + whole.length;
  }
  return written + link.slice(end);
}

function parsed(reference: string, base: string): URL | undefined {
  try {
    return new URL(reference, base);
  } catch {
    return undefined;
  }
}

function isHttp({ protocol }: URL): boolean {
  return protocol === 'http:' || protocol === 'https:';
}

function hasScheme(reference: string): boolean {
  return /^\s*[a-z]/i.test(reference);
}

/** Whether it leads to the port or to this service. */
function isOwn(url: URL, { port, host }: Passage): boolean {
  const itsPort = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
  if (OWN_HOSTS.has(url.hostname) && itsPort === port) return true;
  return host !== '' && url.host === parsed(`${url.protocol}//${host}`, url.href)?.host;
}
