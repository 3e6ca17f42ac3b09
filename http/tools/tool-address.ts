/**
 * Where a browser tool is: which Workspace and tool a request means by its path, and the one place (host and path) at which a visit
 * counts. With `toolDomain` each Workspace has a host of its own and is served nowhere else; without, all share the service's.
 * Pure.
 */
import type { Address } from '../../src/api/address.js';
import { checkLabelName, checkSubdomainName } from '../../src/api/names.js';
import { CATALOG_ORG } from '../../src/brand.js';
import { BROWSER_TOOLS, type BrowserTool } from '../../src/kinds/workspace/browser-tools.js';
import { toolHost, toolPath } from '../../src/kinds/workspace/connect.js';
import type { BrowserSession } from './browser-sessions.js';

const ROOT = '/tools/';

export function isTool(path: string): boolean {
  return path.startsWith(ROOT);
}

export interface ToolAddress {
  readonly owner: Address;
  readonly tool: BrowserTool;
  /** With a slash at its end. */
  readonly path: string;
  /** Of the request, behind it; begins with a slash. */
  readonly behind: string;
}

/** Undefined: it is the path of none. Not decoded: names need no escapes. */
export function readToolAddress(path: string): ToolAddress | undefined {
  const [org = '', project = '', name = '', word = '', ...rest] = path.slice(ROOT.length).split('/');
  const tool = Object.values(BROWSER_TOOLS).find((each) => each === word);
  const complaint = checkLabelName(org) ?? checkLabelName(project) ?? checkSubdomainName(name);
  if (tool === undefined || rest.length === 0 || complaint !== undefined || org === CATALOG_ORG) return undefined;
  const owner = { org, kind: 'Workspace', project, name };
  return { owner, tool, path: toolPath(owner, tool), behind: `/${rest.join('/')}` };
}

/** Below which path every tool of this Workspace is. */
export function homeOf(owner: Address): string {
  return toolPath(owner, 'jupyter').slice(0, -'jupyter/'.length);
}

/** Where a visit counts. */
export function toolAddressOf({ owner, uid, tool }: BrowserSession, toolDomain: string | undefined): string {
  return (toolDomain === undefined ? '' : toolHost(uid, toolDomain)) + toolPath(owner, tool);
}

/** Where a request has come to, to compare it. `host`: its header. */
export function toolAddressAsked(host: string, { path }: ToolAddress, toolDomain: string | undefined): string {
  return (toolDomain === undefined ? '' : host.replace(/:\d*$/, '').toLowerCase()) + path;
}
