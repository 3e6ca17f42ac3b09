/** What an org may buy: so many purchases at once and so much in a day, so that a stolen key does not empty a card. */
import { parseTime } from '../../api/time.js';
import type { ApiObject } from '../../api/object.js';
import { showUSD, USD, ZERO } from '../../money/usd.js';
import type { OrgRule } from '../rule.js';
import type { TopUpSpec, TopUpStatus } from './schema.js';

export const MOST_OPEN = 5;
export const MOST_DAILY_USD = '10000.00';
const DAY_MS = 86_400_000;

type TopUp = ApiObject<TopUpSpec, TopUpStatus>;

export const topUpRule: OrgRule = async ({ before, after, byService = false }, view) => {
  if (before !== undefined || after === undefined) return undefined;
  const { metadata, spec } = after as TopUp;
  const target = { kind: 'TopUp', name: metadata.name };
  if (spec.origin === 'AutoRecharge' && !byService) {
    const message =
      'customers make Checkout ones only; the service makes the others when the wallet recharges by itself';
    return {
      code: 'Invalid',
      target,
      message: `TopUp "${metadata.name}" is invalid: spec.origin: ${message}`,
      causes: [{ field: 'spec.origin', reason: 'FieldValueNotSupported', message }],
    };
  }
  const now = createdAt(metadata.creationTimestamp);
  let open = 0;
  let daily = new USD(spec.amountUSD);
  let frees = now;
  for await (const object of view.list('TopUp')) {
    const other = object as TopUp;
    // A repeat of its create is refused because of its name, not because of itself.
    if (other.metadata.name === metadata.name) continue;
    const { phase } = other.status;
    if (phase === 'Queued' || phase === 'Running') open += 1;
    const created = createdAt(other.metadata.creationTimestamp);
    if (phase === 'Failed' || created <= now - DAY_MS) continue;
    daily = daily.plus(other.spec.amountUSD);
    frees = Math.min(frees, created);
  }
  // Of those that the service makes one is open at a time.
  if (open >= MOST_OPEN && !byService)
    return {
      code: 'TopUpLimitReached',
      target,
      message: `${open} TopUps wait for their payment, and at most ${MOST_OPEN} may`,
      fix: 'Pay one of them at its status.checkoutURL (one that was opened at another processor cannot be paid any more), or wait: an unpaid one expires an hour after it was made, and one with reason PaymentPending ends when its bank has settled.',
    };
  if (daily.gt(MOST_DAILY_USD))
    return {
      code: 'TopUpLimitReached',
      target,
      message: `with this one ${showUSD(daily)} USD would be bought within 24 hours, and at most ${MOST_DAILY_USD} may`,
      fix: `Ask for less (${showUSD(USD.max(ZERO, new USD(MOST_DAILY_USD).minus(daily.minus(spec.amountUSD))))} USD are left), or try again after ${new Date(frees + DAY_MS).toISOString()}.`,
    };
  return undefined;
};

function createdAt(time: string): number {
  return parseTime(time) ?? 0;
}
