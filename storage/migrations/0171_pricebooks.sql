-- apply: with the lease
-- Every price book that was ever in use, as its file was: work is charged by the version that it was admitted with.
CREATE TABLE pricebooks (
  version   text PRIMARY KEY,
  text      text NOT NULL,
  loaded_at timestamptz NOT NULL DEFAULT now()
);
