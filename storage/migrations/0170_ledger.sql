-- apply: with the lease
-- The ledger: what limits spending, what is spent and held, holds with their terms, and double entry. Nothing wrote the tables before it.
-- Amounts are exact, USD with nine decimals. Times that rules compare are ms since the epoch on Postgres's clock.
DROP TABLE lines, postings, holds, accounts;

-- An org without a row pays nothing in advance.
CREATE TABLE money_orgs (
  org text COLLATE "C" PRIMARY KEY,
  mode text NOT NULL CHECK (mode IN ('Unlimited', 'Prepaid')),
  -- Balance of the account `wallet`: below zero, arrears; above it, what was given back.
  wallet_usd numeric(30, 9) NOT NULL
);

CREATE TABLE budgets (
  org text COLLATE "C" NOT NULL,
  uid text COLLATE "C" NOT NULL,
  name text NOT NULL,
  limit_usd numeric(20, 9) NOT NULL CHECK (limit_usd >= 0),
  action text NOT NULL CHECK (action IN ('Block', 'Notify')),
  period text NOT NULL CHECK (period IN ('Monthly', 'Total')),
  -- Absent: every project, all labels.
  project text COLLATE "C",
  selector text,
  thresholds int[] NOT NULL,
  PRIMARY KEY (org, uid)
);

-- maxCostUSD of objects.
CREATE TABLE caps (
  org text COLLATE "C" NOT NULL,
  uid text COLLATE "C" NOT NULL,
  limit_usd numeric(20, 9) NOT NULL CHECK (limit_usd >= 0),
  PRIMARY KEY (org, uid)
);

-- `cost/<uid>`, `budget/<uid>/<month|total>`, `wallet`. A missing row is zero.
CREATE TABLE counters (
  org text COLLATE "C" NOT NULL,
  counter text COLLATE "C" NOT NULL,
  spent_usd numeric(30, 9) NOT NULL,
  held_usd numeric(30, 9) NOT NULL CHECK (held_usd >= 0),
  -- Of what is spent: what a new monthly Budget began with.
  opening_usd numeric(30, 9) NOT NULL,
  -- Holds with a part on it.
  holders bigint NOT NULL CHECK (holders >= 0),
  -- Of what is spent.
  boot_usd numeric(30, 9) NOT NULL,
  running_usd numeric(30, 9) NOT NULL,
  restore_usd numeric(30, 9) NOT NULL,
  teardown_usd numeric(30, 9) NOT NULL,
  -- Segments of which the service paid some.
  covered text[] NOT NULL,
  -- Grows with each change; `shown` is the one that the status of its object has.
  revision bigint NOT NULL,
  shown bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (org, counter)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX counters_unshown ON counters (org, counter) WHERE revision <> shown;

CREATE TABLE grants (
  org text COLLATE "C" NOT NULL,
  uid text COLLATE "C" NOT NULL,
  amount_usd numeric(20, 9) NOT NULL,
  remaining_usd numeric(20, 9) NOT NULL CHECK (remaining_usd BETWEEN 0 AND amount_usd),
  -- ms; absent: never.
  expires bigint,
  PRIMARY KEY (org, uid)
);
CREATE INDEX grants_open ON grants (org) WHERE remaining_usd > 0;

CREATE TABLE holds (
  org text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  -- The object that holds: its holds are released with it (I7: no live work, no hold).
  uid text COLLATE "C" NOT NULL,
  format smallint NOT NULL,
  -- Payer, terms, parts and where billing stands (src/money/hold.ts).
  body text NOT NULL,
  -- Of its parts.
  counters text[] COLLATE "C" NOT NULL,
  amount_usd numeric(20, 9) NOT NULL CHECK (amount_usd >= 0),
  -- ms; absent: never, as it stands.
  renew_at bigint,
  -- Counter that refused its last renewal.
  refused_by text COLLATE "C",
  PRIMARY KEY (org, key)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX holds_uid ON holds (uid);
CREATE INDEX holds_due ON holds (renew_at) WHERE renew_at IS NOT NULL;

-- By months of posting, so that closed months can be detached.
CREATE SEQUENCE posting_positions;
CREATE TABLE postings (
  -- In the order of commits.
  position bigint NOT NULL DEFAULT nextval('posting_positions'),
  time timestamptz NOT NULL DEFAULT now(),
  org text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  reason text NOT NULL CHECK (reason IN ('Use', 'Refund', 'Credit', 'Expiry')),
  -- Month of the use.
  period text COLLATE "C" NOT NULL,
  -- At admission.
  project text COLLATE "C",
  labels jsonb,
  owner text COLLATE "C",
  segment text,
  counters text[] COLLATE "C" NOT NULL,
  amount_usd numeric(20, 9) NOT NULL,
  -- What the service paid beside it.
  covered_usd numeric(20, 9) NOT NULL,
  -- Of the commit; absent: it had no object.
  version bigint,
  UNIQUE (org, key, time)
) PARTITION BY RANGE (time);
CREATE INDEX postings_position ON postings (org, position);
CREATE TABLE postings_rest PARTITION OF postings DEFAULT;

-- Double entry: the lines of each posting add up to zero (I7).
CREATE TABLE lines (
  time timestamptz NOT NULL DEFAULT now(),
  org text COLLATE "C" NOT NULL,
  posting text COLLATE "C" NOT NULL,
  line smallint NOT NULL,
  account text COLLATE "C" NOT NULL,
  amount_usd numeric(20, 9) NOT NULL,
  UNIQUE (org, posting, line, time)
) PARTITION BY RANGE (time);
CREATE INDEX lines_account ON lines (org, account);
CREATE TABLE lines_rest PARTITION OF lines DEFAULT;

-- Makes what is missing of this month and the next ones. Commits queue behind its locks, so it waits for them for a moment only.
CREATE FUNCTION make_ledger_partitions(ahead int) RETURNS void LANGUAGE plpgsql SET lock_timeout = '500ms' AS $$
DECLARE
  month timestamp;
  name text;
BEGIN
  FOR i IN 0..ahead LOOP
    month := date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => i);
    FOREACH name IN ARRAY ARRAY['postings', 'lines'] LOOP
      IF to_regclass(name || to_char(month, '_YYYY_MM')) IS NULL THEN
        EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)', name || to_char(month, '_YYYY_MM'), name,
          to_char(month, 'YYYY-MM-DD') || ' 00:00:00+00', to_char(month + interval '1 month', 'YYYY-MM-DD') || ' 00:00:00+00');
      END IF;
    END LOOP;
  END LOOP;
END $$;
SELECT make_ledger_partitions(3);

-- Keys of the outside world that were used.
CREATE TABLE once (
  org text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  time timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (org, key)
);

-- Transactions that wrote no object: what a lost answer to COMMIT is settled by.
CREATE TABLE ledger_commits (
  id uuid PRIMARY KEY,
  time timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ledger_commits_time ON ledger_commits (time);

-- Thresholds that were reached, each once in a period; the notice follows the row.
CREATE TABLE thresholds (
  org text COLLATE "C" NOT NULL,
  budget text COLLATE "C" NOT NULL,
  period text COLLATE "C" NOT NULL,
  threshold int NOT NULL,
  time timestamptz NOT NULL DEFAULT now(),
  noticed boolean NOT NULL DEFAULT false,
  PRIMARY KEY (org, budget, period, threshold)
);
CREATE INDEX thresholds_unnoticed ON thresholds (org, budget, period, threshold) WHERE NOT noticed;
