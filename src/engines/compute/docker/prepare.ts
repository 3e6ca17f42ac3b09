/**
 * Makes a box from an order, until its first process has the whole of it: image → container → inputs → order → start.
 * Whatever makes that impossible for good is a StartFailed; what a later try may mend (the daemon is away) is thrown.
 */
import { pack } from 'tar-stream';
import type Docker from 'dockerode';
import type { Container } from 'dockerode';
import type { WorkSpec } from '../contract/engine.js';
import { faultOfFiles, type FaultReason } from '../../../kinds/attempt/faults.js';
import type { ProcessRoom } from '../shared/process-share.js';
import { EngineRefusal } from '../shared/refusal.js';
import type { Box } from './box.js';
import { containerOf } from './container.js';
import { isTaken, removeContainer, statusOf, orAbort, wordsOf } from './daemon.js';
import { findImage, type ImageDeps } from './images.js';
import { giveInputs, isConnection } from './inputs.js';
import { fillBoxRuntimeVolume, makeBoxRuntimeVolume, type BoxRuntimeVolume } from './box-runtime-volume.js';
import type { Kept } from './labels.js';
import { orderLines } from './order-lines.js';

export interface Workshop {
  readonly docker: Docker;
  readonly cluster: string;
  readonly epoch: number;
  readonly images: ImageDeps;
  enforced(signal: AbortSignal): Promise<Readonly<Record<'cpu' | 'memory' | 'pids', boolean>>>;
  isPodman(signal: AbortSignal): Promise<boolean>;
  /** What all boxes of the daemon's machine may have of process ids. */
  room(signal: AbortSignal): Promise<ProcessRoom>;
  /** Throws an Error that says why the work cannot have the network that it asks for. */
  openWayOut(box: Box): Promise<void>;
  makeBox(container: Container, kept: Kept): Box;
}

export type Made =
  | { readonly outcome: 'Box'; readonly box: Box }
  | { readonly outcome: 'Failed'; readonly reason: FaultReason; readonly message: string };

export class Preparer {
  private readonly shop: Workshop;
  private runtime: Promise<BoxRuntimeVolume> | undefined;

  constructor(shop: Workshop) {
    this.shop = shop;
  }

  async make(spec: WorkSpec, name: string, kept: Kept, signal: AbortSignal): Promise<Made> {
    const { cluster, epoch, images } = this.shop;
    const wish = { name: spec.image, pin: spec.imageDigest, logins: spec.registryLogins };
    const image = await findImage(wish, images, signal);
    if (image.outcome === 'Missing') return { outcome: 'Failed', reason: image.reason, message: image.message };
    const [runtime, enforced, isPodman, room] = await Promise.all([
      this.filledKit(image.id, signal),
      this.shop.enforced(signal),
      this.shop.isPodman(signal),
      this.shop.room(signal),
    ]);
    const about = { name, cluster, epoch, runtimeVolume: runtime.volume, kept, enforced, isPodman, room };
    const options = containerOf({ ...spec, image: image.id }, about);
    const container = await this.create(options, name, signal);
    const broken = async (reason: FaultReason, message: string): Promise<Made> => {
      await removeContainer(container).catch(() => undefined);
      return { outcome: 'Failed', reason, message };
    };
    let unrestored: string | undefined;
    try {
      if (isPodman) await openRoot(container, signal);
      unrestored = await giveInputs(container, spec, signal);
    } catch (error) {
      signal.throwIfAborted();
      const cause = (error as Error).cause ?? error;
      if (statusOf(cause) === undefined && isConnection(cause)) throw error;
      return broken(faultOfFiles(error, 'InputFailed'), (error as Error).message.slice(0, 500));
    }
    signal.throwIfAborted();
    const box = this.shop.makeBox(container, kept);
    if (unrestored !== undefined) box.noteUnrestored(unrestored);
    try {
      // In this order: a pipe takes little before it is read. A box that gets no order ends by itself.
      await box.listen();
      await container.start({ abortSignal: signal });
      box.follow();
      await this.shop.openWayOut(box);
      await box.control.send(orderLines(spec, epoch, image.env));
    } catch (error) {
      // Half an order is none: it is asked again.
      const gone = removeContainer(container).catch(() => undefined);
      await Promise.all([box.forget(), gone]);
      if (statusOf(error) === undefined && (error instanceof EngineRefusal || isConnection(error))) throw error;
      return broken(faultOfFiles(error, 'SandboxFailed'), wordsOf(error).slice(0, 500));
    }
    return { outcome: 'Box', box };
  }

  /** A container of this name that never got its order, of a service that died, is made again. */
  private async create(options: ReturnType<typeof containerOf>, name: string, signal: AbortSignal): Promise<Container> {
    const { docker } = this.shop;
    try {
      return await docker.createContainer({ ...options, abortSignal: signal });
    } catch (error) {
      if (!isTaken(error)) throw error;
      const old = docker.getContainer(name);
      // The caller that asks for it again knows what was ordered; this one was made by a service that died, or is just going.
      await removeContainer(old);
      return docker.createContainer({ ...options, abortSignal: signal });
    }
  }

  private async filledKit(image: string, signal: AbortSignal): Promise<BoxRuntimeVolume> {
    this.runtime ??= (async () => {
      const runtime = await makeBoxRuntimeVolume();
      await fillBoxRuntimeVolume(this.shop.docker, runtime, image);
      return runtime;
    })();
    const { runtime } = this;
    runtime.catch(() => {
      if (this.runtime === runtime) this.runtime = undefined;
    });
    return orAbort(runtime, signal);
  }
}

/** Podman closes the root directory to its owner, too, who has no capability here to go past that. */
async function openRoot(container: Container, signal: AbortSignal): Promise<void> {
  const archive = pack();
  archive.entry({ name: './', type: 'directory', mode: 0o755, uid: 0, gid: 0 });
  archive.finalize();
  await container.putArchive(archive as unknown as NodeJS.ReadableStream, { path: '/', abortSignal: signal });
}
