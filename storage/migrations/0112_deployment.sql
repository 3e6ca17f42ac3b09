-- apply: before the lease
-- What every process on this database has to share, written by the one that holds the lease: a process with another master
-- key or other blobs would serve half of what is here.
CREATE TABLE deployment (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  -- Id of the master key that seals now: a hash (storage/envelope/master-key.ts).
  master_key text NOT NULL,
  -- Id of the directory of blobs, which lies in it as `id`.
  blob_store text NOT NULL,
  -- Id of the directory that the logs of work are in, and since when: those of earlier work may lie elsewhere.
  log_store text NOT NULL,
  log_store_since timestamptz NOT NULL
);
