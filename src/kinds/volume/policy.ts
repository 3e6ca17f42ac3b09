/** Owns the numbers of a Volume. */

/** Revisions that are kept when nothing is said. */
export const DEFAULT_HISTORY = 10;

/** Those who are told when the lease is free. */
export const MOST_WAITING = 32;
