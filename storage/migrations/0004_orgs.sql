-- apply: before the lease
-- An org is ready once its first key is made; until then whoever asks for its name again goes on with making it.
ALTER TABLE orgs ADD COLUMN ready boolean NOT NULL DEFAULT true;
ALTER TABLE orgs ALTER COLUMN ready SET DEFAULT false;
