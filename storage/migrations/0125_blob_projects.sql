-- apply: with the lease
-- Which projects of an org may name a blob: those that it was put into, or whose work it was collected from. Another
-- project of the org reads it only after putting the content itself, as another org does.
-- Project '' stands for every project: blobs that were stored before projects were told apart.
CREATE TABLE blob_projects (
  org text NOT NULL,
  project text NOT NULL,
  digest text NOT NULL,
  PRIMARY KEY (org, digest, project),
  FOREIGN KEY (org, digest) REFERENCES blobs (org, digest) ON DELETE CASCADE
);
INSERT INTO blob_projects (org, project, digest) SELECT org, '', digest FROM blobs;
