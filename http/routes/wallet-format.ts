/** The form in which the client wants a part of the wallet: by `format`, or else by Accept. */
import { badParameter } from '../bad-parameter.js';
import type { Exchange } from '../exchange.js';

export function wantsCsv(x: Exchange): boolean {
  return formatOf(x, ['csv', 'json']) === 'csv';
}

/** `formats`: those that the route has, `json` among them. */
export function formatOf<Format extends string>(x: Exchange, formats: readonly Format[]): Format | 'csv' | 'json' {
  const asked = x.query.get('format') || undefined;
  if (asked === undefined) return /^\s*text\/csv\b/i.test(x.req.headers.accept ?? '') ? 'csv' : 'json';
  const format = formats.find((one) => one === asked);
  if (format !== undefined) return format;
  throw badParameter(
    'format',
    asked,
    `must be ${formats.join(' or ')}`,
    `Ask for ${formats.map((one) => `format=${one}`).join(' or ')}, or leave it out.`,
  );
}
