-- apply: before the lease
-- Keys by which others know this deployment, such as the host key of its SSH server: made once, the same for every process.
-- `sealed` is an envelope as of a secret version (storage/envelope/values.ts).
CREATE TABLE service_keys (
  name   text PRIMARY KEY,
  sealed bytea NOT NULL
);
