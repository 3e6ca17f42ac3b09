/**
 * Predicts the version at which the next transaction begins, so that its statements need not wait for the clock row. Only a guess:
 * each transaction takes the row itself, under its lock (I4), and does its work again where the guess was wrong.
 */

export interface VersionPrediction {
  /** Version that the next transaction, of so many commits, finds before its own. */
  predict(count: number): number;
  /** The clock says this, unless another transaction is under way. */
  found(version: number): void;
}

/** Each transaction begins where the one that began before it ends, if both go as most do. */
export function openVersionPrediction(head: number): VersionPrediction {
  let next = head;
  return {
    predict(count) {
      const version = next;
      next += count;
      return version;
    },
    found(version) {
      next = version;
    },
  };
}
