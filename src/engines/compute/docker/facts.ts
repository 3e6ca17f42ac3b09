/** What the daemon says of its machine and of what it can enforce. */
import { statfs } from 'node:fs/promises';
import type Docker from 'dockerode';
import type { EngineFacts } from '../contract/engine.js';
import { wordsOf } from './daemon.js';

/** Left to the daemon and the service, of memory and disk. */
const RESERVE = 0.1;

interface Info {
  readonly NCPU: number;
  readonly MemTotal: number;
  readonly DockerRootDir?: string;
  readonly SecurityOptions?: readonly string[];
  readonly MemoryLimit?: boolean;
  readonly CpuCfsQuota?: boolean;
  readonly PidsLimit?: boolean;
  readonly DefaultRuntime?: string;
  readonly OSType?: string;
}

/** Never throws: a daemon that cannot be reached is a refusal. `dir` stands for the daemon's disk where that is not to be seen. */
export async function factsOf(docker: Docker, dir: string): Promise<EngineFacts & { readonly podman: boolean }> {
  const none = { cpu: false, memory: false, pids: false, disk: false };
  try {
    const [info, version] = await Promise.all([docker.info() as Promise<Info>, docker.version()]);
    const disk = await statfs(info.DockerRootDir ?? dir).catch(() => statfs(dir));
    const security = (info.SecurityOptions ?? []).map((option) => /name=(\w+)/.exec(option)?.[1] ?? option);
    const podman = (version.Components ?? []).some(({ Name }) => Name.startsWith('Podman'));
    return {
      name: 'docker',
      isolation: [podman ? 'podman' : 'docker', info.DefaultRuntime ?? 'runc', ...security].join(' '),
      milliCpu: info.NCPU * 1000,
      memory: Math.floor(info.MemTotal * (1 - RESERVE)),
      disk: Math.floor(disk.bavail * disk.bsize * (1 - RESERVE)),
      enforced: {
        cpu: info.CpuCfsQuota === true,
        memory: info.MemoryLimit === true,
        pids: info.PidsLimit === true,
        // Watched, not refused at the first byte too many: work that writes more is ended within seconds.
        disk: true,
      },
      ...(info.OSType === 'windows' ? { refusal: 'the daemon runs containers of Windows' } : {}),
      podman,
    };
  } catch (error) {
    const refusal = `the Docker daemon cannot be reached: ${wordsOf(error)}`;
    return {
      name: 'docker',
      isolation: 'docker',
      milliCpu: 0,
      memory: 0,
      disk: 0,
      enforced: none,
      refusal,
      podman: false,
    };
  }
}
