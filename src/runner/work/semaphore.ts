/**
 * Lets a few of many tasks run at once, in the order in which they asked. All at once would take the processor from one another, and the first
 * would wait for the last. It also says when no task runs.
 *
 * I10: who waits is bounded by the caller, and so is how long a turn lasts.
 */

export class Semaphore {
  private readonly atOnce: number;
  private taken = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(atOnce: number) {
    this.atOnce = atOnce;
  }

  get idle(): boolean {
    return this.taken === 0;
  }

  /** Resolves when it is its turn, with what gives it back; harmless twice. */
  async take(): Promise<() => void> {
    if (this.taken < this.atOnce) this.taken++;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    let over = false;
    return () => {
      if (over) return;
      over = true;
      const next = this.waiting.shift();
      if (next === undefined) this.taken--;
      else next();
    };
  }
}
