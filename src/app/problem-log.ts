/**
 * Writes problems into the log, the same one once in `QUIET_MS`: what tries again twice a second while Redis is away would hide everything else.
 * The next line of it says how many were left out.
 *
 * I10: `MOST_KNOWN` problems are remembered; one that is forgotten is written again.
 */
const QUIET_MS = 10_000;
const MOST_KNOWN = 256;

export interface ProblemLog {
  warn(fields: { readonly message: string; readonly leftOut?: number }, text: string): void;
}

/** `now` in ms. */
export function openProblemLog(log: ProblemLog, now: () => number): (part: string, message: string) => void {
  /** The one that was written longest ago first. */
  const known = new Map<string, { readonly at: number; leftOut: number }>();
  return (part, message) => {
    const key = `${part}\n${message}`;
    const before = known.get(key);
    const time = now();
    if (before !== undefined && time - before.at < QUIET_MS) {
      before.leftOut += 1;
      return;
    }
    known.delete(key);
    known.set(key, { at: time, leftOut: 0 });
    const [oldest] = known.keys();
    if (known.size > MOST_KNOWN && oldest !== undefined) known.delete(oldest);
    const leftOut = before?.leftOut ?? 0;
    log.warn({ message, ...(leftOut > 0 && { leftOut }) }, `a problem of ${part}`);
  };
}
