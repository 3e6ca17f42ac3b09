-- apply: with the lease
-- What requests through an InferenceEndpoint have used of its limits in the last minute, by second, and how much more may be used before the next
-- write (`ahead` in the body): after a crash that counts as used. Written every now and then; a row that is two minutes old means nothing.
CREATE TABLE inference_windows (
  org text COLLATE "C" NOT NULL,
  uid text COLLATE "C" NOT NULL,
  -- Of the lease of its writer, and the place of the write among those of that writer: an older one replaces nothing.
  epoch bigint NOT NULL,
  sequence bigint NOT NULL,
  written_at timestamptz NOT NULL,
  body json NOT NULL,
  PRIMARY KEY (org, uid)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
