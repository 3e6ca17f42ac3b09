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
          'What may be reached, by HTTP, CONNECT and SOCKS5 through the proxy that the environment names. Deny: nothing. AllowList: the names of allow and presets, on any port. Open (default): every public name and address. Private and other special addresses never are.',
        ),
      allow: z
        .array(z.string().max(253).regex(HOST, 'must be a DNS name or *.suffix, for example pypi.org or *.example.org'))
        .max(128)
        .optional()
        .describe(
          'DNS names or *.suffix patterns; with policy AllowList only. *.example.org is every name below example.org, however deep, and not example.org itself.',
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
    .describe('Connections from the work to the outside.'),
});

export type Network = z.infer<typeof network>;
