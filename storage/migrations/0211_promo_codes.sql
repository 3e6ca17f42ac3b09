-- apply: before the lease
-- Promo codes, which orgs have redeemed them, and how often each org has tried codes that do not exist.
CREATE TABLE promo_codes (
  -- In upper case.
  code text COLLATE "C" PRIMARY KEY,
  amount_usd numeric(20, 9) NOT NULL CHECK (amount_usd > 0),
  created timestamptz NOT NULL DEFAULT now(),
  -- ms; absent: it does not expire.
  expires bigint,
  -- Of all orgs together; absent: any number.
  max_redemptions bigint CHECK (max_redemptions > 0),
  redemptions bigint NOT NULL DEFAULT 0,
  -- ms from the redemption on; absent: the credits do not expire.
  credits_last bigint CHECK (credits_last > 0),
  note text,
  withdrawn timestamptz,
  -- The keyed request that made it: its repeat is told so when its answer was not kept.
  holder text COLLATE "C",
  key text COLLATE "C",
  fingerprint text COLLATE "C",
  CHECK (redemptions <= max_redemptions)
);

-- A claim has what its CreditGrant is made of: a change of the code later changes nothing of it.
CREATE TABLE promo_redemptions (
  org text COLLATE "C" NOT NULL,
  code text COLLATE "C" NOT NULL,
  amount_usd numeric(20, 9) NOT NULL,
  note text,
  -- ms; absent: the credits do not expire.
  credits_expire bigint,
  claimed timestamptz NOT NULL DEFAULT now(),
  -- When the CreditGrant was last tried to be made.
  tried timestamptz NOT NULL DEFAULT now(),
  -- Its CreditGrant exists; absent: it has to be made.
  granted timestamptz,
  PRIMARY KEY (org, code)
);
CREATE INDEX promo_redemptions_open ON promo_redemptions (tried) WHERE granted IS NULL;

-- One row for each org. Codes that do not exist, since `began`, which an hour ends.
CREATE TABLE promo_tries (
  org text COLLATE "C" PRIMARY KEY,
  began timestamptz NOT NULL,
  failures int NOT NULL
);
