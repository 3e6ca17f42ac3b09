/**
 * Rate limit headers of Anthropic's dialect: `anthropic-ratelimit-requests-remaining: 59`, with times in RFC 3339. Tokens are limited as one sum here:
 * those of input and of output have the same headers.
 */
import type { LimitLeft, LimitState } from '../dialect.js';

export function limitHeaders({ requests, tokens }: LimitState, now: number): Readonly<Record<string, string>> {
  const units = [['requests', requests] as const, ...TOKENS.map((unit) => [unit, tokens] as const)];
  return Object.assign({}, ...units.map(([unit, left]) => headersOf(unit, left, now))) as Record<string, string>;
}

const TOKENS = ['tokens', 'input-tokens', 'output-tokens'] as const;

function headersOf(unit: string, left: LimitLeft | undefined, now: number): Record<string, string> {
  if (left === undefined) return {};
  const reset = Math.ceil((now + Math.max(0, left.resetMs)) / 1_000) * 1_000;
  return {
    [`anthropic-ratelimit-${unit}-limit`]: String(Math.floor(left.limit)),
    [`anthropic-ratelimit-${unit}-remaining`]: String(Math.max(0, Math.floor(left.remaining))),
    [`anthropic-ratelimit-${unit}-reset`]: new Date(reset).toISOString().replace('.000Z', 'Z'),
  };
}
