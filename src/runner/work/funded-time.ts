/** The time for which the service has said that work is paid. Each word takes the place of the one before; what nothing was said of has no end. */
import { FUNDING_GRACE_SECONDS, FUNDING_UNKNOWN } from '../../engines/compute/contract/engine.js';

/** Node's timers take no more (ms). */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class FundedTime {
  private readonly over: () => void;
  private timer: NodeJS.Timeout | undefined;
  private closed = false;

  /** `end`: nothing more was said in time. */
  constructor(end: (message: string, graceMs: number) => void) {
    this.over = () => end(FUNDING_UNKNOWN, FUNDING_GRACE_SECONDS * 1000);
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
