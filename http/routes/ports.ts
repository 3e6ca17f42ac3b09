/**
 * Serves `…/ports/{port}/{path}`: any HTTP request, and WebSockets, to a port that a program inside listens on. The path
 * and the query reach it as they were sent, but for `epoch=`, which is ours.
 *
 * A page from inside is hostile to the origin that it is shown under: it gets an origin of its own (`sandbox` of the
 * Content-Security-Policy), so that its scripts reach nothing here with what a browser may hold. Source: decisions, "Routes not shown", Ports.
 */
import { refuse } from '../../src/api/refusal.js';
import type { Caller } from '../../actors/resource-service.js';
import { addressOf, stillMay } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import type { SubresourceTarget } from '../target.js';
import { proxy } from '../proxy/proxy.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import type { ServerContext } from '../server-context.js';
import { readEpoch } from './epoch.js';

const OWN_ORIGIN = [
  'Content-Security-Policy',
  'sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts',
];

export async function servePorts(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  target: SubresourceTarget,
): Promise<void> {
  const { kind, project, name, rest, behind } = target;
  x.verb = 'proxy';
  // Answered with the request as it came, key and all.
  if (x.method === 'TRACE') throw methodNotAllowed(x, ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
  const address = addressOf(caller, kind, project, name, 'exec');
  const port = readPort(rest[0] ?? '');
  const epoch = readEpoch(x);
  const query = queryInside(x.url);
  return proxy(x, context.streams, {
    port,
    host: x.req.headers.host ?? '',
    prefix: x.path.slice(0, x.path.length - behind.length).replace(/\/$/, ''),
    path: `${behind === '' ? '/' : behind}${query === '' ? '' : `?${query}`}`,
    allows: stillMay(kind, project, name, 'exec'),
    connect: (signal) => context.commands.connect(address, { port, epoch }, signal),
    more: OWN_ORIGIN,
  });
}

function readPort(text: string): number {
  const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) throw refuse('BadRequest', 'port must be a number from 1 to 65535');
  return port;
}

/** Without `epoch=`. The rest is not decoded, so that it arrives as it was sent. */
function queryInside(url: string): string {
  const mark = url.indexOf('?');
  if (mark < 0) return '';
  return url
    .slice(mark + 1)
    .split('&')
    .filter((part) => !part.startsWith('epoch='))
    .join('&');
}
