/** The text form of moments: RFC 3339 in UTC, from and to milliseconds since the epoch. Reads no clock (I9). */

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))$/;

/** Many writes share a second, and each writes a few: now, an hour on. Full (16), it is begun anew. */
const recent = new Map<number, string>();

/** `2026-01-02T03:04:05Z`: whole seconds, cut and not rounded. */
export function rfc3339(ms: number): string {
  const second = Math.floor(ms / 1000);
  let text = recent.get(second);
  if (text === undefined) {
    text = `${new Date(second * 1000).toISOString().slice(0, 19)}Z`;
    if (recent.size >= 16) recent.clear();
    recent.set(second, text);
  }
  return text;
}

/** `2026-01-02T03:04:05.678Z`, for attempt timings and other places where less than a second matters. */
export function rfc3339Millis(ms: number): string {
  return new Date(ms).toISOString();
}

/** Milliseconds since the epoch (digits below a millisecond are cut), or undefined for what is no RFC 3339 time. */
export function parseTime(text: string): number | undefined {
  const parts = RFC3339.exec(text);
  if (parts === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction, sign, offsetHour, offsetMinute] = parts;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  if (Number(offsetHour ?? 0) > 23 || Number(offsetMinute ?? 0) > 59) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  // A day that the month lacks would roll over into the next one.
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return undefined;
  const millis = fraction === undefined ? 0 : Number(fraction.slice(0, 3).padEnd(3, '0'));
  const local = date.getTime() + ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1000 + millis;
  const offset = (Number(offsetHour ?? 0) * 60 + Number(offsetMinute ?? 0)) * 60_000;
  return sign === '-' ? local + offset : local - offset;
}
