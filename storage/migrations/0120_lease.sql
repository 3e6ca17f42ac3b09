-- apply: before the lease
-- The lease in a row of its own: renewing it waits for no commit, and commits wait for no renewal. Which epoch may write
-- stays in `clock`, the row that every commit locks.
CREATE TABLE lease (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  -- The epoch that holds it; `clock.epoch` is the same, or higher when a program without this table took over.
  epoch bigint NOT NULL,
  -- Whose lease it is (a data directory), which process of theirs, and until when.
  holder text,
  holder_process text,
  expires timestamptz NOT NULL
) WITH (fillfactor = 10);
INSERT INTO lease (epoch, holder, holder_process, expires)
SELECT epoch, holder, holder_process, lease_expires FROM clock;

COMMENT ON COLUMN clock.holder IS 'For programs without the table lease, as are holder_process and lease_expires';
