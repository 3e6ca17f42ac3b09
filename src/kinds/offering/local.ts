/** How this machine's own capacity reads as an Offering. Pure: amounts come from the engine, prices are free until there is money. */
import type { ResourceAmounts } from '../amounts.js';
import { formatBytes, formatMilliCpu } from '../../api/quantity.js';
import type { OfferingSpec } from './schema.js';

/** Name of the offering that stands for the embedded engine. */
export const LOCAL_OFFERING = 'cpu-local';
export const LOCAL_REGION = 'local';

export function localOfferingSpec(capacity: ResourceAmounts): OfferingSpec {
  return {
    category: 'CPU',
    count: 0,
    host: {
      cpu: formatMilliCpu(capacity.milliCpu),
      memory: formatBytes(capacity.memory),
      disk: formatBytes(capacity.disk),
    },
    interruptible: false,
    multiNode: false,
    regionClass: LOCAL_REGION,
    supports: { gangs: false, jobs: true, restrictedEgress: true, sandboxes: true, workspaces: true },
  };
}
