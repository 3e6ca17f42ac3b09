/**
 * The terms that work is admitted at, and the annotation that carries them from an owner to its Attempts. A Job takes them when it is
 * created and keeps them; a Sandbox or Workspace, whose resources may change, takes them anew at each start. So no change of prices
 * touches what was admitted before it.
 */
import { formatDuration, parseDuration } from '../../api/duration.js';
import { API_GROUP } from '../../brand.js';
import { FREE_BOOK, type PriceBook } from '../../money/price-book.js';
import { termsOf } from '../../money/pricing.js';
import { RESERVE_MS, UNIT_MS, type Terms } from '../../money/terms.js';
import type { ResourceAmounts } from '../amounts.js';
import { LOCAL_OFFERING } from '../offering/local.js';

export interface AdmittedTerms extends Terms {
  readonly offering: string;
  readonly pricebookVersion: string;
}

/** `amounts`: what the work may use, which is what it pays for: the amounts that it asks for, else the defaults (`limitsOf`). */
export function admitTerms(amounts: ResourceAmounts, prices: PriceBook = FREE_BOOK): AdmittedTerms {
  const terms = termsOf(prices, LOCAL_OFFERING, amounts);
  return { ...terms, offering: LOCAL_OFFERING, pricebookVersion: prices.version };
}

/** Most work asks for what other work has asked for, and every create is admitted at terms. Full: forgotten at once (I10). */
const MOST_KNOWN = 256;
const known = new WeakMap<PriceBook, Map<string, string>>();

/** What `showTerms` writes of what `admitTerms` gives. */
export function showAdmitted(amounts: ResourceAmounts, prices: PriceBook = FREE_BOOK): string {
  const of = known.get(prices) ?? new Map<string, string>();
  known.set(prices, of);
  const key = `${amounts.milliCpu}/${amounts.memory}`;
  let found = of.get(key);
  if (found === undefined) {
    found = showTerms(admitTerms(amounts, prices));
    if (of.size >= MOST_KNOWN) of.clear();
    of.set(key, found);
  }
  return found;
}

/** `pricebook=2026-01,offering=cpu-local,rate=0.011,increment=1s,minimum=0.00`; `unit` and `reserve` where they are not the default. */
export function showTerms({ pricebookVersion, offering, ...terms }: AdmittedTerms): string {
  const { rateUSDPerHour: rate, incrementMs, minimumUSD, unitMs, reserveMs } = terms;
  const increment = formatDuration(incrementMs);
  const unit = unitMs === UNIT_MS ? '' : `,unit=${formatDuration(unitMs)}`;
  const reserve = reserveMs === RESERVE_MS ? '' : `,reserve=${formatDuration(reserveMs)}`;
  return `pricebook=${pricebookVersion},offering=${offering},rate=${rate},increment=${increment},minimum=${minimumUSD}${unit}${reserve}`;
}

const TERMS = `${API_GROUP}/terms`;

export function termsAnnotations(terms: string): Readonly<Record<string, string>> {
  return { [TERMS]: terms };
}

/** Undefined: the Attempt was made before there were prices, and is free. */
export function readTerms(annotations: Readonly<Record<string, string>> | undefined): AdmittedTerms | undefined {
  const text = annotations?.[TERMS];
  return text === undefined ? undefined : parseTerms(text);
}

/** What `showTerms` has written. */
export function parseTerms(text: string): AdmittedTerms {
  const parts = new Map(
    text.split(',').map((part) => [part.slice(0, part.indexOf('=')), part.slice(part.indexOf('=') + 1)]),
  );
  return {
    offering: parts.get('offering') ?? LOCAL_OFFERING,
    pricebookVersion: parts.get('pricebook') ?? '',
    rateUSDPerHour: parts.get('rate') ?? '0.00',
    incrementMs: parseDuration(parts.get('increment') ?? '') ?? 1000,
    minimumUSD: parts.get('minimum') ?? '0.00',
    unitMs: parseDuration(parts.get('unit') ?? '') ?? UNIT_MS,
    reserveMs: parseDuration(parts.get('reserve') ?? '') ?? RESERVE_MS,
  };
}
