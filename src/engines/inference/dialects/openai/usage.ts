/**
 * What an answer in OpenAI's dialect has used. `prompt_tokens` contain those read from a cache and written to it, and `completion_tokens`
 * contain reasoning; here each token is counted once.
 */
import { isObject } from '../../../../api/safe-value.js';
import type { Usage } from '../../../../money/model-prices.js';
import { countOr, isTokenCount } from '../numbers.js';

/** Undefined: there is none, or it is nonsense. */
export function usageOf(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined;
  const prompt = usage['prompt_tokens'];
  if (!isTokenCount(prompt)) return undefined;
  const details = isObject(usage['prompt_tokens_details']) ? usage['prompt_tokens_details'] : {};
  // The second and third are DeepSeek's and Moonshot's names for it.
  const read = countOr(details['cached_tokens'] ?? usage['prompt_cache_hit_tokens'] ?? usage['cached_tokens'], 0);
  const written = countOr(details['cache_write_tokens'], 0);
  const output = outputOf(usage, prompt);
  if (read === undefined || written === undefined || output === undefined || read > prompt) return undefined;
  const cacheWriteTokens = Math.min(written, prompt - read);
  return {
    inputTokens: prompt - read - cacheWriteTokens,
    cacheReadTokens: read,
    cacheWriteTokens,
    longCacheWriteTokens: 0,
    outputTokens: output,
  };
}

/**
 * Some servers leave reasoning out of `completion_tokens` and have it in `total_tokens`; embeddings have no completion. So what is in the total
 * and not in the prompt was generated.
 */
function outputOf(usage: Readonly<Record<string, unknown>>, prompt: number): number | undefined {
  const total = countOr(usage['total_tokens'], null);
  const completion = countOr(usage['completion_tokens'], null);
  if (total === undefined || completion === undefined) return undefined;
  if (total === null) return completion ?? undefined;
  return completion === null && total < prompt ? undefined : Math.max(completion ?? 0, total - prompt);
}
