/**
 * Watches disks, since most storage drivers cannot bound what a container writes. Where the daemon's files are this machine's and
 * ours to read, they are measured as the embedded engine's are, bytes and number; else the daemon is asked for the bytes now and then, and as
 * it walks the container's files for that, at most a tenth of the time, until a walk takes three seconds: a daemon that is slow must not
 * keep all others from being looked at.
 */
import { access, constants } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { watchDisk } from '../shared/disk-limit.js';
import type { Box } from './box.js';

const SHARE = 10;
/** Longest pause between two rounds (ms). */
const MOST_REST_MS = 30_000;

export class Disks {
  private readonly stop = new AbortController();
  /** Directory of what the container has written; undefined: not to be seen from here. Missing: not known yet. */
  private readonly written = new WeakMap<Box, string | undefined>();
  private readonly looking = new WeakSet<Box>();

  constructor(seconds: number, boxes: () => Iterable<Box>, onFull: (box: Box, what: string) => void) {
    void this.ask(seconds * 1000, boxes, onFull).catch(() => undefined);
    const live = (): Parameters<typeof watchDisk>[0] extends () => infer M ? M : never =>
      [...boxes()].flatMap((box) => {
        if (!box.running) return [];
        void this.look(box);
        const path = this.written.get(box);
        if (path === undefined) return [];
        const exceeded = (what: string): void => onFull(box, what);
        // The daemon alone could tell whether anything ran, for more than a look at the files costs.
        const activity = (): undefined => undefined;
        return [{ work: box, activity, paths: [path], processList: undefined, limit: box.kept.disk, exceeded }];
      });
    void watchDisk(live, seconds, this.stop.signal).catch(() => undefined);
  }

  close(): void {
    this.stop.abort();
  }

  /** By itself, not in the turns below: those are slow where the daemon is, and a box that fills the disk does not wait for them. */
  private async look(box: Box): Promise<void> {
    if (this.written.has(box) || this.looking.has(box)) return;
    this.looking.add(box);
    try {
      this.written.set(box, await writtenDirectory(box));
    } catch {
      // The daemon did not say. It is asked again.
      this.looking.delete(box);
    }
  }

  private async ask(ms: number, boxes: () => Iterable<Box>, onFull: (box: Box, what: string) => void): Promise<void> {
    let took = 0;
    for (;;) {
      await delay(Math.max(ms, Math.min(took * SHARE, MOST_REST_MS)), undefined, {
        signal: this.stop.signal,
        ref: false,
      });
      const began = Date.now();
      for (const box of [...boxes()]) {
        if (!box.running || !this.written.has(box) || this.written.get(box) !== undefined) continue;
        const asking = { size: true, abortSignal: this.stop.signal };
        const info = await box.container.inspect(asking as object).catch(() => undefined);
        const size = (info as { SizeRw?: unknown } | undefined)?.SizeRw;
        if (typeof size !== 'number' || size <= box.kept.disk) continue;
        onFull(box, `take ${size} bytes, more than its limit of ${box.kept.disk}`);
      }
      took = Date.now() - began;
    }
  }
}

/** Rejects with the daemon's errors. */
async function writtenDirectory(box: Box): Promise<string | undefined> {
  const { GraphDriver } = await box.container.inspect();
  const path = (GraphDriver.Data as { UpperDir?: unknown } | null)?.UpperDir;
  if (typeof path !== 'string' || process.getuid?.() !== 0) return undefined;
  return access(path, constants.R_OK).then(
    () => path,
    () => undefined,
  );
}
