/** Numbers of tokens as upstreams report them. */

/** More than any request has. */
const MOST_REPORTED = 1e9;

export function isTokenCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MOST_REPORTED;
}

/** A count that may be left out: then it is `otherwise`. Undefined: nonsense. */
export function countOr<T>(value: unknown, otherwise: T): number | T | undefined {
  if (value === undefined || value === null) return otherwise;
  return isTokenCount(value) ? value : undefined;
}
