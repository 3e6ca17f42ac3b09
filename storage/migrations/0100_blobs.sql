-- apply: before the lease
-- Blobs: which org holds which content, and what refers to it. The bytes are files named by their digest; one file may
-- serve many orgs, but an org reads only what it has a row for (I12).
CREATE TABLE blobs (
  org text NOT NULL,
  -- `sha256:` and 64 hexadecimal digits.
  digest text NOT NULL,
  size bigint NOT NULL,
  created timestamptz NOT NULL DEFAULT now(),
  -- A blob without references is removed when this is a day old.
  last_used timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (org, digest)
);
CREATE INDEX blobs_digest ON blobs (digest);
CREATE INDEX blobs_last_used ON blobs (last_used);

-- Objects (by uid) that keep a blob alive.
CREATE TABLE blob_refs (
  org text NOT NULL,
  uid text NOT NULL,
  digest text NOT NULL,
  PRIMARY KEY (org, uid, digest),
  FOREIGN KEY (org, digest) REFERENCES blobs (org, digest)
);
CREATE INDEX blob_refs_digest ON blob_refs (org, digest);

-- Bytes of each org: the sum over its rows in blobs, kept in the transactions that change them.
CREATE TABLE blob_usage (
  org text PRIMARY KEY,
  bytes bigint NOT NULL CHECK (bytes >= 0)
);
