/**
 * What the outputs of one piece of work may take together: no more than its disk, however many of them name the same files. Sizes are
 * those that a reader sees, holes included. A vital output is always taken: its loss is the loss of what was worked on. Pure.
 */

/** Of the work's disk: an archive of files that cannot be compressed is a little larger than they are. */
const SLACK = 1.1;
/** The same for what is small (bytes). */
const LEAST_SLACK = 1024 * 1024;

export class OutputRoom {
  private left: number;

  /** `disk`: the work's limit, bytes. */
  constructor(disk: number) {
    this.left = Math.max(disk * SLACK, disk + LEAST_SLACK);
  }

  /** Throws when the output does not fit beside those before it. */
  take(path: string, size: number, vital = false): void {
    if (size > this.left && !vital) throw new Error(`${path}: the outputs together are larger than the work's disk`);
    this.left = Math.max(0, this.left - size);
  }
}
