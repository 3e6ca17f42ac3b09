/**
 * The client's consent to a price: the ETag of a dry run, sent back with the create as If-Match. The create is then admitted while the rate
 * has risen by a tenth at most, also after the estimate's validUntil, and is charged at today's rate. A tag binds to nothing else of the
 * estimate, and not to the object's name.
 */
import { canonicalJson } from '../src/api/canonical-json.js';
import type { ApiObject } from '../src/api/object.js';
import type { Refusal } from '../src/api/refusal.js';
import { sha256 } from '../src/api/sha256.js';
import { admitTerms } from '../src/kinds/attempts/terms.js';
import type { PricedWork } from '../src/kinds/priced-work.js';
import type { PriceBook } from '../src/money/price-book.js';
import type { Estimate } from '../src/kinds/shapes/status.js';
import { showUSD, USD } from '../src/money/usd.js';
import type { Estimated, PriceTags } from '../storage/envelope/price-tags.js';

/** Of the rate that the client agreed to. */
const MOST_PERCENT = 110;
const MILLION = 1_000_000;

/** The tag of a rehearsed create; undefined: it has no price, or could not be placed. */
export function tagOf(org: string, object: ApiObject, tags: PriceTags | undefined): string | undefined {
  const priced = pricedOf(object);
  return priced && tags?.issue(org, priced.estimated, priced.rate);
}

export type Consent =
  /** Rates of the estimate and of now (USD per hour). */
  | { readonly outcome: 'Agreed'; readonly agreedUSD: string; readonly nowUSD: string }
  | { readonly outcome: 'Refused'; readonly refusal: Refusal };

/** Refuses a create whose rate the tag does not agree to. */
export function checkConsent(org: string, object: ApiObject, tag: string, tags: PriceTags | undefined): Consent {
  const target = { kind: object.kind, name: object.metadata.name };
  const priced = pricedOf(object);
  const agreed = priced && tags?.rateOf(org, priced.estimated, tag);
  if (priced === undefined || agreed === undefined) {
    return refused({
      code: 'PreconditionFailed',
      message: `If-Match of the create of ${target.kind} "${target.name}" is not the ETag of an estimate of this spec in this organization`,
      fix: 'Send the same spec with dryRun=All, and its ETag as If-Match; or create it without If-Match.',
      target,
    });
  }
  const most = new USD(agreed).times(MOST_PERCENT).dividedBy(100, 'Down');
  if (new USD(priced.rate).lte(most)) return { outcome: 'Agreed', agreedUSD: agreed, nowUSD: priced.rate };
  return refused({
    code: 'PriceConsentRequired',
    message: `the rate of ${target.kind} "${target.name}" is ${priced.rate} USD per hour now; If-Match agrees to ${agreed}, and to ${showUSD(most)} at most`,
    fix: 'Send the spec with dryRun=All again, and its ETag as If-Match once you accept that rate.',
    target,
  });
}

function refused(refusal: Refusal): Consent {
  return { outcome: 'Refused', refusal };
}

/** Up to which rate each part of the work was agreed to, so that what an owner makes later is bound by it as well: the same share of its rate of now. */
export function agreedRates(
  { agreedUSD, nowUSD }: Extract<Consent, { outcome: 'Agreed' }>,
  { parts }: PricedWork,
  prices: PriceBook | undefined,
): readonly string[] {
  const now = new USD(nowUSD);
  const millionths = now.isZero() ? MILLION : new USD(agreedUSD).times((MILLION / 100) * MOST_PERCENT).wholeTimes(now);
  return parts.map(({ amounts }) =>
    new USD(admitTerms(amounts, prices).rateUSDPerHour).times(millionths).dividedBy(MILLION, 'Down').toFixed(),
  );
}

function pricedOf({
  kind,
  spec,
  status,
}: ApiObject): { readonly estimated: Estimated; readonly rate: string } | undefined {
  const { estimate } = (status ?? {}) as { readonly estimate?: Estimate };
  const { offering, regionClass } = estimate?.placementPreview ?? {};
  const rate = estimate?.rateUSDPerHour;
  if (rate === undefined || offering === undefined || regionClass === undefined) return undefined;
  return { estimated: { kind, spec: sha256(canonicalJson(spec)), offering, regionClass }, rate };
}
