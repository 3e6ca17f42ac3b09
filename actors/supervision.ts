/**
 * Decides what happens after a crash: the back-off before the next message, and when an actor is parked. Pure policy and
 * a bounded memory of crashes; the resource actor does what it says.
 *
 * An actor that crashes more than `maxCrashes` times within `windowMs` is parked: a condition of its object shows it,
 * its neighbours go on, and an operator restarts it.
 */

export interface SupervisionSettings {
  /** Crashes within the window after which the next one parks the actor. */
  readonly maxCrashes: number;
  readonly windowMs: number;
  readonly firstBackoffMs: number;
  readonly maxBackoffMs: number;
}

export const SUPERVISION: SupervisionSettings = {
  maxCrashes: 5,
  windowMs: 10 * 60_000,
  firstBackoffMs: 50,
  maxBackoffMs: 5_000,
};

/** What is remembered of an address that crashed. */
export interface CrashRecord {
  readonly times: readonly number[];
  readonly restarts: number;
  /** Class of the last error, such as `TypeError`; never its text, which may carry a secret (I11). */
  readonly errorClass: string;
  readonly parked: boolean;
}

export type Verdict = { readonly verdict: 'Restart'; readonly afterMs: number } | { readonly verdict: 'Park' };

export interface Supervision {
  crashed(key: string, error: unknown, now: number, chance: number): Verdict;
  record(key: string): CrashRecord | undefined;
  isParked(key: string): boolean;
  /** Forgets the address: an operator says "try again", or its object is gone. */
  forgive(key: string): void;
  records(): IterableIterator<[string, CrashRecord]>;
}

/**
 * Addresses whose crashes are remembered. Beyond it the oldest unparked record is forgotten (I10). A parked one stays as
 * long as its object: there are no more of them than objects, which the orgs' quotas bound.
 */
const MAX_RECORDS = 10_000;

export function openSupervision(settings: SupervisionSettings = SUPERVISION): Supervision {
  const records = new Map<string, CrashRecord>();

  function remember(key: string, record: CrashRecord): void {
    records.delete(key);
    records.set(key, record);
    if (records.size <= MAX_RECORDS) return;
    for (const [oldest, { parked }] of records) {
      if (parked) continue;
      records.delete(oldest);
      return;
    }
  }

  return {
    crashed(key, error, now, chance) {
      const earlier = records.get(key);
      const times = [...(earlier?.times ?? []).filter((time) => now - time < settings.windowMs), now];
      const parked = times.length > settings.maxCrashes;
      const errorClass = error instanceof Error ? error.name : typeof error;
      remember(key, { times, restarts: (earlier?.restarts ?? 0) + 1, errorClass, parked });
      if (parked) return { verdict: 'Park' };
      const full = Math.min(settings.maxBackoffMs, settings.firstBackoffMs * 2 ** (times.length - 1));
      return { verdict: 'Restart', afterMs: full / 2 + (full / 2) * chance };
    },
    record: (key) => records.get(key),
    isParked: (key) => records.get(key)?.parked ?? false,
    forgive(key) {
      records.delete(key);
    },
    records: () => records.entries(),
  };
}
