/** The labels and names by which the engine finds its own among a daemon's containers and volumes. They hold no secrets (I11). */
import { createHash } from 'node:crypto';
import type { WorkNetwork } from '../contract/engine.js';

const BASE = 'dev.troupe';

export const LABEL = {
  /** Whose it is: the service's cluster id. */
  cluster: `${BASE}.cluster`,
  /** Id of the work. */
  work: `${BASE}.work`,
  /** Lease epoch of the process that gave the order. */
  epoch: `${BASE}.epoch`,
  /** `JSON` of what of the order is needed to go on with it (`Kept`). */
  kept: `${BASE}.kept`,
  /** Volumes that stand for a lease epoch which was seen. */
  fence: `${BASE}.fence`,
  runtime: `${BASE}.kit`,
} as const;

/** What of an order outlives the service in a label: neither commands nor environment. */
export interface Kept {
  readonly id: string;
  readonly enterable: boolean;
  readonly network?: WorkNetwork | undefined;
  readonly preparedAt: number;
  readonly outputs: readonly { readonly name: string; readonly path: string; readonly vital?: boolean | undefined }[];
  /** Bytes. */
  readonly disk: number;
  readonly logBytes: number;
  /** Whose logs they are; absent in what an older program made. */
  readonly org?: string | undefined;
}

/** Ids are plain, but may be longer or more than the daemon takes. */
export function containerName(cluster: string, id: string): string {
  const hash = createHash('sha256').update(`${cluster}\0${id}`).digest('hex').slice(0, 12);
  return `troupe-${id.replaceAll(/[^a-zA-Z0-9_.-]/g, '_').slice(0, 80)}-${hash}`;
}

export function fenceName(cluster: string, epoch: number): string {
  return `troupe-epoch-${createHash('sha256').update(cluster).digest('hex').slice(0, 12)}-${epoch}`;
}
