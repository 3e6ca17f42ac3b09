/** The consent to a price: what the tag of an estimate admits. */
import test from 'ava';
import { checkConsent, tagOf } from '../../actors/price-consent.js';
import type { Refusal } from '../../src/api/refusal.js';
import type { ApiObject } from '../../src/api/object.js';
import { masterKey, masterKeys } from '../../storage/envelope/master-key.js';
import { priceTags } from '../../storage/envelope/price-tags.js';

const tags = priceTags(masterKeys(masterKey(Buffer.alloc(32, 1))));

function priced(rateUSDPerHour: string, spec: object = { a: 1, b: { c: 2, d: 3 } }, placed = true): ApiObject {
  const metadata = { name: 'one', uid: 'u', generation: 1, creationTimestamp: '2026-01-01T00:00:00Z' };
  const placementPreview = placed ? { offering: 'cpu-local', regionClass: 'local' } : {};
  const status = { estimate: { rateUSDPerHour, placementPreview, validUntil: '2000-01-01T00:00:00Z' } };
  return { apiVersion: 'v1', kind: 'Job', metadata, spec, status };
}

function refusalOf(
  object: ApiObject,
  tag: string,
  org = 'o',
  by: readonly (typeof tags)[] = [tags],
): Refusal | undefined {
  const consent = checkConsent(org, object, tag, by[0]);
  return consent.outcome === 'Refused' ? consent.refusal : undefined;
}

const codeOf = (object: ApiObject, tag: string, org = 'o'): string | undefined => refusalOf(object, tag, org)?.code;

test('a create is admitted while the rate has risen by a tenth at most, however old the estimate is', (t) => {
  const tag = tagOf('o', priced('0.10'), tags) ?? '';
  for (const rate of ['0.10', '0.00', '0.11']) t.is(codeOf(priced(rate), tag), undefined, rate);
  t.is(codeOf(priced('0.110000001'), tag), 'PriceConsentRequired');
  t.regex(
    refusalOf(priced('0.20'), tag)?.message ?? '',
    /is 0\.20 USD per hour now; If-Match agrees to 0\.10, and to 0\.11 at most/,
  );
});

test('free work binds to free work', (t) => {
  const tag = tagOf('o', priced('0.00'), tags) ?? '';
  t.is(codeOf(priced('0.00'), tag), undefined);
  t.is(codeOf(priced('0.000000001'), tag), 'PriceConsentRequired');
});

test('a tag of another organization, spec or placement, and any other text, is no consent', (t) => {
  const tag = tagOf('o', priced('0.10'), tags) ?? '';
  t.is(codeOf(priced('0.10'), tag, 'p'), 'PreconditionFailed');
  t.is(codeOf(priced('0.10', { a: 2 }), tag), 'PreconditionFailed');
  t.is(codeOf(priced('0.10', { b: { d: 3, c: 2 }, a: 1, e: undefined }), tag), undefined, 'the order does not matter');
  t.is(codeOf(priced('0.10'), '7'), 'PreconditionFailed');
  t.is(codeOf({ ...priced('0.10'), status: {} }, tag), 'PreconditionFailed', 'what has no price binds to none');
  t.is(refusalOf(priced('0.10'), tag, 'o', [])?.code, 'PreconditionFailed');
  t.is(tagOf('o', priced('0.10', {}, false), tags), undefined, 'what cannot be placed has no tag');
});
