-- apply: with the lease
-- Whose status shows the counter: uid, kind, project, name of an object that costs. Absent: a Budget's, or the wallet.
ALTER TABLE counters ADD COLUMN owner jsonb;
-- When it was shown last, in ms: what changes all the time is not shown each time.
ALTER TABLE counters ADD COLUMN shown_at bigint NOT NULL DEFAULT 0;

-- The holds that count in what an object costs: its own are found by uid, those of what it controls by these. Costs come first in
-- `counters`, from the holder upwards.
CREATE INDEX holds_parent ON holds (org, (counters[2])) WHERE counters[2] LIKE 'cost/%';
CREATE INDEX holds_grandparent ON holds (org, (counters[3])) WHERE counters[3] LIKE 'cost/%';
CREATE INDEX holds_refused ON holds (org, refused_by) WHERE refused_by IS NOT NULL;
