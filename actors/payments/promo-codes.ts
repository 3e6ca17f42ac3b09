/**
 * Promo codes: what operators make and withdraw, and what an org gets for one: a CreditGrant, once. A redemption is claimed by a row first, and then
 * its CreditGrant is made, whose commit credits the ledger. What was claimed and cut off there is finished by the org's next try with the
 * code, or by `finishRedemptions`.
 *
 * I10: `underWay` has one entry for each redemption that a request waits for.
 */
import type { Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import type { ApiObject } from '../../src/api/object.js';
import { RefusalError } from '../../src/api/refusal.js';
import { rfc3339 } from '../../src/api/time.js';
import { formatUsd } from '../../src/api/usd.js';
import { BOOTSTRAP_ORG } from '../../src/api/access/role.js';
import type { Keyed } from '../../storage/commit/request.js';
import type { NewPromoCode, PromoClaim, PromoCode, PromoCodes } from '../../storage/payments/promo-codes.js';
import type { ServiceWrite } from '../effects/children.js';
import { findAnswer, keepAnswer, type KeyedAnswers } from '../keyed-answers.js';
import type { WriteReply } from '../resource-service.js';
import { tick } from '../money/ticker.js';

export interface PromoDeps {
  readonly rows: PromoCodes;
  write(address: Address, write: ServiceWrite): Promise<WriteReply>;
  /** Operators have their keys in the bootstrap org. */
  readonly answers: KeyedAnswers;
}

export type MadePromoCode =
  | { readonly outcome: 'Made'; readonly code: PromoCode; readonly replayed: boolean }
  | { readonly outcome: 'Taken' };

export type Redemption =
  /** `replayed`: the same keyed request was answered so before. */
  | { readonly outcome: 'Granted'; readonly grant: ApiObject; readonly replayed?: true }
  | { readonly outcome: 'Unknown' | 'Expired' | 'UsedUp' }
  /** The org has redeemed it before, and has this CreditGrant for it. */
  | { readonly outcome: 'Redeemed'; readonly grant: string }
  /** The org has tried too many codes that do not exist. */
  | { readonly outcome: 'Limited'; readonly retryAfterSeconds: number };

export interface Promotions {
  make(code: NewPromoCode, keyed: Keyed | undefined): Promise<MadePromoCode>;
  find(code: string): Promise<PromoCode | undefined>;
  list(after: string, limit: number): Promise<readonly PromoCode[]>;
  /** The code as it is then; undefined: there is none. */
  withdraw(code: string): Promise<PromoCode | undefined>;
  redeem(org: string, code: string, keyed: Keyed | undefined): Promise<Redemption>;
  /** Whole store: makes CreditGrants that claims have waited for, at most `limit`. */
  finish(limit: number): Promise<void>;
}

/** Redemptions that are finished together. */
const FINISHED_AT_ONCE = 100;
const FINISH_EVERY_MS = 15_000;
/** Stands for no code. */
const COUNTING = '';

/** The CreditGrant that an org has for a code. */
export function grantNameOf(code: string): string {
  return `promo-${code.toLowerCase()}`;
}

export function openPromotions({ rows, write, answers }: PromoDeps): Promotions {
  const underWay = new Map<string, Promise<unknown>>();

  /** One at a time for an org and a code, in this process: only the leader redeems. */
  async function alone<T>(org: string, code: string, run: () => Promise<T>): Promise<T> {
    const key = `${org}/${code}`;
    for (let before = underWay.get(key); before !== undefined; before = underWay.get(key))
      await before.catch(() => undefined);
    const running = run().finally(() => underWay.delete(key));
    underWay.set(key, running);
    return running;
  }

  /** Makes the CreditGrant of a claim, or reads the one that was made before the claim was marked. */
  async function grant({ org, code, amountUSD, note, creditsExpire }: PromoClaim): Promise<ApiObject> {
    const address: Address = { org, kind: 'CreditGrant', project: '', name: grantNameOf(code) };
    const spec = {
      ...{ amountUSD: formatUsd(amountUSD), source: 'Promo' },
      ...(note !== undefined && { note }),
      ...(creditsExpire !== undefined && { expirationTime: rfc3339(creditsExpire) }),
    };
    const made = await write(address, { verb: 'create', body: { metadata: { name: address.name }, spec } });
    const known =
      made.outcome === 'Refused' && made.refusal.code === 'AlreadyExists'
        ? await write(address, { verb: 'patch', patch: { type: 'merge', patch: {} } })
        : made;
    if (known.outcome === 'Refused') throw new RefusalError(known.refusal);
    await rows.granted(org, code);
    return decodeObject(known.body);
  }

  async function redeemAlone(org: string, code: string): Promise<Redemption> {
    const claim = await rows.claim(org, code);
    if (claim !== undefined) return { outcome: 'Granted', grant: await grant(claim) };
    const before = await rows.claimed(org, code);
    if (before?.granted === true) return { outcome: 'Redeemed', grant: grantNameOf(code) };
    // It was cut off behind its claim, and its client has no answer.
    if (before !== undefined) return { outcome: 'Granted', grant: await grant(before) };
    const found = await rows.find(code);
    if (found === undefined) return { outcome: 'Unknown' };
    return { outcome: found.state === 'UsedUp' ? 'UsedUp' : 'Expired' };
  }

  /** What the same keyed request was answered before. */
  async function kept(org: string, keyed: Keyed): Promise<unknown> {
    const response = await findAnswer(answers, org, keyed);
    return response && JSON.parse(Buffer.from(response.toString('latin1'), 'base64').toString('utf8'));
  }

  async function keep(org: string, keyed: Keyed, answer: unknown): Promise<void> {
    // In base64, so that it is never taken for the bytes of an object, which a version is written into.
    const response = Buffer.from(Buffer.from(JSON.stringify(answer)).toString('base64'));
    await keepAnswer(answers, org, keyed, response);
  }

  return {
    async make(code, keyed) {
      const before = keyed && ((await kept(BOOTSTRAP_ORG, keyed)) as PromoCode | undefined);
      if (before !== undefined) return { outcome: 'Made', code: before, replayed: true };
      const made = await rows.make(code, keyed);
      if (made === 'Taken') return { outcome: 'Taken' };
      const found = await rows.find(code.code);
      if (found === undefined) throw new Error('a promo code that was made is not there');
      if (keyed !== undefined) await keep(BOOTSTRAP_ORG, keyed, found);
      return { outcome: 'Made', code: found, replayed: made === 'Known' };
    },
    find: rows.find,
    list: rows.list,
    withdraw: async (code) => ((await rows.withdraw(code)) ? rows.find(code) : undefined),
    async redeem(org, code, keyed) {
      const before = keyed && ((await kept(org, keyed)) as ApiObject | undefined);
      if (before !== undefined) return { outcome: 'Granted', grant: before, replayed: true };
      // Their count is one row of the database: an org waits for itself here, and not with a connection.
      const wait = await alone(org, COUNTING, () => rows.count(org, code));
      if (wait !== undefined) return { outcome: 'Limited', retryAfterSeconds: wait };
      const redeemed = await alone(org, code, () => redeemAlone(org, code));
      if (redeemed.outcome === 'Granted' && keyed !== undefined) await keep(org, keyed, redeemed.grant);
      return redeemed;
    },
    async finish(limit) {
      let failed: unknown;
      for (const claim of await rows.takeUnfinished(limit)) {
        // One that fails keeps none of the others waiting.
        await alone(claim.org, claim.code, () => grant(claim)).catch((error: unknown) => (failed = error));
      }
      if (failed !== undefined) throw failed;
    },
  };
}

/** Until `stopping` is aborted. */
export function finishRedemptions(
  promotions: Pick<Promotions, 'finish'>,
  onProblem: (message: string) => void,
  stopping: AbortSignal,
): Promise<void> {
  return tick({ every: FINISH_EVERY_MS, round: () => promotions.finish(FINISHED_AT_ONCE), onProblem }, stopping);
}
