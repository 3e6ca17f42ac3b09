/**
 * Fences old services (I3, I8): the highest lease epoch that was seen is kept in the daemon itself, as an empty volume named
 * by it, so that a process which lost its lease is refused also by a daemon that both reach. Orders to a box carry the epoch, too,
 * and its first process refuses lower ones by itself.
 */
import type Docker from 'dockerode';
import { EngineRefusal } from '../shared/refusal.js';
import { asked } from './daemon.js';
import { fenceName, LABEL } from './labels.js';

export class EpochFence {
  private readonly docker: Docker;
  private readonly cluster: string;
  private readonly epoch: number;
  private raised = false;

  constructor(docker: Docker, cluster: string, epoch: number) {
    this.docker = docker;
    this.cluster = cluster;
    this.epoch = epoch;
  }

  /** Throws EngineRefusal `StaleEpoch` when a later process has given orders. Raises the fence to this epoch at its first order. */
  async check(signal: AbortSignal): Promise<void> {
    if (!this.raised) {
      const Labels = { [LABEL.cluster]: this.cluster, [LABEL.fence]: String(this.epoch) };
      const Name = fenceName(this.cluster, this.epoch);
      await asked(signal, () => this.docker.createVolume({ Name, Labels, abortSignal: signal }));
      this.raised = true;
    }
    const seen = await this.seen(signal);
    if (seen.some((epoch) => epoch > this.epoch)) {
      throw new EngineRefusal(
        'StaleEpoch',
        `orders of epoch ${this.epoch} came after those of epoch ${Math.max(...seen)}`,
      );
    }
    const old = seen.filter((epoch) => epoch < this.epoch);
    await Promise.all(
      old.map((epoch) =>
        this.docker
          .getVolume(fenceName(this.cluster, epoch))
          .remove()
          .catch(() => undefined),
      ),
    );
  }

  /** The highest epoch that has given orders; 0 when none has. */
  async highest(signal: AbortSignal): Promise<number> {
    return Math.max(0, ...(await this.seen(signal)));
  }

  private async seen(signal: AbortSignal): Promise<number[]> {
    const filters = { label: [`${LABEL.cluster}=${this.cluster}`, LABEL.fence] };
    const { Volumes } = await asked(signal, () => this.docker.listVolumes({ filters, abortSignal: signal }));
    // Podman takes one of the labels for all of them.
    const ours = (Volumes ?? []).filter(({ Labels }) => Labels?.[LABEL.cluster] === this.cluster);
    return ours.flatMap(({ Labels }) => (Labels?.[LABEL.fence] === undefined ? [] : [Number(Labels[LABEL.fence])]));
  }
}
