-- apply: with the lease
-- What an object was at a version is what its first replacement or deletion after that replaced: a change that added an
-- object replaced nothing, and its entry here cost a create a fifth of Postgres's time.
DROP INDEX changes_of_object;
CREATE INDEX changes_of_object ON changes (org, kind, project, name, version) WHERE type <> 'A';

-- No plan here depends on fresh statistics (storage/postgres.ts), and new rows need no vacuum before they are many: to gather
-- them at each tenth of growth took up to a third of Postgres's time while objects were written. Dead rows go as before.
ALTER TABLE objects SET (autovacuum_analyze_scale_factor = 2, autovacuum_vacuum_insert_scale_factor = 2);
ALTER TABLE changes SET (autovacuum_analyze_scale_factor = 2, autovacuum_vacuum_insert_scale_factor = 2);
