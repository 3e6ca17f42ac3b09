/** Rows of the ledger as the pure book has them, and back. Amounts are text on the way, so that none loses a digit. */
import type { Counter, Grant } from '../../src/money/book.js';
import { amountOfHold, type Hold, type Segment } from '../../src/money/hold.js';
import type { StandingBudget } from '../../src/money/limits.js';
import { renewAt } from '../../src/money/renewal.js';
import { readUSD, USD, ZERO } from '../../src/money/usd.js';
import { CURRENT_FORMAT, upcast } from '../formats.js';

/** Columns of a counter, in the order of `CounterRow`. Numerics arrive as text. */
export const COUNTER_COLUMNS =
  'c.org, c.counter, c.spent_usd, c.held_usd, c.opening_usd, c.holders, c.boot_usd, c.running_usd, c.restore_usd, c.teardown_usd, c.covered';

export type CounterRow = [
  org: string,
  counter: string,
  spent: string,
  held: string,
  opening: string,
  holders: number,
  boot: string,
  running: string,
  restore: string,
  teardown: string,
  covered: Segment[],
];

export function counterOf([
  ,
  counter,
  spent,
  held,
  opening,
  holders,
  boot,
  running,
  restore,
  teardown,
  covered,
]: CounterRow): Counter {
  return {
    ...{ counter, holders, covered, spentUSD: readUSD(spent), heldUSD: readUSD(held), openingUSD: readUSD(opening) },
    segments: {
      Boot: readUSD(boot),
      Running: readUSD(running),
      Restore: readUSD(restore),
      Teardown: readUSD(teardown),
    },
  };
}

/** What has changed: added to the row, so that nothing that was not read is overwritten. What is undefined has not. */
export function counterChange(org: string, before: Counter, after: Counter): Record<string, unknown> {
  const holders = after.holders - before.holders;
  return {
    org,
    counter: after.counter,
    holders: holders === 0 ? undefined : holders,
    covered: after.covered === before.covered ? undefined : after.covered,
    spent: difference(after.spentUSD, before.spentUSD),
    held: difference(after.heldUSD, before.heldUSD),
    opening: difference(after.openingUSD, before.openingUSD),
    boot: difference(after.segments.Boot, before.segments.Boot),
    running: difference(after.segments.Running, before.segments.Running),
    restore: difference(after.segments.Restore, before.segments.Restore),
    teardown: difference(after.segments.Teardown, before.segments.Teardown),
  };
}

function difference(is: USD = ZERO, was: USD = ZERO): string | undefined {
  return is === was || is.eq(was) ? undefined : is.minus(was).toFixed();
}

export type GrantRow = [org: string, uid: string, amount: string, remaining: string, expires: number | null];

export function grantOf([, uid, amount, remaining, expires]: GrantRow): Grant {
  return { uid, amountUSD: new USD(amount), remainingUSD: new USD(remaining), expires: expires ?? undefined };
}

/** Columns of a Budget, in the order of `BudgetRow`. */
export const BUDGET_COLUMNS =
  'b.org, b.uid, b.name, b.limit_usd, b.action, b.period, b.project, b.selector, b.thresholds, b.made';

export type BudgetRow = [
  org: string,
  uid: string,
  name: string,
  limit: string,
  action: StandingBudget['action'],
  period: StandingBudget['period'],
  project: string | null,
  selector: string | null,
  thresholds: number[],
  made: number,
];

export function budgetOf([
  ,
  uid,
  name,
  limitUSD,
  action,
  period,
  project,
  selector,
  thresholds,
  made,
]: BudgetRow): StandingBudget {
  const scope = { project: project ?? undefined, selector: selector ?? undefined };
  return { uid, name, limitUSD, action, period, thresholds, made, ...scope };
}

export function holdOf(format: number, body: string): Hold {
  return upcast('holds', format, JSON.parse(body));
}

export function holdRow(org: string, hold: Hold, now: number): Record<string, unknown> {
  return {
    ...{ org, key: hold.key, uid: hold.owner.uid, format: CURRENT_FORMAT.holds, body: hold },
    counters: hold.parts.map(({ counter }) => counter),
    amount: amountOfHold(hold).toFixed(),
    renew_at: renewAt(hold, now) ?? null,
    refused_by: hold.refusal?.counter ?? null,
  };
}
