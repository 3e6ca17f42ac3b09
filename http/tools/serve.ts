/**
 * Owns `/tools/{org}/{project}/{workspace}/{tool}/…`: a tool as its browser sees it. A link begins a visit: it sets a cookie for
 * this path alone and leads to the tool. Every other request needs the cookie, and the credential behind it must still allow it.
 *
 * What the tool serves is made inside and trusted no further than that: cookies of ours do not reach it, it sets none beyond its
 * path (`http/proxy`), and no page of another site or of another Workspace may make a browser use this cookie.
 */
import { CATALOG_ORG } from '../../src/brand.js';
import type { Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import { checkLabelName, checkSubdomainName } from '../../src/api/names.js';
import { refuse } from '../../src/api/refusal.js';
import { BROWSER_TOOLS, toolPath, type BrowserTool } from '../../src/kinds/workspace/connect.js';
import type { WorkspaceSpec } from '../../src/kinds/workspace/schema.js';
import { requireScope } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import { gate } from '../handle.js';
import { COOKIE_PREFIX } from '../proxy/cookies.js';
import { proxy } from '../proxy/proxy.js';
import { reply } from '../reply.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import type { Room } from '../room.js';
import { LINK } from './links.js';
import { TOOLS } from './programs.js';
import { VISIT_SECONDS, type Visit } from './visits.js';

const COOKIE = `${COOKIE_PREFIX}tool`;
const SCOPE = 'workspaces:exec';
const ROOT = '/tools/';

/** On every answer of a tool. */
const MORE = ['Content-Security-Policy', "frame-ancestors 'self'", 'Referrer-Policy', 'same-origin'];

export function isTool(path: string): boolean {
  return path.startsWith(ROOT);
}

interface Place {
  readonly owner: Address;
  readonly tool: BrowserTool;
  /** With a slash at its end. */
  readonly path: string;
  /** Of the request, behind it; begins with a slash. */
  readonly behind: string;
}

export async function serveTool(x: Exchange, room: Room): Promise<void> {
  x.resource = 'workspaces';
  x.verb = 'tool';
  gate(x, room);
  const place = readPlace(x.path);
  if (place === undefined) throw refuse('NotFound', 'this is the path of no tool');
  if (x.method === 'TRACE') throw methodNotAllowed(x, ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
  refuseStrangers(x, place);
  const link = x.method === 'GET' && place.behind === '/' ? x.query.get(LINK) : null;
  const began = link === null ? undefined : room.visits.begin(link, place.path);
  if (began !== undefined) {
    welcome(x, place, began);
    return;
  }
  const visit = visitOf(x, room, place.path);
  if (visit === undefined) throw noVisit();
  const caller = await room.authenticator.again(visit.credential);
  x.caller = caller;
  room.rates.demand(caller);
  requireScope(caller, SCOPE, place.owner.project);
  await demandTool(room, visit);
  let over = false;
  const onRefused = (): void => {
    over = true;
    room.runs.lost(visit);
  };
  await room.runs.ready(visit);
  try {
    await pass(x, room, visit, place, onRefused);
  } catch (error) {
    if (!over) throw error;
    // It has ended since somebody came last. Nothing of this request has been read yet, so it waits for the next start.
    await room.runs.ready(visit);
    await pass(x, room, visit, place, onRefused);
  }
}

function pass(x: Exchange, room: Room, visit: Visit, { path, behind }: Place, onRefused: () => void): Promise<void> {
  const { port, programs } = TOOLS[visit.tool];
  const keepsPrefix = programs.find(({ name }) => name === visit.program)?.keepsPrefix ?? false;
  const mark = x.url.indexOf('?');
  const query = mark < 0 ? '' : x.url.slice(mark);
  const prefix = path.slice(0, -1);
  return proxy(x, room.streams, {
    ...{ port, prefix, more: MORE },
    path: `${keepsPrefix ? prefix : ''}${behind}${query}`,
    async connect(signal) {
      const connection = await room.commands.connect(visit.owner, { port, epoch: visit.epoch }, signal);
      if (connection.outcome === 'Refused') onRefused();
      return connection;
    },
  });
}

/** Undefined: it is the path of none. Not decoded: names need no escapes. */
function readPlace(path: string): Place | undefined {
  const [org = '', project = '', name = '', word = '', ...rest] = path.slice(ROOT.length).split('/');
  const tool = Object.values(BROWSER_TOOLS).find((each) => each === word);
  const complaint = checkLabelName(org) ?? checkLabelName(project) ?? checkSubdomainName(name);
  if (tool === undefined || rest.length === 0 || complaint !== undefined || org === CATALOG_ORG) return undefined;
  const owner = { org, kind: 'Workspace', project, name };
  return { owner, tool, path: toolPath(owner, tool), behind: `/${rest.join('/')}` };
}

/**
 * A browser sends the cookie whoever makes it ask. Pages of other sites may lead here (and say so), and nothing else; what another
 * Workspace serves from this origin may not even that. `Sec-Fetch-Site` and `Origin` are written by the browser, not the page.
 */
function refuseStrangers(x: Exchange, { owner }: Place): void {
  const { host = '', origin, referer } = x.req.headers;
  const site = x.header('sec-fetch-site');
  const leads = x.method === 'GET' && x.header('sec-fetch-mode') === 'navigate' && x.upgrade === undefined;
  const foreign = (site === 'cross-site' || site === 'same-site') && !leads;
  if (foreign || (origin !== undefined && hostOf(origin) !== host)) {
    throw refuse('Forbidden', 'a page of another site asked for this');
  }
  const from = referer === undefined ? undefined : parsed(referer);
  if (from?.host !== host || !isTool(from.pathname)) return;
  const home = toolPath(owner, 'jupyter').slice(0, -'jupyter/'.length);
  if (!from.pathname.startsWith(home)) throw refuse('Forbidden', 'a page of another Workspace asked for this');
}

function parsed(url: string): URL | undefined {
  return URL.canParse(url) ? new URL(url) : undefined;
}

function hostOf(origin: string): string | undefined {
  return parsed(origin)?.host;
}

/** A page may set cookies of this name, too, and of a longer path, which come first: they are worth nothing, and hide ours not. */
function visitOf(x: Exchange, room: Room, path: string): Visit | undefined {
  for (const cookie of (x.req.headers.cookie ?? '').split(';')) {
    const [name = '', value = ''] = cookie.split('=');
    const visit = name.trim() === COOKIE ? room.visits.find(value.trim(), path) : undefined;
    if (visit !== undefined) return visit;
  }
  return undefined;
}

/** Lax, since a link may be followed from anywhere. */
function welcome(x: Exchange, { path }: Place, value: string): void {
  const secure = 'encrypted' in x.req.socket ? '; Secure' : '';
  reply(x, 303, '', {
    location: path,
    'set-cookie': `${COOKIE}=${value}; Path=${path}; Max-Age=${VISIT_SECONDS}; HttpOnly; SameSite=Lax${secure}`,
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
  });
}

function noVisit(): Error {
  return refuse('Unauthorized', 'this tool is opened by a link, which can be used once', {
    fix: 'POST …/workspaces/{name}/tools/{tool}/links answers one.',
  });
}

/** I8: the Workspace of this name is the one that was visited, and still has the tool. Its epoch is told by whoever connects. */
async function demandTool(room: Room, { owner, uid, tool }: Visit): Promise<void> {
  const body = room.stage.peek(owner) ?? (await room.stage.read(owner, room.deadlines.current()));
  const found = body && decodeObject<WorkspaceSpec>(body);
  const has = found?.spec.tools.some((each) => each !== 'SSH' && BROWSER_TOOLS[each] === tool) ?? false;
  if (found?.metadata.uid !== uid || !has) throw noVisit();
}
