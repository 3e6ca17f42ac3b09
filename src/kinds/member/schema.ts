/** The fields of a Member. Source: decisions on members and roles (the spec does not show them). */
import { z } from 'zod';
import { projectsField } from '../shapes/names.js';
import { ROLES } from '../../api/access/role.js';
import { addIssueOfRepeats, rules } from '../shapes/rules.js';
import { sshPublicKey } from '../shapes/ssh-key.js';

const fields = z.object({
  email: z.email().max(254).describe('Shown as the author of what the member does.'),
  role: z
    .enum(ROLES)
    .default('Developer')
    .describe(
      'Owner: everything. Admin: all but changing billing. Developer: what is in projects. Viewer: reads. Billing: billing, budgets and top-ups.',
    ),
  projects: projectsField.describe('Projects that the member may act in; none named: every project.'),
  sshKeys: z
    .array(sshPublicKey)
    .max(100)
    .optional()
    .describe('Keys that open Workspaces which name none themselves, in projects where the member may use them.'),
});

export const memberSpec = fields.check(
  rules(({ value, issues }) => addIssueOfRepeats(issues, ['sshKeys'], value.sshKeys)),
);

export const memberStatus = z.object({
  observedGeneration: z.int().optional().describe('Generation of the spec that this status reflects.'),
});

export type MemberSpec = z.infer<typeof fields>;
export type MemberStatus = z.infer<typeof memberStatus>;
