-- apply: with the lease
-- How often the mode has changed: what was held in another mode is not in the wallet.
ALTER TABLE money_orgs ADD COLUMN mode_sequence bigint NOT NULL DEFAULT 0;

-- Of the CreditGrant whose status shows what is left, and the amount that it shows.
ALTER TABLE grants ADD COLUMN name text COLLATE "C";
ALTER TABLE grants ADD COLUMN shown_usd numeric(20, 9);
UPDATE grants g SET name = o.name FROM objects o WHERE o.org = g.org AND o.kind = 'CreditGrant' AND o.uid = g.uid;
UPDATE grants SET shown_usd = remaining_usd;
ALTER TABLE grants ALTER COLUMN shown_usd SET NOT NULL;
CREATE INDEX grants_unshown ON grants (org, uid) WHERE remaining_usd <> shown_usd;

ALTER TABLE postings DROP CONSTRAINT postings_reason_check;
ALTER TABLE postings ADD CONSTRAINT postings_reason_check
  CHECK (reason IN ('Use', 'Refund', 'Correction', 'Credit', 'Expiry'));
