-- apply: before the lease
-- The tables of the spine. Text is compared byte by byte (COLLATE "C"), so that order here is order in JavaScript.
-- Bodies are text, not jsonb: they hold a blank for the version (src/api/encode.ts) and are served as they are.

-- One row: who may write, and how far the log goes.
CREATE TABLE clock (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  -- Version of the newest commit. Taking this row's lock is what puts commits in order (I4).
  version bigint NOT NULL DEFAULT 0,
  -- Changes above this version are still in the log.
  floor bigint NOT NULL DEFAULT 0,
  -- Grows with each new holder; every commit names it (I3).
  epoch bigint NOT NULL DEFAULT 0,
  -- Whose lease it is (a data directory), which process of theirs, and until when.
  holder text,
  holder_process text,
  lease_expires timestamptz NOT NULL DEFAULT '-infinity',
  cluster_id uuid NOT NULL DEFAULT gen_random_uuid()
) WITH (fillfactor = 10);
INSERT INTO clock DEFAULT VALUES;

CREATE TABLE orgs (
  org text COLLATE "C" PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  created timestamptz NOT NULL DEFAULT now()
);

-- How many objects an org has, for its quota. Kept by the statements that insert and delete objects.
CREATE TABLE org_counts (
  org text COLLATE "C" PRIMARY KEY,
  objects bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE objects (
  org text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  project text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  uid text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  -- Something is under way: its actor is activated at the next start.
  active boolean NOT NULL,
  private_format smallint NOT NULL,
  private text,
  body text NOT NULL,
  PRIMARY KEY (org, kind, project, name)
) WITH (toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX objects_active ON objects (kind, org, project, name) WHERE active;

-- The log. `before` is what was replaced (absent when added), `after` the new state or the last one (when deleted).
CREATE TABLE changes (
  version bigint PRIMARY KEY,
  -- A added, M modified, D deleted.
  type "char" NOT NULL,
  time timestamptz NOT NULL DEFAULT now(),
  -- Version of the object that `before` is.
  replaced bigint,
  org text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  project text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  uid text COLLATE "C" NOT NULL,
  before text,
  after text NOT NULL
) WITH (toast_tuple_target = 8160, autovacuum_vacuum_insert_scale_factor = 0.5);
CREATE INDEX changes_of_kind ON changes (org, kind, version);

-- Who names whom as an owner, for garbage collection.
CREATE TABLE children (
  org text COLLATE "C" NOT NULL,
  owner_uid text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  project text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  PRIMARY KEY (org, owner_uid, kind, project, name)
);
CREATE INDEX children_address ON children (org, kind, project, name);

-- What is still to be carried out: all later effects of one commit of one object (I5).
CREATE TABLE effects (
  version bigint PRIMARY KEY,
  time timestamptz NOT NULL DEFAULT now(),
  org text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  project text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  uid text COLLATE "C" NOT NULL,
  format smallint NOT NULL,
  body text NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02);

CREATE TABLE timers (
  uid text COLLATE "C" NOT NULL,
  timer text COLLATE "C" NOT NULL,
  generation bigint NOT NULL,
  due_at timestamptz NOT NULL,
  org text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  project text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  format smallint NOT NULL,
  PRIMARY KEY (uid, timer)
) WITH (autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX timers_due ON timers (due_at);

-- Stored side state (src/kinds/machine.ts): one row per slot of a kind that runs work.
CREATE TABLE slots (
  uid text COLLATE "C" NOT NULL,
  index bigint NOT NULL,
  org text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  phase text NOT NULL,
  failures bigint NOT NULL,
  format smallint NOT NULL,
  detail text,
  PRIMARY KEY (uid, index)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

-- One row per object, event and reason; repeats raise the count and move the sequence.
CREATE TABLE events (
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  -- Version of the commit that raised it last: the order in which events are read.
  sequence bigint NOT NULL,
  org text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  project text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  uid text COLLATE "C" NOT NULL,
  event text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL,
  message text NOT NULL,
  status text NOT NULL,
  count bigint NOT NULL DEFAULT 1,
  first_time timestamptz NOT NULL DEFAULT now(),
  last_time timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (uid, event, reason)
);
CREATE INDEX events_sequence ON events (org, sequence);

CREATE TABLE idempotency (
  org text COLLATE "C" NOT NULL,
  holder text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  fingerprint text NOT NULL,
  status smallint NOT NULL,
  -- Sealed; its version hole is blank.
  response bytea NOT NULL,
  headers text NOT NULL,
  version bigint NOT NULL,
  expires timestamptz NOT NULL,
  PRIMARY KEY (org, holder, key)
) WITH (toast_tuple_target = 8160);
ALTER TABLE idempotency ALTER COLUMN response SET STORAGE EXTERNAL;
CREATE INDEX idempotency_expires ON idempotency (expires);

CREATE TABLE secret_versions (
  org text COLLATE "C" NOT NULL,
  uid text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  sealed bytea NOT NULL,
  PRIMARY KEY (uid, version)
);
ALTER TABLE secret_versions ALTER COLUMN sealed SET STORAGE EXTERNAL;

-- Bearer credentials by hash; the value itself is nowhere.
CREATE TABLE credentials (
  sha256 text COLLATE "C" PRIMARY KEY,
  org text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  project text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  uid text COLLATE "C" NOT NULL,
  expires timestamptz,
  detail text NOT NULL
);
CREATE INDEX credentials_uid ON credentials (uid);

-- The ledger. Amounts are exact: USD with nine decimals.
CREATE TABLE accounts (
  org text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL,
  -- Block: a hold that would pass the limit is refused. Observe: nothing is refused.
  policy text NOT NULL DEFAULT 'Observe' CHECK (policy IN ('Block', 'Observe')),
  -- Absent: no limit.
  limit_usd numeric(20, 9),
  -- Sum of the lines: what was spent.
  spent_usd numeric(20, 9) NOT NULL DEFAULT 0,
  -- Sum of the holds.
  held_usd numeric(20, 9) NOT NULL DEFAULT 0 CHECK (held_usd >= 0),
  PRIMARY KEY (org, account)
);

CREATE TABLE postings (
  org text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  reason text NOT NULL,
  version bigint NOT NULL,
  time timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (org, key)
);

CREATE TABLE lines (
  org text COLLATE "C" NOT NULL,
  posting text COLLATE "C" NOT NULL,
  line smallint NOT NULL,
  account text COLLATE "C" NOT NULL,
  amount_usd numeric(20, 9) NOT NULL,
  PRIMARY KEY (org, posting, line)
);
CREATE INDEX lines_account ON lines (org, account);

CREATE TABLE holds (
  org text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  -- The object that holds: its holds go with it (I7: no live work, no hold).
  uid text COLLATE "C" NOT NULL,
  amount_usd numeric(20, 9) NOT NULL CHECK (amount_usd >= 0),
  accounts text[] COLLATE "C" NOT NULL,
  PRIMARY KEY (org, key)
);
CREATE INDEX holds_uid ON holds (uid);
