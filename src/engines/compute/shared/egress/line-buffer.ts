/**
 * The lines of one box's log of connections on their way out of the proxy process: many travel in one message, and the next message waits
 * until the one before was taken. Bound (I10): MAX_LINES; what comes while it is full is counted, and the count is a line of its own.
 */
const MAX_LINES = 1_000;

export class LineBuffer {
  /** Resolves when the lines were taken. */
  private readonly send: (lines: readonly string[]) => Promise<void>;
  private lines: string[] = [];
  private dropped = 0;
  private sending: Promise<void> | undefined;

  constructor(send: (lines: readonly string[]) => Promise<void>) {
    this.send = send;
  }

  add(line: string): void {
    if (this.lines.length < MAX_LINES) this.lines.push(line);
    else this.dropped += 1;
    this.sending ??= this.drain();
  }

  /** Resolves when all of it was taken. */
  async empty(): Promise<void> {
    await this.sending;
  }

  private async drain(): Promise<void> {
    // What is added in the same turn travels together.
    await new Promise((turn) => setImmediate(turn));
    while (this.lines.length > 0) {
      const lines = this.lines;
      if (this.dropped > 0) lines.push(`[${this.dropped} more connections are not listed]`);
      this.lines = [];
      this.dropped = 0;
      await this.send(lines);
    }
    this.sending = undefined;
  }
}
