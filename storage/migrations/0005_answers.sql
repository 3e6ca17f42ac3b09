-- apply: before the lease
-- The answer to most writes is the object as its commit left it, which the changes log holds anyway: no second copy is
-- made while the change is there. Compaction moves its text into `answer` when the change goes.
ALTER TABLE idempotency ALTER COLUMN response DROP NOT NULL;
ALTER TABLE idempotency ADD COLUMN answer text;
CREATE INDEX idempotency_by_change ON idempotency (version) WHERE response IS NULL AND answer IS NULL;
