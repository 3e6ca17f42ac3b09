-- apply: before the lease
-- An operator may pause new work for the whole deployment; it stays so over restarts.
ALTER TABLE clock ADD COLUMN admissions_paused boolean NOT NULL DEFAULT false;
