/** How this machine's own capacity reads as an Offering. Pure: amounts come from the engine, prices from the price book. */
import type { ResourceAmounts } from '../amounts.js';
import { formatBytes, formatMilliCpu } from '../../api/quantity.js';
import type { OfferingSpec } from './schema.js';

/** Name of the offering that stands for the embedded engine. */
export const LOCAL_OFFERING = 'cpu-local';
export const LOCAL_REGION = 'local';

/** How long a start takes (ms) from the place to the program: with images to unpack, and from a box that stands ready. */
export const LOCAL_STARTUP = { cold: { p50: 1_000, p90: 5_000 }, warm: { p50: 100, p90: 1_000 } } as const;

/** From the end of the program to the proof that nothing of it is left (ms). */
export const LOCAL_TEARDOWN_MS = 1_000;

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
