/**
 * The bound of a cache that may hold many small entries (I10). lru-cache makes room for all of `max` at once: those of a service
 * were 15 MB and 50 ms of each start, for entries that most services never have. A bound by size takes room as entries come.
 */

const one = (): number => 1;

/** Options of an LRUCache of at most `count` entries. */
export function atMost(count: number): { readonly maxSize: number; readonly sizeCalculation: () => number } {
  return { maxSize: count, sizeCalculation: one };
}
