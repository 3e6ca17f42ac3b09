-- apply: before the lease
-- The highest format of each stored form that a program of this database writes (storage/formats.ts).
CREATE TABLE formats (
  what text COLLATE "C" PRIMARY KEY,
  highest smallint NOT NULL
);
