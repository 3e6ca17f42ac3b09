-- apply: before the lease
-- Months of posting that are over, with what they come to. The auditor begins behind the last of them, and one that was exported can be detached.
CREATE TABLE ledger_months (
  -- 2026-08, in UTC.
  month text COLLATE "C" PRIMARY KEY,
  ends timestamptz NOT NULL,
  postings bigint NOT NULL,
  lines bigint NOT NULL,
  closed_at timestamptz NOT NULL DEFAULT now(),
  -- Of its export, the last line left out; absent: it was never exported whole.
  sha256 text COLLATE "C",
  exported_at timestamptz,
  -- Its postings and lines are gone from here.
  detached_at timestamptz
);

-- Sums over all months that are closed.
CREATE TABLE closed_counters (
  org text COLLATE "C" NOT NULL,
  counter text COLLATE "C" NOT NULL,
  spent_usd numeric(20, 9) NOT NULL,
  boot_usd numeric(20, 9) NOT NULL,
  running_usd numeric(20, 9) NOT NULL,
  restore_usd numeric(20, 9) NOT NULL,
  teardown_usd numeric(20, 9) NOT NULL,
  PRIMARY KEY (org, counter)
);
CREATE TABLE closed_accounts (
  org text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL,
  amount_usd numeric(20, 9) NOT NULL,
  PRIMARY KEY (org, account)
);
