/**
 * Serves `POST …/workspaces/{n}/tools/{tool}/links`: a link that opens a browser tool of a running Workspace, once and soon. For `ssh`
 * the answer is where to go, or that no key would be let in.
 *
 * WorkspaceToolUnavailable: `spec.tools` does not name the tool, or the image has no program for it; NoSSHKey: neither the
 * Workspace nor a member has a key. Source: spec, "Workspace", `connect`; the route is ours.
 */
import { z } from 'zod';
import type { Caller } from '../../actors/resource-service.js';
import type { Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import { refuse } from '../../src/api/refusal.js';
import { rfc3339 } from '../../src/api/time.js';
import { BROWSER_TOOLS, type BrowserTool } from '../../src/kinds/workspace/browser-tools.js';
import { sshUser, toolOrigin, toolPath } from '../../src/kinds/workspace/connect.js';
import type { WorkspaceSpec, WorkspaceStatus } from '../../src/kinds/workspace/schema.js';
import { addressOf } from '../auth/authorise.js';
import { bearerHash } from '../auth/bearer.js';
import type { Exchange } from '../exchange.js';
import type { SubresourceTarget } from '../target.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import { readBody } from '../resources/parse.js';
import { replyJson } from '../reply.js';
import type { ServerContext } from '../server-context.js';
import { membersOf } from '../ssh/members.js';
import { keysOf } from '../ssh/keys.js';
import { search, TOOLS } from '../../actors/work/tool-programs.js';
import { run } from './tool-processes.js';
import { LINK_SECONDS } from './browser-sessions.js';

/** Query of a link. */
export const LINK = 'link';

/** By the words of the path. */
const WORDS: ReadonlyMap<string, WorkspaceSpec['tools'][number]> = new Map([
  ['jupyter', 'Jupyter'],
  ['vscode', 'VSCode'],
  ['ssh', 'SSH'],
]);

const NOTHING = z.strictObject({});

export async function serveLinks(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  target: SubresourceTarget,
): Promise<void> {
  const { kind, project, name, rest } = target;
  const [word = '', links, ...more] = rest;
  const tool = WORDS.get(word);
  if (tool === undefined || links !== 'links' || more.length > 0) {
    throw refuse('NotFound', `below tools there are ${[...WORDS.keys()].join(', ')}, each with links`);
  }
  if (x.method !== 'POST') throw methodNotAllowed(x, ['POST']);
  x.verb = 'link';
  const address = addressOf(caller, kind, project, name, 'exec');
  const body = await context.bodies.read(x);
  if (body.length > 0) await readBody(x, context.bodies, body, NOTHING);
  const bytes = await context.resources.read(address, context.deadlines.current());
  if (bytes === undefined)
    throw refuse('NotFound', `${kind.kind} "${name}" not found`, { target: ofWorkspace(address) });
  const { spec, status } = decodeObject<WorkspaceSpec, WorkspaceStatus>(bytes);
  if (!spec.tools.includes(tool)) throw unavailable(address, `spec.tools does not name ${tool}`, ADD_TOOL);
  const answer = tool === 'SSH' ? await bySsh(context, address, spec, status) : await byLink(x, context, address, tool);
  replyJson(x, 201, answer, { 'cache-control': 'no-store' });
}

interface Answer {
  readonly url: string;
  readonly expirationTime?: string | undefined;
}

async function bySsh(
  context: ServerContext,
  address: Address,
  spec: WorkspaceSpec,
  { connect }: WorkspaceStatus,
): Promise<Answer> {
  const keys = await keysOf(spec, address, membersOf(context.resources));
  if (keys.length === 0) {
    throw refuse('NoSSHKey', `no SSH key may open Workspace "${address.name}"`, { target: ofWorkspace(address) });
  }
  // Refuses unless it runs.
  (await context.commands.stay(address, undefined)).leave();
  if (connect?.ssh === undefined) throw unavailable(address, 'the SSH server of this service is closed', ASK_OPERATOR);
  return { url: `ssh://${sshUser(address)}@${connect.ssh.host ?? ''}` };
}

async function byLink(
  x: Exchange,
  context: ServerContext,
  owner: Address,
  tool: keyof typeof BROWSER_TOOLS,
): Promise<Answer> {
  const word: BrowserTool = BROWSER_TOOLS[tool];
  const { uid, epoch, leave } = await context.commands.stay(owner, undefined);
  leave();
  const program = await programOf(context, { owner, epoch }, word);
  // Programs come and go while it runs: its status is to say what is there now.
  context.onToolLink?.(uid, epoch);
  if (program === undefined) {
    const names = TOOLS[word].programs.map(({ name }) => name);
    const fix = `Use an image that has one of ${names.join(', ')}, or install one inside.`;
    throw unavailable(owner, `its image has none of ${names.join(', ')}`, fix);
  }
  const credential = bearerHash(x.req.headers.authorization);
  if (credential === undefined) throw refuse('Unauthorized', 'no API key in the request');
  const value = context.browserSessions.invite({ owner, uid, epoch, tool: word, program, credential });
  return {
    url: `${toolOrigin(x.base, uid, context.config.toolDomain)}${toolPath(owner, word)}?${LINK}=${value}`,
    expirationTime: rfc3339(context.clock() + LINK_SECONDS * 1_000),
  };
}

/** Name of the program that is the tool in this image. */
async function programOf(
  context: ServerContext,
  where: { readonly owner: Address; readonly epoch: number },
  tool: BrowserTool,
): Promise<string | undefined> {
  const { programs } = TOOLS[tool];
  const { exitCode, said } = await run(context.commands, where, search(programs.map(({ name }) => name)));
  const program = exitCode === 0 ? programs.find(({ name }) => name === said) : undefined;
  if (program?.proof === undefined) return program?.name;
  return (await run(context.commands, where, program.proof)).exitCode === 0 ? program.name : undefined;
}

const ADD_TOOL = 'Add the tool to spec.tools and restart the Workspace.';
const ASK_OPERATOR = 'Use another tool of the Workspace, or ask the operator of this service to open its SSH server.';

function unavailable(address: Address, why: string, fix: string): Error {
  const message = `there is no such tool in Workspace "${address.name}": ${why}`;
  return refuse('WorkspaceToolUnavailable', message, { target: ofWorkspace(address), fix });
}

function ofWorkspace({ kind, name }: Address): { readonly kind: string; readonly name: string } {
  return { kind, name };
}
