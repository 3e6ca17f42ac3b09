-- apply: before the lease
-- Objects that are deleted while more of their slots are stored than a commit removes: the rest goes in batches.
CREATE TABLE slots_left (uid text COLLATE "C" PRIMARY KEY);
