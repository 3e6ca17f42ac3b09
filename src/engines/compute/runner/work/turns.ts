/**
 * Owns how many boxes are being made at once: beyond AT_ONCE they only take the processor from one another, and who came first
 * would wait for who came last. Also tells when none is being made.
 *
 * I10: who waits is bounded by the work that may live; a turn lasts no longer than the making of a box may.
 */

const AT_ONCE = 8;

export class Turns {
  private taken = 0;
  private readonly waiting: (() => void)[] = [];

  get idle(): boolean {
    return this.taken === 0;
  }

  /** Resolves when it is its turn, with what gives it back; harmless twice. */
  async take(): Promise<() => void> {
    if (this.taken < AT_ONCE) this.taken++;
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
