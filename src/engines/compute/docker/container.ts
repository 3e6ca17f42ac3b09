/**
 * What a container is made with: everything that stands between the work and the machine, in one place. Nothing of the order's
 * environment, commands or secrets is here (I11): they travel to the box's first process, which runs them.
 */
import type { ContainerCreateOptions, MountSettings } from 'dockerode';
import { API_DIRECTORY } from '../../../brand.js';
import type { WorkSpec } from '../contract/engine.js';
import { processesOfBox, type ProcessRoom } from '../shared/process-share.js';
import { BOX_RUNTIME_DIR } from './box-program.js';
import { BOX_RUNTIME_COMMAND } from './box-runtime-volume.js';
import { LABEL, type Kept } from './labels.js';

/** The box's first process, beside the work's own. */
const AROUND = 1;
/** In memory; what it holds counts against the work's memory. */
const SHM_SHARE = 2;
const MiB = 2 ** 20;
const LOG_FILES = 4;

export function containerOf(
  spec: WorkSpec,
  about: {
    readonly name: string;
    readonly cluster: string;
    readonly epoch: number;
    readonly runtimeVolume: string;
    readonly kept: Kept;
    /** What the daemon can bound; it refuses an order for what it cannot. */
    readonly enforced: Readonly<Record<'cpu' | 'memory' | 'pids', boolean>>;
    readonly room: ProcessRoom;
    readonly isPodman: boolean;
  },
): ContainerCreateOptions {
  const { limits } = spec;
  const { enforced, kept, room } = about;
  const shown = (Source: string, Target: string): MountSettings => ({ Type: 'bind', Source, Target, ReadOnly: true });
  const Mounts: MountSettings[] = [
    { Type: 'volume', Source: about.runtimeVolume, Target: BOX_RUNTIME_DIR, ReadOnly: true },
  ];
  if (spec.apiDirectory !== undefined) Mounts.push(shown(spec.apiDirectory, API_DIRECTORY));
  // Base64 of what is kept of main, and as much again for the others.
  const logFile = Math.max(2 * MiB, Math.ceil((limits.logBytes * 3) / LOG_FILES));
  const secrets = [...spec.secretFiles.values()].reduce((sum, bytes) => sum + bytes.length + 4096, MiB);
  return {
    name: about.name,
    Image: spec.image,
    // Whatever the image would start: commands of work are always given.
    Entrypoint: [...BOX_RUNTIME_COMMAND],
    Cmd: ['hold'],
    Env: [],
    User: '0:0',
    WorkingDir: '/',
    Hostname: 'work',
    Tty: false,
    OpenStdin: true,
    StdinOnce: false,
    StopSignal: 'SIGTERM',
    Healthcheck: { Test: ['NONE'] },
    Labels: {
      [LABEL.cluster]: about.cluster,
      [LABEL.work]: spec.id,
      [LABEL.epoch]: String(about.epoch),
      [LABEL.kept]: JSON.stringify(kept),
    },
    HostConfig: {
      // No network but an own loopback, on which the proxy listens from outside where there is one (`egress-proxies.ts`).
      NetworkMode: 'none',
      IpcMode: 'private',
      // No UsernsMode: the daemon's own choice, and a user namespace where it has one.
      CapDrop: ['ALL'],
      // The daemon's default seccomp profile and AppArmor stay on, as nothing here turns them off.
      SecurityOpt: ['no-new-privileges'],
      Privileged: false,
      PublishAllPorts: false,
      RestartPolicy: { Name: 'no' },
      AutoRemove: false,
      // The box's first process reaps.
      Init: false,
      Tmpfs: { '/run/secrets': `rw,noexec,nosuid,nodev,mode=0700,size=${secrets}` },
      Mounts,
      ShmSize: Math.floor(limits.memory / SHM_SHARE),
      LogConfig: logConfig(about.isPodman, logFile),
      ...(enforced.memory ? { Memory: limits.memory, MemorySwap: limits.memory } : {}),
      ...(enforced.cpu ? { NanoCpus: limits.milliCpu * 1_000_000 } : {}),
      ...(enforced.pids ? { PidsLimit: processesOfBox(limits, AROUND, room) } : {}),
    },
  };
}

/** Podman knows another name of the driver that keeps bytes as they are. */
function logConfig(isPodman: boolean, bytes: number): { Type: string; Config: Record<string, string> } {
  const size = `${Math.ceil(bytes / MiB)}m`;
  if (isPodman) return { Type: 'k8s-file', Config: { 'max-size': size } };
  return { Type: 'local', Config: { 'max-size': size, 'max-file': String(LOG_FILES), compress: 'false' } };
}
