/**
 * Measures how much the machine's processors are wanted: the share of the time between two looks in which some program waited for one, by the
 * kernel's own account (pressure stall information). Where the kernel keeps none, nobody waits as far as is known.
 */
import { readFileSync } from 'node:fs';

const FILE = '/proc/pressure/cpu';

export class CpuPressure {
  private readonly file: string;
  /** Microseconds in which a program waited, and when that was read (ms). */
  private before: { readonly waited: number; readonly at: number } | undefined;

  constructor(file: string = FILE) {
    this.file = file;
  }

  /** 0 to 1; 0 at the first look. */
  since(now: number): number {
    const waited = this.read();
    const { before } = this;
    this.before = waited === undefined ? undefined : { waited, at: now };
    if (waited === undefined || before === undefined || now <= before.at) return 0;
    return Math.min(1, (waited - before.waited) / 1_000 / (now - before.at));
  }

  private read(): number | undefined {
    try {
      // In the kernel's memory: nothing waits for a disk.
      const total = /^some .*total=(\d+)/m.exec(readFileSync(this.file, 'utf8'))?.[1];
      return total === undefined ? undefined : Number(total);
    } catch {
      return undefined;
    }
  }
}
