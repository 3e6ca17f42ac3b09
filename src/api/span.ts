/** Long times as people say them, in one unit and cut to whole ones: how long money lasts. Pure. */

const UNITS = [
  { short: 'd', long: 'day', ms: 86_400_000 },
  { short: 'h', long: 'hour', ms: 3_600_000 },
  { short: 'm', long: 'minute', ms: 60_000 },
] as const;

/** What is longer is not told apart. */
export const YEAR_MS = 365 * 86_400_000;

/** `3d`, `5h`, `12m`; `<1m`, `>1y`. */
export function shortSpan(ms: number): string {
  if (ms > YEAR_MS) return '>1y';
  const unit = UNITS.find((one) => ms >= one.ms);
  return unit === undefined ? '<1m' : `${Math.floor(ms / unit.ms)}${unit.short}`;
}

/** `3 days`, `1 hour`; `less than a minute`, `more than a year`. */
export function longSpan(ms: number): string {
  if (ms > YEAR_MS) return 'more than a year';
  const unit = UNITS.find((one) => ms >= one.ms);
  if (unit === undefined) return 'less than a minute';
  const count = Math.floor(ms / unit.ms);
  return `${count} ${unit.long}${count === 1 ? '' : 's'}`;
}
