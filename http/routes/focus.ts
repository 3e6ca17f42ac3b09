/**
 * Entries of the ledger as rows of FOCUS 1.2, the common form of cost data. BilledCost is what was paid for credits, less what was paid
 * back; EffectiveCost is what was spent of them, so its sum is the total of `…/wallet/spend`. ListCost and ContractedCost have what the
 * service covered as well. Pure.
 */
import { BRAND } from '../../src/brand.js';
import { rfc3339 } from '../../src/api/time.js';
import { showUSD, USD, ZERO } from '../../src/money/usd.js';
import type { LedgerEntry } from '../../storage/ledger/entries.js';
import { csvLine } from '../csv.js';

type Cells = (entry: LedgerEntry, org: string) => string;

type Category = 'Usage' | 'Purchase' | 'Credit' | 'Adjustment';

/** Credits that a TopUp has bought have its name (`src/kinds/topup/state.ts`); what is taken back of them was bought. */
function categoryOf({ reason, grant = '' }: LedgerEntry): Category {
  switch (reason) {
    case 'Use':
      return 'Usage';
    case 'Credit':
      return grant.startsWith('topup-') ? 'Purchase' : 'Credit';
    case 'Clawback':
      return 'Purchase';
    default:
      return 'Adjustment';
  }
}

/** What was paid, and paid back: use is paid from credits that were bought or given before. Its sum is what invoices say. */
function billedCost(entry: LedgerEntry): string {
  return showUSD(categoryOf(entry) === 'Purchase' ? new USD(entry.amountUSD) : ZERO);
}

const ASIDE: ReadonlySet<LedgerEntry['reason']> = new Set(['Credit', 'Clawback', 'Expiry']);
const isSpending = ({ reason }: LedgerEntry): boolean => !ASIDE.has(reason);
const nothing = (): string => '';
const provider = (): string => BRAND;

function listCost(entry: LedgerEntry): string {
  return showUSD(isSpending(entry) ? new USD(entry.amountUSD).plus(entry.coveredUSD) : ZERO);
}

/** FOCUS wants one of all use and purchases. Both are priced in dollars here: a posting does not say how many hours it is of. */
function pricingQuantity(entry: LedgerEntry): string {
  switch (categoryOf(entry)) {
    case 'Usage':
      return listCost(entry);
    case 'Purchase':
      return billedCost(entry);
    default:
      return '';
  }
}

/** The first moment of the month in which it counts, and the one behind it. */
function billingPeriod({ period }: LedgerEntry): readonly [start: string, end: string] {
  const [year, month] = [Number(period.slice(0, 4)), Number(period.slice(5, 7))];
  return [rfc3339(Date.UTC(year, month - 1)), rfc3339(Date.UTC(year, month))];
}

/** The day of the posting; of what was posted outside the month in which it counts, that month. */
function chargePeriod(entry: LedgerEntry): readonly [start: string, end: string] {
  if (!rfc3339(entry.time).startsWith(entry.period)) return billingPeriod(entry);
  const day = Date.parse(`${rfc3339(entry.time).slice(0, 10)}T00:00:00Z`);
  return [rfc3339(day), rfc3339(day + 86_400_000)];
}

function description({ reason, segment }: LedgerEntry): string {
  return segment === undefined ? reason : `${reason}: ${segment}`;
}

/** In the order of the columns. */
const COLUMNS: Readonly<Record<string, Cells>> = {
  BilledCost: billedCost,
  EffectiveCost: (entry) => showUSD(isSpending(entry) ? new USD(entry.amountUSD) : ZERO),
  ListCost: listCost,
  ContractedCost: listCost,
  BillingAccountId: (_entry, org) => org,
  BillingAccountName: (_entry, org) => org,
  BillingCurrency: () => 'USD',
  BillingPeriodStart: (entry) => billingPeriod(entry)[0],
  BillingPeriodEnd: (entry) => billingPeriod(entry)[1],
  ChargePeriodStart: (entry) => chargePeriod(entry)[0],
  ChargePeriodEnd: (entry) => chargePeriod(entry)[1],
  ChargeCategory: categoryOf,
  ChargeClass: ({ reason }) => (reason === 'Correction' ? 'Correction' : ''),
  ChargeDescription: description,
  InvoiceIssuerName: provider,
  ProviderName: provider,
  PublisherName: provider,
  PricingQuantity: pricingQuantity,
  PricingUnit: (entry) => (pricingQuantity(entry) === '' ? '' : 'USD'),
  ServiceCategory: ({ reason }) => (reason === 'Use' ? 'Compute' : 'Other'),
  ServiceName: provider,
  ConsumedQuantity: nothing,
  ConsumedUnit: nothing,
  ResourceId: ({ owner, grant = '' }) => owner ?? grant,
  ResourceName: ({ grant = '' }) => grant,
  ResourceType: ({ owner, grant }) => (owner !== undefined ? 'Object' : grant === undefined ? '' : 'CreditGrant'),
  SkuId: nothing,
  SubAccountId: ({ project = '' }) => project,
  SubAccountName: ({ project = '' }) => project,
  Tags: ({ labels }) => (labels === undefined ? '' : JSON.stringify(labels)),
  x_Key: ({ key }) => key,
  x_EntryId: ({ position }) => String(position),
  x_Reason: ({ reason }) => reason,
  x_Segment: ({ segment = '' }) => segment,
  x_CoveredCost: ({ coveredUSD }) => showUSD(new USD(coveredUSD)),
};

export const FOCUS_COLUMNS: readonly string[] = Object.keys(COLUMNS);

export function focusLine(entry: LedgerEntry, org: string): string {
  return csvLine(Object.values(COLUMNS).map((cell) => cell(entry, org)));
}
