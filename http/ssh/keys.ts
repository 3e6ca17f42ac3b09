/**
 * Which public keys open a Workspace: those of `spec.sshKeys`, and when it names none, those of the members of the org
 * who may run commands in Workspaces of the project. Source: spec, "Workspace", `sshKeys`.
 */
import type { ParsedKey } from 'ssh2';
import { may, memberGrant } from '../../src/api/access/grant.js';
import type { Address } from '../../src/api/address.js';
import type { MemberSpec } from '../../src/kinds/member/schema.js';
import { readSshKey } from '../../src/kinds/shapes/ssh-key.js';
import type { WorkspaceSpec } from '../../src/kinds/workspace/schema.js';

export type Members = (org: string) => Promise<readonly MemberSpec[]>;

/** Lines as in `authorized_keys`. */
export async function keysOf(
  spec: Pick<WorkspaceSpec, 'sshKeys'>,
  { org, project }: Pick<Address, 'org' | 'project'>,
  members: Members,
): Promise<readonly string[]> {
  if (spec.sshKeys !== undefined && spec.sshKeys.length > 0) return spec.sshKeys;
  const able = (await members(org)).filter((member) => may(memberGrant(member, org), 'workspaces:exec', project));
  return able.flatMap(({ sshKeys }) => sshKeys ?? []);
}

/** The key among the lines that is this one; `blob` is its public half in SSH's binary form. */
export function findKey(lines: readonly string[], blob: Uint8Array): ParsedKey | undefined {
  for (const line of lines) {
    const [, text = ''] = line.split(' ');
    if (!Buffer.from(text, 'base64').equals(blob)) continue;
    const key = readSshKey(line);
    if (key !== undefined) return key;
  }
  return undefined;
}
