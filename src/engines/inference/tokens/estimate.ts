/** A number of tokens for text that nobody has counted. Pure. */

/** Three bytes each, somewhat more than most tokenizers make of prose. */
export function estimateTokens(bytes: number): number {
  return Math.ceil(bytes / 3);
}
