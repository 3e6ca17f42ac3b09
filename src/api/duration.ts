/** Durations as text (`0s`, `15m`, `24h`, `1h30m`, `168h`, `500ms`; spec, "Conventions" 2) and as milliseconds. */

const WHOLE = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/;
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h)/g;

/** For OpenAPI. */
export const DURATION_PATTERN = '^([0-9]+(\\.[0-9]+)?[hm]|[0-9]+(\\.[0-9]{1,3}0*)?s|[0-9]+(\\.0+)?ms)+$';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** 100 years: beyond it a due time leaves what dates and timers can hold. */
export const LONGEST_MS = 876_000 * HOUR;
export const LONGEST = '876000h';

const LONGEST_TEXT = 32;

function unitMs(unit: string): number {
  switch (unit) {
    case 'h':
      return HOUR;
    case 'm':
      return MINUTE;
    case 's':
      return SECOND;
    default:
      return 1;
  }
}

/** Milliseconds of what a client sends: undefined also where a part is no whole number of them, which would be taken for another time. */
export function readDuration(text: string): number | undefined {
  const ms = parseDuration(text);
  if (ms === undefined) return undefined;
  for (const [, amount = '', unit = ''] of text.matchAll(PART)) {
    const [whole = '', fraction = ''] = amount.split('.');
    // Exact: with numbers, 1.1h is no whole number of milliseconds.
    if ((BigInt(whole + fraction) * BigInt(unitMs(unit))) % 10n ** BigInt(fraction.length) !== 0n) return undefined;
  }
  return ms;
}

/** Milliseconds, rounded to whole ones, as they may be stored; undefined for what is no duration or is longer than 100 years. */
export function parseDuration(text: string): number | undefined {
  if (text.length > LONGEST_TEXT || !WHOLE.test(text)) return undefined;
  let ms = 0;
  for (const [, amount, unit] of text.matchAll(PART)) ms += Number(amount) * unitMs(unit ?? '');
  ms = Math.round(ms);
  return ms <= LONGEST_MS ? ms : undefined;
}

/** The shortest text in hours, minutes, seconds and milliseconds: `24h`, `1h30m`, `0s`. Takes whole milliseconds from 0. */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0s';
  const hours = Math.floor(ms / HOUR);
  const minutes = Math.floor((ms % HOUR) / MINUTE);
  const seconds = Math.floor((ms % MINUTE) / SECOND);
  const rest = ms % SECOND;
  return (
    (hours > 0 ? `${hours}h` : '') +
    (minutes > 0 ? `${minutes}m` : '') +
    (seconds > 0 ? `${seconds}s` : '') +
    (rest > 0 ? `${rest}ms` : '')
  );
}
