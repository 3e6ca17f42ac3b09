/**
 * How a Workspace is reached from outside: its user name at the SSH server, the paths of its tools, and what
 * `status.connect` says of both. Pure; the public endpoints are an argument. Source: spec, "Workspace", `status.connect`.
 *
 * The user name is `<workspace>.<project>`, and for an org other than the bootstrap one `<workspace>.<project>+<org>`.
 * The name of a Workspace may hold dots, a project's and an org's may not, and none of them a plus: so each text names one
 * Workspace at most.
 */
import { BOOTSTRAP_ORG } from '../../api/access/role.js';
import type { Address } from '../../api/address.js';
import { checkLabelName, checkSubdomainName } from '../../api/names.js';
import { BRAND } from '../../brand.js';
import type { PublicEndpoints } from '../machine.js';
import type { BrowserTool } from './browser-tools.js';
import type { WorkspaceSpec, WorkspaceStatus } from './schema.js';

/** Home directory inside; the tools start there. */
export const HOME = `/home/${BRAND}`;

export type WorkspaceName = Pick<Address, 'org' | 'project' | 'name'>;

export function sshUser({ org, project, name }: WorkspaceName): string {
  return `${name}.${project}${org === BOOTSTRAP_ORG ? '' : `+${org}`}`;
}

/** Undefined: it can be the name of none. */
export function readSshUser(user: string): WorkspaceName | undefined {
  const plus = user.indexOf('+');
  const org = plus < 0 ? BOOTSTRAP_ORG : user.slice(plus + 1);
  const place = plus < 0 ? user : user.slice(0, plus);
  const dot = place.lastIndexOf('.');
  if (dot < 0) return undefined;
  const [name, project] = [place.slice(0, dot), place.slice(dot + 1)];
  const complaint = checkSubdomainName(name) ?? checkLabelName(project) ?? checkLabelName(org);
  // Written in one way only.
  return complaint === undefined && sshUser({ org, project, name }) === user ? { org, project, name } : undefined;
}

/** Path of a tool at the HTTP server, with its slash. */
export function toolPath({ org, project, name }: WorkspaceName, tool: BrowserTool): string {
  return `/tools/${org}/${project}/${name}/${tool}/`;
}

/**
 * Where its tools are shown. `base`: the HTTP server's, which is theirs as well unless there is a `domain`: then each Workspace
 * has a name of its own below that, by its uid, so that a later namesake does not inherit what pages have left in a browser.
 */
export function toolOrigin(base: string, uid: string, domain: string | undefined): string {
  if (domain === undefined || !URL.canParse(base)) return base;
  const origin = new URL(base);
  origin.hostname = toolHost(uid, domain);
  return origin.origin;
}

export function toolHost(uid: string, domain: string): string {
  return `${uid}.${domain}`;
}

/** `status.connect` of a Workspace that runs. Undefined `endpoints`: they are not known. */
export function connectOf(
  where: WorkspaceName & { readonly uid: string },
  tools: WorkspaceSpec['tools'],
  endpoints: Omit<PublicEndpoints, 'pages'> | undefined,
): WorkspaceStatus['connect'] {
  if (endpoints === undefined) return undefined;
  const { ssh } = endpoints;
  const origin = toolOrigin(endpoints.base, where.uid, endpoints.toolDomain);
  return {
    ...(tools.includes('Jupyter') ? { jupyter: { url: origin + toolPath(where, 'jupyter') } } : {}),
    ...(tools.includes('VSCode') ? { vscode: { url: origin + toolPath(where, 'vscode') } } : {}),
    ...(tools.includes('SSH') && ssh
      ? {
          ssh: {
            command: `ssh -p ${ssh.port} ${sshUser(where)}@${ssh.host}`,
            host: `${ssh.host}:${ssh.port}`,
            hostKey: ssh.hostKey,
          },
        }
      : {}),
  };
}
