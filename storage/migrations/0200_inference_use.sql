-- apply: with the lease
-- What requests through each InferenceEndpoint came to, by minutes: what `status.usage24h` is made of. Written with what they are charged, in
-- one transaction. Rows are swept when they are older than a day and an hour, those of deleted objects with them.
CREATE TABLE inference_use (
  org text COLLATE "C" NOT NULL,
  -- Of the InferenceEndpoint.
  uid text COLLATE "C" NOT NULL,
  minute timestamptz NOT NULL,
  requests bigint NOT NULL CHECK (requests >= 0),
  -- Of them, those that ended without a charge.
  errors bigint NOT NULL CHECK (errors >= 0),
  input_tokens bigint NOT NULL CHECK (input_tokens >= 0),
  output_tokens bigint NOT NULL CHECK (output_tokens >= 0),
  cost_usd numeric(30, 9) NOT NULL CHECK (cost_usd >= 0),
  PRIMARY KEY (org, uid, minute)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX inference_use_minute ON inference_use (minute);
