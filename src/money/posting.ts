/**
 * The shapes of double entry. A posting is a set of lines that add up to zero, under a key that is used once (I7).
 * Amounts are exact decimal strings in USD.
 */

/** One line of a posting. Positive adds to the account, negative takes from it. */
export interface Line {
  readonly account: string;
  readonly amountUSD: string;
}

export interface Posting {
  /** Unique within the org: a repeat of the same key is recognised and not posted again. */
  readonly key: string;
  readonly reason: string;
  readonly lines: readonly Line[];
}

/** Money set aside on every account that it names, all at once or not at all. */
export interface Hold {
  /** Unique within the org. */
  readonly key: string;
  readonly amountUSD: string;
  readonly accounts: readonly string[];
}

/** What binds an account from this commit on. An account that nobody has set has no limit. */
export interface AccountSetting {
  readonly account: string;
  /** Block: a hold that would pass the limit is refused. Observe: nothing is refused. */
  readonly policy: 'Block' | 'Observe';
  /** Absent: no limit. */
  readonly limitUSD?: string | undefined;
}
