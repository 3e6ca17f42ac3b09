/** Owns the step from what a spec says of the network to what an engine enforces: presets become hosts. Pure. */
import type { PlannedNetwork } from '../work.js';
import { NETWORK_PRESETS } from './network-presets.js';
import type { Network } from './network.js';

/** Unset is Open (decisions, "Small points"). */
export function plannedNetwork(network: Network | undefined): PlannedNetwork {
  const { policy = 'Open', allow = [], presets = [] } = network?.egress ?? {};
  if (policy !== 'AllowList') return { egress: policy };
  const hosts = [
    ...allow.map((host) => host.toLowerCase()),
    ...presets.flatMap((name) => NETWORK_PRESETS.get(name) ?? []),
  ];
  return { egress: 'AllowList', hosts: [...new Set(hosts)].toSorted() };
}
