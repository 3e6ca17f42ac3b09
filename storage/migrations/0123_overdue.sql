-- apply: with the lease
-- What is past its time is found without reading the whole table.
CREATE INDEX credentials_expires ON credentials (expires) WHERE expires IS NOT NULL;
-- Collected outputs were once kept for objects that had gone meanwhile: nothing let go of those.
DELETE FROM blob_refs r WHERE NOT EXISTS (SELECT FROM objects o WHERE (o.org, o.uid) = (r.org, r.uid));
