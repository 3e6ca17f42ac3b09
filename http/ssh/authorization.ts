/**
 * Who may log in by SSH, read from the Workspace that the user name names. A name that is none, a Workspace that is
 * not there or has no SSH among its tools, and a wrong key are told apart by nobody outside.
 */
import type { Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import type { ApiObject } from '../../src/api/object.js';
import { readSshUser } from '../../src/kinds/workspace/connect.js';
import type { WorkspaceSpec, WorkspaceStatus } from '../../src/kinds/workspace/schema.js';
import type { SshPrincipal, SshAuthorization, SshAccess } from './deps.js';
import { findKey, keysOf, type Members } from './keys.js';
import type { ParsedKey } from 'ssh2';

export interface AuthorizationDeps {
  /** Stamped bytes; sees every acknowledged write. */
  read(address: Address): Promise<Buffer | undefined>;
  readonly members: Members;
}

type Inhabited = WorkspaceStatus & { readonly attempt?: { readonly epoch?: number | undefined } | undefined };
type Workspace = ApiObject<WorkspaceSpec, Inhabited>;

export function openAuthorization({ read, members }: AuthorizationDeps): SshAuthorization {
  async function find(owner: Address): Promise<Workspace | undefined> {
    const body = await read(owner);
    const found = body && decodeObject<WorkspaceSpec, Inhabited>(body);
    return found?.spec.tools.includes('SSH') ? found : undefined;
  }

  async function match({ spec }: Workspace, owner: Address, key: Uint8Array): Promise<ParsedKey | undefined> {
    return findKey(await keysOf(spec, owner, members), key);
  }

  return {
    async admit(user, key) {
      const name = readSshUser(user);
      if (name === undefined) return undefined;
      const owner: Address = { ...name, kind: 'Workspace' };
      const found = await find(owner);
      const parsed = found && (await match(found, owner, key));
      if (found === undefined || parsed === undefined) return undefined;
      return { principal: { owner, uid: found.metadata.uid, key, epoch: epochOf(found) }, key: parsed };
    },

    async standing(principal): Promise<SshAccess> {
      const { owner, uid, key } = principal;
      const found = await find(owner);
      if (found?.metadata.uid !== uid) {
        return { standing: 'Unwelcome', message: `Workspace "${owner.name}" has gone, or has no SSH any more` };
      }
      if ((await match(found, owner, key)) === undefined) {
        return { standing: 'Unwelcome', message: `this key does not open Workspace "${owner.name}" any more` };
      }
      const message = obstacle(found, principal);
      return message === undefined ? { standing: 'Welcome' } : { standing: 'NotRunning', message };
    },
  };
}

function epochOf({ status }: Workspace): number | undefined {
  return status.phase === 'Running' ? status.attempt?.epoch : undefined;
}

function obstacle(found: Workspace, { epoch }: SshPrincipal): string | undefined {
  const { phase } = found.status;
  const name = `Workspace "${found.metadata.name}"`;
  const present = epochOf(found);
  if (present !== undefined) {
    // I8: what runs now is not what this connection came to.
    return present === epoch ? undefined : `${name} has been started anew; connect again`;
  }
  if (phase === undefined || phase === 'Pending' || phase === 'Starting') {
    return `WorkspaceStarting: ${name} is ${phase ?? 'Pending'}; try again in a moment`;
  }
  return `${name} is ${phase}; set its spec.state to Running to start it`;
}
