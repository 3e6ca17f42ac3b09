/**
 * The rows of promo codes and of their redemptions. A redemption is claimed by one statement, which counts it: codes are never redeemed more
 * often than they may be, and never twice by one org. The claim keeps what its CreditGrant is made of until that exists (I6).
 *
 * I10: an org has one row that counts its failed tries; lists are read a page at a time.
 */
import type { Keyed } from '../commit/request.js';
import type { Postgres, Statement } from '../postgres.js';

export interface NewPromoCode {
  /** In upper case. */
  readonly code: string;
  readonly amountUSD: string;
  /** ms. */
  readonly expires?: number | undefined;
  /** Of all orgs together. */
  readonly maxRedemptions?: number | undefined;
  /** ms from the redemption on. */
  readonly creditsLast?: number | undefined;
  readonly note?: string | undefined;
}

export interface PromoCode extends NewPromoCode {
  /** ms. */
  readonly created: number;
  readonly redemptions: number;
  /** ms. */
  readonly withdrawn?: number | undefined;
  readonly state: 'Active' | 'Expired' | 'UsedUp' | 'Withdrawn';
}

/** What the CreditGrant of a redemption is made of. */
export interface PromoClaim {
  readonly org: string;
  readonly code: string;
  readonly amountUSD: string;
  readonly note?: string | undefined;
  /** ms. */
  readonly creditsExpire?: number | undefined;
}

/** An org may try so many codes that do not exist within an hour. */
export const MOST_FAILURES = 10;

/** Each rejects with a `RefusalError` Unavailable when Postgres does not answer. Codes are in upper case. */
export interface PromoCodes {
  /** `Known`: the same keyed request made it before. */
  make(code: NewPromoCode, keyed: Keyed | undefined): Promise<'Made' | 'Known' | 'Taken'>;
  find(code: string): Promise<PromoCode | undefined>;
  /** Behind a code, in their order. */
  list(after: string, limit: number): Promise<readonly PromoCode[]>;
  /** Nobody redeems it from then on. False: there is none. */
  withdraw(code: string): Promise<boolean>;
  /** Counts the try when there is no such code. Undefined: the org may try; else seconds until it may. */
  count(org: string, code: string): Promise<number | undefined>;
  /** Undefined: the code cannot be redeemed by the org, or it was claimed before. */
  claim(org: string, code: string): Promise<PromoClaim | undefined>;
  claimed(org: string, code: string): Promise<(PromoClaim & { readonly granted: boolean }) | undefined>;
  /** The CreditGrant of the claim exists. */
  granted(org: string, code: string): Promise<void>;
  /** Whole store: claims without a CreditGrant that nobody has tried for a minute, the longest first. They count as tried. */
  takeUnfinished(limit: number): Promise<readonly PromoClaim[]>;
}

export function openPromoCodes(postgres: Postgres): PromoCodes {
  return {
    async make({ code, amountUSD, expires, maxRedemptions, creditsLast, note }, keyed) {
      const by = keyed === undefined ? [null, null, null] : [keyed.holder, keyed.key, keyed.fingerprint];
      const values = [expires, maxRedemptions, creditsLast, note].map((value) => value ?? null);
      if ((await postgres.write(MAKE, [code, amountUSD, ...values, ...by])) > 0) return 'Made';
      return (await postgres.readRows(MADE_BY, [code, ...by])).length > 0 ? 'Known' : 'Taken';
    },
    async find(code) {
      const [row] = await postgres.readRows<CodeRow>(FIND, [code]);
      return row && codeOf(row);
    },
    list: async (after, limit) => (await postgres.readRows<CodeRow>(LIST, [after, limit])).map(codeOf),
    withdraw: async (code) => (await postgres.write(WITHDRAW, [code])) > 0,
    async count(org, code) {
      if ((await postgres.write(COUNT, [org, code])) > 0) return undefined;
      const [row] = await postgres.readRows<[number]>(WAIT, [org]);
      return Math.max(1, row?.[0] ?? 1);
    },
    async claim(org, code) {
      const [row] = await postgres.readRows<ClaimRow>(CLAIM, [org, code]);
      return row && claimOf(row);
    },
    async claimed(org, code) {
      const [row] = await postgres.readRows<[...ClaimRow, boolean]>(CLAIMED, [org, code]);
      return row && { ...claimOf(row), granted: row[5] };
    },
    granted: async (org, code) => void (await postgres.write(GRANTED, [org, code])),
    takeUnfinished: async (limit) => (await postgres.readRows<ClaimRow>(TAKE_UNFINISHED, [limit])).map(claimOf),
  };
}

type CodeRow = [
  code: string,
  amount: string,
  created: number,
  expires: number | null,
  most: number | null,
  redemptions: number,
  creditsLast: number | null,
  note: string | null,
  withdrawn: number | null,
  state: PromoCode['state'],
];

function codeOf([
  code,
  amountUSD,
  created,
  expires,
  most,
  redemptions,
  creditsLast,
  note,
  withdrawn,
  state,
]: CodeRow): PromoCode {
  return {
    ...{ code, amountUSD, created, redemptions, state },
    ...{ expires: expires ?? undefined, maxRedemptions: most ?? undefined, creditsLast: creditsLast ?? undefined },
    ...{ note: note ?? undefined, withdrawn: withdrawn ?? undefined },
  };
}

type ClaimRow = [org: string, code: string, amount: string, note: string | null, creditsExpire: number | null];

