/**
 * What an answer in Anthropic's dialect has used. `input_tokens` leave those out that are read from a cache or written to it. What a stream reports is
 * a sum so far: a newer report replaces what it names.
 */
import { isObject } from '../../../../api/safe-value.js';
import { type Usage, ZERO_USAGE } from '../../../../money/model-prices.js';
import { countOr } from '../numbers.js';

/** Of a whole answer. Undefined: there is none, or it is nonsense. */
export function usageOf(usage: unknown): Usage | undefined {
  if (!isObject(usage) || typeof usage['input_tokens'] !== 'number' || typeof usage['output_tokens'] !== 'number') {
    return undefined;
  }
  return newerUsage(ZERO_USAGE, usage);
}

/** `known` with what this report names; undefined: the report is nonsense, or names nothing. */
export function newerUsage(known: Usage, report: unknown): Usage | undefined {
  if (!isObject(report)) return undefined;
  const { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens, cache_creation } = report;
  if (typeof input_tokens !== 'number' && typeof output_tokens !== 'number') return undefined;
  // A sum does not shrink: some servers say 0 of what they have reported before.
  const counted = countOr(input_tokens, known.inputTokens);
  const input = counted === 0 ? known.inputTokens : counted;
  const output = countOr(output_tokens, known.outputTokens);
  const read = countOr(cache_read_input_tokens, known.cacheReadTokens);
  const written = countOr(cache_creation_input_tokens, null);
  const writes = written === undefined ? undefined : writesOf(known, written, cache_creation);
  if (input === undefined || output === undefined || read === undefined || writes === undefined) return undefined;
  return { inputTokens: input, cacheReadTokens: read, outputTokens: output, ...writes };
}

type Writes = Pick<Usage, 'cacheWriteTokens' | 'longCacheWriteTokens'>;

/**
 * `split`: how many of the written tokens last five minutes and how many an hour. A report without it keeps the long ones that are known, since the
 * total never shrinks.
 */
function writesOf(known: Writes, written: number | null, split: unknown): Writes | undefined {
  if (isObject(split)) {
    const short = countOr(split['ephemeral_5m_input_tokens'], 0);
    const long = countOr(split['ephemeral_1h_input_tokens'], 0);
    if (short === undefined || long === undefined) return undefined;
    // What the split leaves out was still written.
    return { cacheWriteTokens: Math.max(short, (written ?? 0) - long), longCacheWriteTokens: long };
  }
  if (written === null) {
    return { cacheWriteTokens: known.cacheWriteTokens, longCacheWriteTokens: known.longCacheWriteTokens };
  }
  const long = Math.min(known.longCacheWriteTokens, written);
  return { cacheWriteTokens: written - long, longCacheWriteTokens: long };
}
