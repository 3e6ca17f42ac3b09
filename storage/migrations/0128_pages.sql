-- apply: with the lease
-- What was the state of one object at a version, and which objects were there between two names: for pages of an older
-- snapshot, whose cost must not grow with what was written since.
CREATE INDEX changes_of_object ON changes (org, kind, project, name, version);

-- How many objects of a kind a project has: what is left after a page. Kept by the statements that insert and delete.
CREATE TABLE collection_counts (
  org text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  project text COLLATE "C" NOT NULL,
  objects bigint NOT NULL,
  PRIMARY KEY (org, kind, project)
) WITH (fillfactor = 50);
INSERT INTO collection_counts SELECT org, kind, project, count(*) FROM objects GROUP BY org, kind, project;
