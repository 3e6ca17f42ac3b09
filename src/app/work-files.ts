/** The files of work on both ways: inputs that are staged for it, and outputs that are taken into the org's blobs. */
import { join } from 'node:path';
import { openInputs, type Inputs } from '../../actors/work/inputs.js';
import type { ActorsDeps } from '../../actors/deps.js';
import type { Blobs } from '../../storage/blobs/blobs.js';
import type { Objects } from '../../storage/store.js';
import { decodeObject } from '../api/encode.js';
import { isFinished, type JobPhase } from '../kinds/job/status.js';
import type { ComputeEngine } from '../engines/compute/contract/engine.js';
import { openDialer } from '../engines/dialer/dialer.js';
import { fetchUrl } from '../engines/fetch/fetch.js';
import { findOutput } from './job-outputs.js';

/** Largest file that an input URL or an output may be. */
const TRANSFER_BYTES = 100 * 2 ** 30;

/** What an earlier leader has staged for work that the engine has stays. */
export async function openWorkInputs(
  blobDir: string,
  engine: Pick<ComputeEngine, 'list'> | undefined,
  blobs: Pick<Blobs, 'linkTo'>,
  objects: Pick<Objects, 'read' | 'slot'>,
  stopping: AbortSignal,
): Promise<Inputs> {
  const dialer = openDialer();
  const inputs = openInputs({
    dir: join(blobDir, 'staged'),
    link: (org, digest, path, project) => blobs.linkTo(org, digest, path, project),
    fetch: (url, to, sha256, signal) => fetchUrl(url, { dialer, to, sha256, limit: TRANSFER_BYTES, signal }),
    async output(job, name, index, uid) {
      // Before its slots are read: what a Job that has ended has not written by then it never writes.
      const owner = await objects.read(job);
      if (uid !== undefined && owner?.uid !== uid) return { found: 'Gone' };
      const output = owner && (await findOutput(objects, job.org, owner.uid, name, index));
      if (output !== undefined) return { found: 'Output', output };
      return { found: owner !== undefined && isFinished(phaseOf(owner.body)) ? 'Never' : 'NotYet' };
    },
  });
  const working = (await engine?.list(stopping)) ?? [];
  await inputs.adopt(new Set(working.map(({ id }) => id)));
  return inputs;
}

function phaseOf(body: Buffer): JobPhase | undefined {
  return decodeObject<unknown, { readonly phase?: JobPhase }>(body).status.phase;
}

export const keepOutput =
  (blobs: Pick<Blobs, 'addFile'>, signal: AbortSignal): ActorsDeps['keepOutput'] =>
  async ({ org, project }, { name, size, logical, directory, file, error }) => {
    if (error !== undefined) return { name, size, directory, sha256: '', error };
    const kept = await blobs.addFile(org, file, { project, limit: TRANSFER_BYTES, signal });
    // The commit that names it keeps it. A day is left for that: by then the report has been handled or is handled again.
    return { name, size: kept.size, logical, directory, sha256: kept.digest };
  };
