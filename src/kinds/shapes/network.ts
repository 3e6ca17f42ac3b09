/** Owns what work may reach on the network. Source: spec, "Conventions" 11. */
import { z } from 'zod';
import { NETWORK_PRESETS } from './network-presets.js';

/** Labels of at most 63 characters. The last one is not a number: that would be an IP address. */
const HOST = /^(?:\*\.)?(?:[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?\.)*(?![0-9]+$)[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/i;

const known = [...NETWORK_PRESETS.keys()].join(', ');

export const network = z.object({
  egress: z
    .object({
      policy: z
        .enum(['Deny', 'AllowList', 'Open'])
        .optional()
        .describe(
          'Outbound policy. All outbound traffic goes through the egress proxy (HTTP, CONNECT, SOCKS5) that the environment names. Deny: nothing is allowed. AllowList: the hosts of allow and presets, on any port. Open (default): every public host and address. Private and other special addresses are always blocked.',
        ),
      allow: z
        .array(z.string().max(253).regex(HOST, 'must be a DNS name or *.suffix, for example pypi.org or *.example.org'))
        .max(128)
        .optional()
        .describe(
          'DNS names or *.suffix patterns; with policy AllowList only. *.example.org matches every name below example.org at any depth, but not example.org itself.',
        ),
      presets: z
        .array(z.string().refine((name) => NETWORK_PRESETS.has(name), { message: `must be one of ${known}` }))
        .max(NETWORK_PRESETS.size)
        .optional()
        .describe(`Curated lists of hosts, with policy AllowList only: ${known}.`),
    })
    .refine((egress) => egress.allow === undefined || egress.allow.length === 0 || egress.policy === 'AllowList', {
      path: ['allow'],
      message: 'may only be set with policy AllowList',
    })
    .refine((egress) => egress.presets === undefined || egress.presets.length === 0 || egress.policy === 'AllowList', {
      path: ['presets'],
      message: 'may only be set with policy AllowList',
    })
    .optional()
    .describe('Outbound connections.'),
});

export type Network = z.infer<typeof network>;
