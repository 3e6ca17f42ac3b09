/**
 * Serves `/tools/{org}/{project}/{workspace}/{tool}/…`: a tool as its browser sees it. A link begins a visit: it sets a cookie for
 * this path alone and leads to the tool. Every other request needs the cookie, and the credential behind it must still allow it.
 *
 * What the tool serves is made inside and trusted no further than that: cookies of ours do not reach it, it sets none beyond its
 * path (`http/proxy`), and no page of another site may make a browser use this cookie; nor may one of another Workspace where each
 * has an origin of its own (`tool-address.ts`).
 */
import { decodeObject } from '../../src/api/encode.js';
import { refuse } from '../../src/api/refusal.js';
import { BROWSER_TOOLS } from '../../src/kinds/workspace/browser-tools.js';
import type { WorkspaceSpec } from '../../src/kinds/workspace/schema.js';
import { admitAs } from '../auth/admit.js';
import { requireScope } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import { gate } from '../handle.js';
import { COOKIE_PREFIX } from '../proxy/cookies.js';
import { proxy } from '../proxy/proxy.js';
import { reply } from '../reply.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import type { ServerContext } from '../server-context.js';
import { LINK } from './links.js';
import { homeOf, isTool, toolAddressAsked, readToolAddress, type ToolAddress } from './tool-address.js';
import { TOOLS } from '../../actors/work/tool-programs.js';
import { SESSION_SECONDS, type BrowserSession } from './browser-sessions.js';

const COOKIE = `${COOKIE_PREFIX}tool`;
const SCOPE = 'workspaces:exec';

/** On every answer of a tool. */
const MORE = ['Content-Security-Policy', "frame-ancestors 'self'", 'Referrer-Policy', 'same-origin'];

export async function serveTool(x: Exchange, context: ServerContext): Promise<void> {
  x.resource = 'workspaces';
  x.verb = 'tool';
  gate(x, context);
  const place = readToolAddress(x.path);
  if (place === undefined) throw refuse('NotFound', 'tool not found');
  if (x.method === 'TRACE') throw methodNotAllowed(x, ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
  refuseStrangers(x, place);
  const at = toolAddressAsked(x.req.headers.host ?? '', place, context.config.toolDomain);
  const link = x.method === 'GET' && place.behind === '/' ? x.query.get(LINK) : null;
  const began = link === null ? undefined : context.browserSessions.begin(link, at);
  if (began !== undefined) {
    welcome(x, place, began);
    return;
  }
  const session = visitOf(x, context, at);
  if (session === undefined) throw noVisit();
  const caller = admitAs(x, context, await context.authenticator.again(session.credential));
  requireScope(caller, SCOPE, place.owner.project);
  await demandTool(context, session);
  let over = false;
  const onRefused = (): void => {
    over = true;
    context.toolProcesses.lost(session);
  };
  await context.toolProcesses.ready(session);
  try {
    await pass(x, context, session, place, onRefused);
  } catch (error) {
    if (!over) throw error;
    // The tool has ended since the last request. Nothing of this request has been read yet, so it waits for the next start.
    await context.toolProcesses.ready(session);
    await pass(x, context, session, place, onRefused);
  }
}

function pass(
  x: Exchange,
  context: ServerContext,
  session: BrowserSession,
  { path, behind }: ToolAddress,
  onRefused: () => void,
): Promise<void> {
  const { port, programs } = TOOLS[session.tool];
  const keepsPrefix = programs.find(({ name }) => name === session.program)?.keepsPrefix ?? false;
  const mark = x.url.indexOf('?');
  const query = mark < 0 ? '' : x.url.slice(mark);
  const prefix = path.slice(0, -1);
  return proxy(x, context.streams, {
    ...{ port, prefix, host: x.req.headers.host ?? '', more: MORE },
    allows: (caller) => caller.may(SCOPE, session.owner.project),
    path: `${keepsPrefix ? prefix : ''}${behind}${query}`,
    async connect(signal) {
      const connection = await context.commands.connect(session.owner, { port, epoch: session.epoch }, signal);
      if (connection.outcome === 'Refused') onRefused();
      return connection;
    },
  });
}

/**
 * A browser sends the cookie with every request, whichever page makes it. Pages of other sites may lead here (and say so), and nothing else: `Sec-Fetch-Site`
 * and `Origin` are written by the browser, not the page. `Referer` is the page's to hide, so a hostile tool that shares an
 * origin with others is not held by it, but by an origin of its own (`toolDomain`) alone.
 */
function refuseStrangers(x: Exchange, { owner }: ToolAddress): void {
  const { host = '', origin, referer } = x.req.headers;
  const site = x.header('sec-fetch-site');
  const leads = x.method === 'GET' && x.header('sec-fetch-mode') === 'navigate' && x.upgrade === undefined;
  const foreign = (site === 'cross-site' || site === 'same-site') && !leads;
  if (foreign || (origin !== undefined && hostOf(origin) !== host)) {
    throw refuse('Forbidden', 'requests from pages of other sites are not allowed');
  }
  const from = referer === undefined ? undefined : parsed(referer);
  if (from?.host !== host || !isTool(from.pathname)) return;
  if (!from.pathname.startsWith(homeOf(owner)))
    throw refuse('Forbidden', 'requests from pages of other Workspaces are not allowed');
}

function parsed(url: string): URL | undefined {
  return URL.canParse(url) ? new URL(url) : undefined;
}

function hostOf(origin: string): string | undefined {
  return parsed(origin)?.host;
}

/** A page may set cookies of this name, too, and of a longer path, which come first: they are worth nothing, and hide ours not. */
function visitOf(x: Exchange, context: ServerContext, at: string): BrowserSession | undefined {
  for (const cookie of (x.req.headers.cookie ?? '').split(';')) {
    const [name = '', value = ''] = cookie.split('=');
    const session = name.trim() === COOKIE ? context.browserSessions.find(value.trim(), at) : undefined;
    if (session !== undefined) return session;
  }
  return undefined;
}

/** Lax, since a link may be followed from anywhere. */
function welcome(x: Exchange, { path }: ToolAddress, value: string): void {
  const secure = x.isSecure ? '; Secure' : '';
  reply(x, 303, '', {
    location: path,
    'set-cookie': `${COOKIE}=${value}; Path=${path}; Max-Age=${SESSION_SECONDS}; HttpOnly; SameSite=Lax${secure}`,
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
  });
}

function noVisit(): Error {
  return refuse('Unauthorized', 'open this tool with a link; each link works once', {
    fix: 'POST …/workspaces/{name}/tools/{tool}/links answers one.',
  });
}

/** I8: the Workspace of this name is the one that was visited, and still has the tool. `connect` checks its epoch. */
async function demandTool(context: ServerContext, { owner, uid, tool }: BrowserSession): Promise<void> {
  const body = context.resources.peek(owner) ?? (await context.resources.read(owner, context.deadlines.current()));
  const found = body && decodeObject<WorkspaceSpec>(body);
  const has = found?.spec.tools.some((each) => each !== 'SSH' && BROWSER_TOOLS[each] === tool) ?? false;
  if (found?.metadata.uid !== uid || !has) throw noVisit();
}
