/**
 * Serves `GET …/wallet/runway`: how long what is available lasts, at the faster of two rates: that of the last 24 hours, and that of all that
 * bills now. What is held is not counted: it pays for work that runs already.
 */
import type { Caller } from '../../actors/resource-service.js';
import { longSpan, YEAR_MS } from '../../src/api/span.js';
import { rfc3339 } from '../../src/api/time.js';
import { showUSD, USD, ZERO } from '../../src/money/usd.js';
import type { WalletFigures } from '../../storage/ledger/reads.js';
import type { SpendRate } from '../../storage/ledger/spend.js';
import { requireScope } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import { replyJson } from '../reply.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import type { ServerContext } from '../server-context.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export async function serveRunway(x: Exchange, context: ServerContext, caller: Caller): Promise<void> {
  if (x.method !== 'GET') throw methodNotAllowed(x, ['GET']);
  x.verb = 'get';
  requireScope(caller, 'billing:read', '');
  const { ledger, deadlines } = context;
  const [wallet, rate] = await Promise.all([
    ledger.wallet(caller.org),
    ledger.spend.rate(caller.org, deadlines.current()),
  ]);
  const availableUSD = USD.max(ZERO, wallet.balanceUSD.minus(wallet.heldUSD));
  replyJson(
    x,
    200,
    {
      mode: wallet.mode,
      availableUSD: showUSD(availableUSD),
      heldUSD: showUSD(wallet.heldUSD),
      rateUSDPerHour: showUSD(rate.perHourUSD),
      spentLast24hUSD: showUSD(rate.lastDayUSD),
      spentLast7dUSD: showUSD(rate.lastWeekUSD),
      ...runwayOf(wallet.mode, availableUSD, rate, context.clock()),
    },
    { 'cache-control': 'no-cache, private' },
  );
}

export interface Runway {
  /** RFC 3339; absent: nothing limits, nothing is spent, or it lasts for more than a year. */
  readonly emptyTime?: string | undefined;
  readonly message: string;
}

/** Pure. `now` in ms. */
export function runwayOf(
  mode: WalletFigures['mode'],
  availableUSD: USD,
  { perHourUSD, lastDayUSD }: Pick<SpendRate, 'perHourUSD' | 'lastDayUSD'>,
  now: number,
): Runway {
  if (mode === 'Unlimited') return { message: 'the wallet limits nothing: it is Unlimited, and only Budgets bind' };
  if (availableUSD.isZero())
    return { emptyTime: rfc3339(now), message: 'empty: nothing is available for new work until credits are added' };
  const byDay = lasting(availableUSD, lastDayUSD, DAY_MS);
  const byNow = lasting(availableUSD, perHourUSD, HOUR_MS);
  const ms = Math.min(byDay, byNow);
  if (ms === Infinity) return { message: 'not emptied: nothing bills now, and nothing was spent in the last 24 hours' };
  const rate = byDay <= byNow ? 'the rate of the last 24 hours' : 'the rate of what bills now';
  return {
    ...(ms <= YEAR_MS && { emptyTime: rfc3339(now + ms) }),
    message: ms > YEAR_MS ? `lasts for more than a year at ${rate}` : `empty in ${longSpan(ms)} at ${rate}`,
  };
}

/** How long it lasts when so much is spent in each `period`, in whole ms. */
function lasting(available: USD, spent: USD, period: number): number {
  return spent.lte(ZERO) ? Infinity : available.times(period).wholeTimes(spent);
}
