/** What limits spending: Budgets, caps of objects, and the wallet of an org that pays in advance. */

export interface BudgetLimit {
  readonly uid: string;
  readonly name: string;
  readonly limitUSD: string;
  /** Block: a hold that would pass the limit is refused. Notify: it counts, and refuses nothing. */
  readonly action: 'Block' | 'Notify';
  /** Monthly: by UTC month. Total: since it was made. */
  readonly period: 'Monthly' | 'Total';
  /** Absent: every project. */
  readonly project?: string | undefined;
  /** Label selector in the grammar of Kubernetes. Absent: all labels. */
  readonly selector?: string | undefined;
  /** Percents of the limit. */
  readonly thresholds: readonly number[];
}

/** A Budget in the book. Times are ms on Postgres's clock. */
export interface StandingBudget extends BudgetLimit {
  readonly made: number;
  /** Holds of before are to be renewed: they have no part on it, or more than it has now. Known only of one that was changed just now. */
  readonly rebindAt?: number | undefined;
}

/** `maxCostUSD` of an object. */
export interface CostLimit {
  readonly uid: string;
  readonly limitUSD: string;
}

/** Unlimited: charges are unbilled and the wallet refuses nothing. Prepaid: what is held has to be in the wallet. */
export type WalletMode = 'Unlimited' | 'Prepaid';
