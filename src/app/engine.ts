/** Opens the compute engine that `TROUPE_COMPUTE` chooses, with its capacity cut to what the settings allow. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Config } from '../config.js';
import { openDockerEngine } from '../engines/compute/docker/open.js';
import type { ComputeEngine, EngineFacts } from '../engines/compute/contract/engine.js';
import { openNamespacesEngine } from '../engines/compute/embedded/open.js';
import type { Log } from './log.js';

/** Where the program itself lies: work must not see it, wherever that is. */
const PROGRAM_DIR = fileURLToPath(new URL('../../..', import.meta.url));

export async function openEngine(
  config: Config,
  clusterId: string,
  leaseEpoch: number,
  log: Log,
): Promise<ComputeEngine | undefined> {
  switch (config.compute) {
    case 'off':
      return undefined;
    case 'docker': {
      const docker = await openDockerEngine({
        dir: join(config.dataDir, 'docker'),
        clusterId,
        leaseEpoch,
        host: config.dockerHost,
        images: config.dockerImages,
        registries: config.dockerRegistries,
        egressAllow: config.egressAllow,
        orgLogBytes: config.quotaLogBytes,
        log,
      });
      return withCapacity(docker, config);
    }
    case 'auto':
    case 'namespaces': {
      const engine = await openNamespacesEngine({
        runnerDir: config.runnerDir,
        clusterId,
        leaseEpoch,
        log,
        hidden: [config.dataDir, PROGRAM_DIR],
        egressAllow: config.egressAllow,
        runner: { spares: config.spareBoxes, orgLogBytes: config.quotaLogBytes },
      });
      return withCapacity(engine, config);
    }
  }
}

/** The same engine, saying that it has what the settings leave to work. */
function withCapacity(engine: ComputeEngine, config: Config): ComputeEngine {
  const cut = (facts: EngineFacts): EngineFacts => ({
    ...facts,
    milliCpu: config.nodeCpu ?? facts.milliCpu,
    memory: config.nodeMemory ?? facts.memory,
    disk: config.nodeDisk ?? facts.disk,
  });
  return { ...engine, facts: async (signal) => cut(await engine.facts(signal)) };
}
