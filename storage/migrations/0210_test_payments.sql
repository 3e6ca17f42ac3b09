-- apply: with the lease
-- The embedded test processor: no money moves. Each purchase is one row, so that every step of it is one UPDATE of that row.
CREATE TABLE test_purchases (
  -- Of its page: the id is all that it takes to pay there, so it cannot be guessed.
  id text COLLATE "C" PRIMARY KEY,
  -- Id of the payment, which tells nothing of the page.
  payment text COLLATE "C" NOT NULL UNIQUE,
  source text NOT NULL CHECK (source IN ('Checkout', 'Charge')),
  org text COLLATE "C" NOT NULL,
  -- Of the TopUp.
  name text NOT NULL,
  uid text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  amount_usd numeric(20, 2) NOT NULL CHECK (amount_usd > 0),
  -- All times are ms since the epoch, on the clock of the service.
  created bigint NOT NULL,
  -- When an unpaid page ends; absent: it does not.
  expires bigint,
  save_card boolean NOT NULL,
  done_url text NOT NULL,
  cancel_url text NOT NULL,
  state text NOT NULL CHECK (state IN ('Open', 'Pending', 'Paid', 'Failed', 'Expired')),
  method text CHECK (method IN ('Card', 'Bank')),
  card_saved boolean NOT NULL DEFAULT false,
  paid bigint,
  -- Numbers have no gaps.
  invoice bigint UNIQUE,
  -- [{id, key, amountUSD, time}], oldest first, and their sum.
  refunds jsonb NOT NULL DEFAULT '[]',
  refunded_usd numeric(20, 2) NOT NULL DEFAULT 0 CHECK (refunded_usd BETWEEN 0 AND amount_usd),
  -- A payment is disputed once at most.
  dispute text CHECK (dispute IN ('Open', 'Won', 'Lost')),
  dispute_usd numeric(20, 2),
  -- Number of the last change; the number of a later one is larger, and is seen later.
  changed bigint UNIQUE,
  changed_at bigint,
  UNIQUE (org, source, key),
  CHECK ((state = 'Paid') = (paid IS NOT NULL)),
  CHECK ((state = 'Paid') = (invoice IS NOT NULL)),
  CHECK (state = 'Paid' OR refunded_usd = 0),
  CHECK (state = 'Paid' OR dispute IS NULL)
) WITH (fillfactor = 70);
CREATE INDEX test_purchases_open ON test_purchases (expires) WHERE state = 'Open';
CREATE INDEX test_purchases_unpaid ON test_purchases (created) WHERE state IN ('Open', 'Failed', 'Expired');

-- One row, whose lock orders all changes.
CREATE TABLE test_numbers (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  invoice bigint NOT NULL,
  change bigint NOT NULL
);
INSERT INTO test_numbers (invoice, change) VALUES (0, 0);
