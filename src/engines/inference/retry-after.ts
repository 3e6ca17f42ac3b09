/** What `retry-after` says: seconds, or a date. Pure. */

/** Milliseconds from `now`, never below zero; undefined: it says nothing that can be read. */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (/^\d{1,9}(\.\d{1,9})?$/.test(text)) return Math.ceil(Number(text) * 1000);
  // A date has letters; what has none and is no number of seconds would be read as a year.
  const at = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