function claimOf([org, code, amountUSD, note, creditsExpire]: ClaimRow | [...ClaimRow, boolean]): PromoClaim {
  return { org, code, amountUSD, note: note ?? undefined, creditsExpire: creditsExpire ?? undefined };
}

const IN_MS = (time: string): string => `floor(extract(epoch FROM ${time}) * 1000)::bigint`;
const IS_OVER = `expires <= ${IN_MS('clock_timestamp()')}`;

const CODE_COLUMNS = `code, amount_usd::text, ${IN_MS('created')}, expires, max_redemptions, redemptions, credits_last, note,
  ${IN_MS('withdrawn')},
  CASE WHEN withdrawn IS NOT NULL THEN 'Withdrawn' WHEN ${IS_OVER} THEN 'Expired'
    WHEN redemptions >= max_redemptions THEN 'UsedUp' ELSE 'Active' END`;
const CLAIM_COLUMNS = 'org, code, amount_usd::text, note, credits_expire';

/** Precondition: no code is called so, nor was one that is withdrawn. Result: it exists. */
const MAKE: Statement = {
  name: 'make a promo code',
  text: `
INSERT INTO promo_codes (code, amount_usd, expires, max_redemptions, credits_last, note, holder, key, fingerprint)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (code) DO NOTHING`,
};

/** Never without a key: NULL equals nothing. */
const MADE_BY: Statement = {
  name: 'promo code of a request',
  text: 'SELECT 1 FROM promo_codes WHERE code = $1 AND (holder, key, fingerprint) = ($2, $3, $4)',
};

const FIND: Statement = { name: 'promo code', text: `SELECT ${CODE_COLUMNS} FROM promo_codes WHERE code = $1` };

const LIST: Statement = {
  name: 'promo codes',
  text: `SELECT ${CODE_COLUMNS} FROM promo_codes WHERE code > $1 ORDER BY code LIMIT $2`,
};

/** Precondition: it exists. Result: no statement claims it from now on. */
const WITHDRAW: Statement = {
  name: 'withdraw a promo code',
  text: 'UPDATE promo_codes SET withdrawn = coalesce(withdrawn, now()) WHERE code = $1',
};

/**
 * Precondition: the org has a failure left in its hour. Result: one is counted when there is no such code. Tries of one org go one after the
 * other here, by the lock of its row, so that many at once find out no more than the bound allows.
 */
const COUNT: Statement = {
  name: 'count a try of a promo code',
  text: `
INSERT INTO promo_tries AS t (org, began, failures)
VALUES ($1, now(), CASE WHEN EXISTS (SELECT 1 FROM promo_codes WHERE code = $2) THEN 0 ELSE 1 END)
ON CONFLICT (org) DO UPDATE SET
  began = CASE WHEN t.failures = 0 OR t.began <= now() - interval '1 hour' THEN now() ELSE t.began END,
  failures = CASE WHEN t.began <= now() - interval '1 hour' THEN 0 ELSE t.failures END + excluded.failures
WHERE t.failures < ${MOST_FAILURES} OR t.began <= now() - interval '1 hour'`,
};

const WAIT: Statement = {
  name: 'wait for promo codes',
  text: `SELECT ceil(extract(epoch FROM began + interval '1 hour' - now()))::bigint FROM promo_tries WHERE org = $1`,
};

/**
 * Precondition: the code is Active, and the org has no claim on it. Result: the org has one, and it is counted. The lock of the code's row comes
 * first, and the row is read anew under it; a claim of the same org that was made meanwhile is a conflict, which counts nothing.
 */
const CLAIM: Statement = {
  name: 'claim a promo code',
  text: `
WITH open AS MATERIALIZED (
  SELECT code, amount_usd, note, credits_last FROM promo_codes
  WHERE code = $2 AND withdrawn IS NULL AND (${IS_OVER}) IS NOT TRUE AND (redemptions < max_redemptions) IS NOT FALSE
  FOR UPDATE
), claimed AS (
  INSERT INTO promo_redemptions (org, code, amount_usd, note, credits_expire)
  SELECT $1, code, amount_usd, note, ${IN_MS('clock_timestamp()')} + credits_last FROM open
  ON CONFLICT (org, code) DO NOTHING
  RETURNING ${CLAIM_COLUMNS}
), counted AS (
  UPDATE promo_codes p SET redemptions = p.redemptions + 1 FROM claimed WHERE p.code = claimed.code
)
SELECT * FROM claimed`,
};

const CLAIMED: Statement = {
  name: 'claim of a promo code',
  text: `SELECT ${CLAIM_COLUMNS}, granted IS NOT NULL FROM promo_redemptions WHERE org = $1 AND code = $2`,
};

/** Precondition: its CreditGrant exists. Result: nobody makes it again. */
const GRANTED: Statement = {
  name: 'promo code is granted',
  text: 'UPDATE promo_redemptions SET granted = now() WHERE org = $1 AND code = $2 AND granted IS NULL',
};

/** Result: those that are answered are not answered again for a minute, so that one that cannot be made keeps none behind it waiting. */
const TAKE_UNFINISHED: Statement = {
  name: 'unfinished redemptions',
  text: `
UPDATE promo_redemptions SET tried = now()
WHERE granted IS NULL AND (org, code) IN (
  SELECT org, code FROM promo_redemptions WHERE granted IS NULL AND tried < now() - interval '1 minute' ORDER BY tried LIMIT $1)
RETURNING ${CLAIM_COLUMNS}`,
};
