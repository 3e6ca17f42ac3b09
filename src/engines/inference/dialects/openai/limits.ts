/** Rate limit headers of OpenAI's dialect: `x-ratelimit-remaining-requests: 59`, `x-ratelimit-reset-tokens: 6m0s`. */
import type { LimitLeft, LimitState } from '../dialect.js';

export function limitHeaders({ requests, tokens }: LimitState): Readonly<Record<string, string>> {
  return { ...headersOf('requests', requests), ...headersOf('tokens', tokens) };
}

function headersOf(unit: string, left: LimitLeft | undefined): Record<string, string> {
  if (left === undefined) return {};
  return {
    [`x-ratelimit-limit-${unit}`]: String(Math.floor(left.limit)),
    [`x-ratelimit-remaining-${unit}`]: String(Math.max(0, Math.floor(left.remaining))),
    [`x-ratelimit-reset-${unit}`]: showTime(left.resetMs),
  };
}

/** `120ms`, `1.5s`, `6m0s`, `1h0m0s`. */
export function showTime(ms: number): string {
  const whole = Math.max(0, Math.ceil(ms));
  if (whole === 0) return '0s';
  if (whole < 1_000) return `${whole}ms`;
  const seconds = `${(whole % 60_000) / 1_000}s`;
  const minutes = Math.floor(whole / 60_000);
  if (minutes === 0) return seconds;
  return minutes < 60 ? `${minutes}m${seconds}` : `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds}`;
}
