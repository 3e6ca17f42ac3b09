/** Owns what work may reach on the network. Source: spec, "Conventions" 11. */
import { z } from 'zod';

const HOST = /^(?:\*\.)?(?:[a-z0-9](?:[-a-z0-9]*[a-z0-9])?\.)*[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/i;

export const network = z.object({
  egress: z
    .object({
      policy: z.enum(['Deny', 'AllowList', 'Open']).optional().describe('What may be reached.'),
      allow: z
        .array(z.string().max(253).regex(HOST, 'must be a DNS name or *.suffix'))
        .max(128)
        .optional()
        .describe('DNS names or *.suffix patterns; with policy AllowList only.'),
      presets: z.array(z.string().min(1)).optional().describe('Curated lists of hosts.'),
    })
    .refine((egress) => egress.allow === undefined || egress.allow.length === 0 || egress.policy === 'AllowList', {
      path: ['allow'],
      message: 'is for policy AllowList only',
    })
    .optional()
    .describe('Connections from the work to the outside.'),
});

export type Network = z.infer<typeof network>;
