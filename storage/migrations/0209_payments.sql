-- apply: with the lease
-- A payment of the org is disputed: nothing new gets a hold in an org that pays in advance.
ALTER TABLE money_orgs ADD COLUMN disputed boolean NOT NULL DEFAULT false;

-- What was bought and is taken back.
ALTER TABLE postings DROP CONSTRAINT postings_reason_check;
ALTER TABLE postings ADD CONSTRAINT postings_reason_check
  CHECK (reason IN ('Use', 'Refund', 'Correction', 'Credit', 'Clawback', 'Expiry'));

-- Up to where the changes at each payment processor have been looked at.
CREATE TABLE payment_cursors (
  processor text COLLATE "C" PRIMARY KEY,
  cursor text NOT NULL
);

-- Browsers come back with the uid of a TopUp, before anybody knows who they are.
CREATE INDEX objects_topups ON objects (uid) WHERE kind = 'TopUp';
