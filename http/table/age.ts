/** How a time span is shown in a table cell: the same words as kubectl's own (`HumanDuration`). Pure. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** `5s`, `2m30s`, `90m`, `5h10m`, `3d4h`, `200d`, `2y30d`. Spans below zero are clocks that differ: `0s`. */
export function age(ms: number): string {
  if (ms < -2 * SECOND) return '<invalid>';
  if (ms < 2 * MINUTE) return `${Math.max(0, Math.floor(ms / SECOND))}s`;
  const minutes = Math.floor(ms / MINUTE);
  if (minutes < 10) return join(minutes, 'm', Math.floor(ms / SECOND) % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(ms / HOUR);
  if (hours < 8) return join(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  if (hours < 192) return join(Math.floor(hours / 24), 'd', hours % 24, 'h');
  const days = Math.floor(ms / DAY);
  if (ms < 2 * YEAR) return `${days}d`;
  if (ms < 8 * YEAR) return join(Math.floor(ms / YEAR), 'y', days % 365, 'd');
  return `${Math.floor(ms / YEAR)}y`;
}

function join(big: number, bigUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${big}${bigUnit}` : `${big}${bigUnit}${small}${smallUnit}`;
}
