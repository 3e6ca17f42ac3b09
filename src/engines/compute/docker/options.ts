/** What the Docker engine is opened with, and what it keeps in its directory: states, outputs and logs of ended work, and which images are private. */
import { join } from 'node:path';
import { openOrgLogs, ORG_LOG_BYTES, type OrgLogs } from '../shared/log/org-logs.js';
import type { EngineLog } from '../shared/log/stored-log.js';
import { FinishedWork } from './finished-work.js';
import { PrivateImages } from './private-images.js';

export interface DockerOptions {
  /** Ends, outputs and logs of work; made when absent. */
  readonly dir: string;
  /** Names the service whose containers these are; the same after every restart. */
  readonly clusterId: string;
  readonly leaseEpoch: number;
  /** As `DOCKER_HOST`; unset: the local daemon's socket. */
  readonly host?: string | undefined;
  /** What stands for images of the catalog. */
  readonly images: Readonly<Record<string, string>>;
  /** `host` or `host:port`: may be at special addresses. */
  readonly registries?: readonly string[] | undefined;
  readonly log?: EngineLog | undefined;
  /** Special addresses that work with a network may reach all the same. */
  readonly egressAllow?: readonly string[] | undefined;
  /** How often the disk of each box is looked at, while that costs little. */
  readonly diskSeconds?: number | undefined;
  /** Bytes that the logs of one org may take, as in `runner/settings.ts`. */
  readonly orgLogBytes?: number | undefined;
}

/** What it keeps in its directory. */
export interface KeptFiles {
  readonly finished: FinishedWork;
  readonly privateImages: PrivateImages;
  readonly orgLogs: OrgLogs;
}

export async function openKeptFiles({ dir, orgLogBytes = ORG_LOG_BYTES, log }: DockerOptions): Promise<KeptFiles> {
  const finished = new FinishedWork(dir);
  await finished.load();
  const privateImages = await PrivateImages.load(join(dir, 'private-images.json'));
  const orgLogs = await openOrgLogs(finished.logs, orgLogBytes, (line) => log?.warn({}, line));
  return { finished, privateImages, orgLogs };
}
