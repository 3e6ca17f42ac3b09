-- apply: with the lease
-- Mails about thresholds that Budgets have reached.

-- The threshold's row is written in the transaction that reaches it; its mails are made from that row, once. What was reached before
-- there were mails gets none.
ALTER TABLE thresholds ADD COLUMN mailed boolean NOT NULL DEFAULT true;
ALTER TABLE thresholds ALTER COLUMN mailed SET DEFAULT false;
CREATE INDEX thresholds_unmailed ON thresholds (time) WHERE NOT mailed;

CREATE TABLE mails (
  org text COLLATE "C" NOT NULL,
  budget text COLLATE "C" NOT NULL,
  period text COLLATE "C" NOT NULL,
  threshold int NOT NULL,
  recipient text COLLATE "C" NOT NULL,
  -- The same at each try: of its Message-ID.
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  -- What it tells: the Budget as it was when the mail was made.
  name text NOT NULL,
  action text NOT NULL,
  limit_usd numeric(20, 9) NOT NULL,
  spent_usd numeric(30, 9) NOT NULL,
  held_usd numeric(30, 9) NOT NULL,
  made timestamptz NOT NULL DEFAULT now(),
  phase text NOT NULL CHECK (phase IN ('Waiting', 'Sent', 'Failed')),
  tries int NOT NULL DEFAULT 0,
  -- Of the next try.
  due timestamptz NOT NULL DEFAULT now(),
  -- Why it failed, in words for its Budget.
  error text,
  -- The Budget has heard what became of the mails of this threshold.
  told boolean NOT NULL DEFAULT false,
  PRIMARY KEY (org, budget, period, threshold, recipient)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX mails_due ON mails (due) WHERE phase = 'Waiting';
CREATE INDEX mails_untold ON mails (org, budget, period, threshold) WHERE NOT told;
CREATE INDEX mails_made ON mails (made);
