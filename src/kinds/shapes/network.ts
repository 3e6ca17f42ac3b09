/**
 * What work may reach on the network, and what an engine enforces of it: presets become hosts. Source: spec, "Conventions" 11.
 */
import { z } from 'zod';
import type { PlannedNetwork } from '../work.js';

/**
 * The lists of hosts that `network.egress.presets` names: what a package manager or a hub needs to be used, and no more. An entry is a
 * name or `*.suffix`, in lower case. A list may grow: that changes what work reaches which begins afterwards.
 */
export const NETWORK_PRESETS: ReadonlyMap<string, readonly string[]> = new Map([
  ['alpine', ['dl-cdn.alpinelinux.org']],
  ['conda', ['conda.anaconda.org', 'repo.anaconda.com', 'anaconda.org', 'repo.prefix.dev']],
  ['crates', ['crates.io', 'index.crates.io', 'static.crates.io', 'static.rust-lang.org']],
  ['debian', ['deb.debian.org', 'security.debian.org', 'ftp.debian.org', 'cdn-fastly.deb.debian.org']],
  [
    'docker',
    ['registry-1.docker.io', 'auth.docker.io', 'index.docker.io', 'hub.docker.com', 'production.cloudflare.docker.com'],
  ],
  ['ghcr', ['ghcr.io', 'pkg-containers.githubusercontent.com']],
  [
    'github',
    [
      'github.com',
      'api.github.com',
      'codeload.github.com',
      'uploads.github.com',
      'raw.githubusercontent.com',
      '*.githubusercontent.com',
      'github-cloud.s3.amazonaws.com',
    ],
  ],
  ['gitlab', ['gitlab.com', 'registry.gitlab.com']],
  ['go', ['proxy.golang.org', 'sum.golang.org', 'index.golang.org', 'go.dev', 'dl.google.com']],
  ['huggingface', ['huggingface.co', '*.huggingface.co', 'hf.co', '*.hf.co']],
  ['maven', ['repo.maven.apache.org', 'repo1.maven.org', 'plugins.gradle.org', 'services.gradle.org']],
  ['npm', ['registry.npmjs.org', 'registry.yarnpkg.com', 'nodejs.org']],
  ['pypi', ['pypi.org', 'files.pythonhosted.org', 'pythonhosted.org']],
  ['pytorch', ['download.pytorch.org', 'download-r2.pytorch.org']],
  ['rubygems', ['rubygems.org', 'index.rubygems.org']],
  ['ubuntu', ['archive.ubuntu.com', 'security.ubuntu.com', 'ports.ubuntu.com', '*.archive.ubuntu.com']],
]);

/** Labels of at most 63 characters. The last one is not a number: that would be an IP address. */
const HOST = /^(?:\*\.)?(?:[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?\.)*(?![0-9]+$)[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/i;

const known = [...NETWORK_PRESETS.keys()].join(', ');

/** The field `network` of a spec. */
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

/** What an engine enforces. Unset is Open (decisions, "Small points"). */
export function plannedNetwork(stated: Network | undefined): PlannedNetwork {
  const { policy = 'Open', allow = [], presets = [] } = stated?.egress ?? {};
  if (policy !== 'AllowList') return { egress: policy };
  const hosts = [
    ...allow.map((host) => host.toLowerCase()),
    ...presets.flatMap((name) => NETWORK_PRESETS.get(name) ?? []),
  ];
  return { egress: 'AllowList', hosts: [...new Set(hosts)].toSorted() };
}
