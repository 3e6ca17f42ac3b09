/**
 * What requests through one InferenceEndpoint came to in the last 24 hours: by the minute in which it was posted, this minute and the 1,439
 * before it, and the sum, which is kept up to date as minutes come and go. Only minutes with requests take memory. Exact. Not pure but for its owner
 * alone, and without a clock; a minute that is earlier than one seen before counts as that one.
 */
import { showUSD, USD } from '../../src/money/usd.js';
import type { ModelUsage } from '../../src/kinds/object-message.js';

export const MINUTE_MS = 60_000;
const MINUTES = 1_440;

/** What was used. */
export interface Use {
  readonly requests: number;
  readonly errors: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUSD: USD;
}

export interface UsageRing {
  /** `minute`: since the epoch. Older than 24 hours: counts nowhere. */
  add(minute: number, use: Use): void;
  /** Forgets what is older than 24 hours in this minute. */
  advance(minute: number): void;
  /** Of the minutes that count. */
  total(): Omit<ModelUsage, 'openHolds'>;
  /** Minutes in memory. */
  size(): number;
}

interface Minute extends Use {
  readonly minute: number;
}

const NOTHING: Use = { requests: 0, errors: 0, inputTokens: 0, outputTokens: 0, costUSD: new USD(0) };

export function openUsageRing(): UsageRing {
  /** In the order of time. */
  let minutes: Minute[] = [];
  let sum: Use = NOTHING;
  let now = 0;
  /** The sum as it is shown; absent: it has changed. */
  let shown: Omit<ModelUsage, 'openHolds'> | undefined;

  function advance(minute: number): void {
    if (minute <= now) return;
    now = minute;
    let gone = 0;
    for (const one of minutes) {
      if (one.minute > now - MINUTES) break;
      sum = joined(sum, one, -1);
      gone += 1;
    }
    if (gone === 0) return;
    minutes = minutes.slice(gone);
    shown = undefined;
  }

  return {
    add(minute, use) {
      if (minute <= now - MINUTES) return;
      advance(minute);
      // The rows of a start come in any order.
      let place = minutes.length;
      while (place > 0 && (minutes[place - 1]?.minute ?? 0) > minute) place -= 1;
      const before = minutes[place - 1];
      if (before?.minute === minute) minutes[place - 1] = { minute, ...joined(before, use, 1) };
      else minutes.splice(place, 0, { minute, ...joined(NOTHING, use, 1) });
      sum = joined(sum, use, 1);
      shown = undefined;
    },
    advance,
    total() {
      shown ??= { ...sum, costUSD: showUSD(sum.costUSD) };
      return shown;
    },
    size: () => minutes.length,
  };
}

function joined(a: Use, b: Use, sign: 1 | -1): Use {
  return {
    requests: a.requests + sign * b.requests,
    errors: a.errors + sign * b.errors,
    inputTokens: a.inputTokens + sign * b.inputTokens,
    outputTokens: a.outputTokens + sign * b.outputTokens,
    costUSD: sign === 1 ? a.costUSD.plus(b.costUSD) : a.costUSD.minus(b.costUSD),
  };
}
