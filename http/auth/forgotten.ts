/**
 * Remembers which objects behind credentials have changed lately, so that a look-up that was under way meanwhile is doubted only if
 * it read one of them: the changes of one org make no look-up of another org doubtful.
 *
 * I10: MOST_REMEMBERED objects. Of a look-up that is older than the oldest of them, everything is taken to have changed.
 */

/** About 150 bytes each. A look-up lasts some milliseconds. */
const MOST_REMEMBERED = 4_096;

export interface Forgotten {
  /** Changes so far: the moment from which `since` counts. */
  count(): number;
  /** The object with this address key has changed. */
  add(key: string): void;
  /** Every object may have changed. */
  addAll(): void;
  /** Whether one of these objects may have changed since then. */
  since(count: number, keys: readonly string[]): boolean;
}

export function openForgotten(most: number = MOST_REMEMBERED): Forgotten {
  /** By address key: the count of its last change. The longest unchanged comes first. */
  const changes = new Map<string, number>();
  let count = 0;
  /** Changes up to this one are not remembered one by one. */
  let cleared = 0;

  /** A quarter at once: a Map that loses its first key at each change is walked past all that it has lost before. */
  function forgetOldest(): void {
    for (const [oldest, at] of changes) {
      if (changes.size <= Math.ceil(most * 0.75)) return;
      changes.delete(oldest);
      cleared = at;
    }
  }

  return {
    count: () => count,
    add(key) {
      changes.delete(key);
      changes.set(key, (count += 1));
      if (changes.size > most) forgetOldest();
    },
    addAll() {
      cleared = count += 1;
      changes.clear();
    },
    since: (before, keys) => before < cleared || keys.some((key) => (changes.get(key) ?? 0) > before),
  };
}
