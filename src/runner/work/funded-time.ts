/** How long the service pays for work. Each time that the service sets replaces the one before; work without one has no end. */
import { FUNDING_GRACE_SECONDS, FUNDING_UNKNOWN_MESSAGE } from '../../engines/compute/contract/engine.js';

/** Node's timers take no more (ms). */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class FundedTime {
  private readonly over: () => void;
  private timer: NodeJS.Timeout | undefined;
  private closed = false;

  /** `end` is called when the time is over and the service has set no other. */
  constructor(end: (message: string, graceMs: number) => void) {
    this.over = () => end(FUNDING_UNKNOWN_MESSAGE, FUNDING_GRACE_SECONDS * 1000);
  }

  /** From now on, in ms; undefined: without end. */
  set(ms: number | undefined): void {
    clearTimeout(this.timer);
    this.timer = ms === undefined || this.closed ? undefined : setTimeout(this.over, Math.min(ms, LONGEST_TIMER_MS));
  }

  /** It has ended. */
  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
  }
}
