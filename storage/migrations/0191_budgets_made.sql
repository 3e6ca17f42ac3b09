-- apply: with the lease
-- When it was made (ms): in a total Budget counts what was used since. Those of before have no such time, and count all that is posted.
ALTER TABLE budgets ADD COLUMN made bigint NOT NULL DEFAULT 0;
-- Holds that were placed or renewed before this time (ms) are to be renewed, so that they count in it and are bound by it; absent: none.
ALTER TABLE budgets ADD COLUMN rebind_at bigint;
CREATE INDEX budgets_rebind ON budgets (rebind_at) WHERE rebind_at IS NOT NULL;
