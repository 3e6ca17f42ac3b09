/** What a request to a model costs by the price book. Pure and exact. */

/** Tokens of one request, each counted once: those read from a cache or written to it are in no other count. */
export interface Usage {
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** Written to a cache for longer than five minutes. */
  readonly longCacheWriteTokens: number;
  /** Reasoning included. */
  readonly outputTokens: number;
}
