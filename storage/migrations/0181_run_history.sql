-- apply: with the lease
-- How long like work has run, for estimates: the last runs, oldest first, in ms. Kept in memory by the process that leads, and written
-- from time to time: a crash forgets the last seconds of it.
CREATE TABLE run_history (
  org text COLLATE "C" NOT NULL,
  project text COLLATE "C" NOT NULL,
  -- What work has to be like; a digest where it is long.
  likeness text COLLATE "C" NOT NULL,
  boot_ms bigint[] NOT NULL,
  run_ms bigint[] NOT NULL,
  teardown_ms bigint[] NOT NULL,
  -- Of the newest.
  time timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (org, project, likeness)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX run_history_time ON run_history (time);
