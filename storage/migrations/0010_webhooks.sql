-- apply: before the lease
-- Events on their way to webhooks: one row per occurrence in an org that has a WebhookEndpoint, written by the commit that
-- caused it (I5) and gone when its deliveries are made.
CREATE TABLE event_outbox (
  position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- Version of the commit.
  version bigint NOT NULL,
  time timestamptz NOT NULL DEFAULT now(),
  org text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  project text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  uid text COLLATE "C" NOT NULL,
  event text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL,
  message text NOT NULL,
  status text NOT NULL,
  -- Which occurrence on this object it is.
  count bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02);

-- One row per delivery, kept for the log. The truth about what is still to be sent (I6).
CREATE TABLE deliveries (
  -- The webhook-id. Begins with its time, so that ids are in the order of events.
  id text COLLATE "C" PRIMARY KEY,
  org text COLLATE "C" NOT NULL,
  -- uid of the WebhookEndpoint.
  endpoint text COLLATE "C" NOT NULL,
  -- Version of the event's commit: a pause or deletion at a later version abandons it.
  version bigint NOT NULL,
  event text COLLATE "C" NOT NULL,
  -- Pending, Succeeded, Failed, Abandoned.
  phase text COLLATE "C" NOT NULL DEFAULT 'Pending',
  -- Attempts that have ended.
  attempts int NOT NULL DEFAULT 0,
  -- When the time for attempts began: the event's, or the replay's.
  time timestamptz NOT NULL,
  due_at timestamptz NOT NULL,
  -- The latest attempt: when it ended, HTTP status (0: no response), how long it took, what went wrong.
  attempted_at timestamptz,
  status int,
  duration_ms int,
  error text,
  replay_of text COLLATE "C",
  body text NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE deliveries ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE INDEX deliveries_of_endpoint ON deliveries (endpoint, id);
CREATE INDEX deliveries_pending ON deliveries (endpoint, due_at) WHERE phase = 'Pending';
-- The latest ones that say something about the receiver, however many wait.
CREATE INDEX deliveries_attempted ON deliveries (endpoint, id) WHERE attempts > 0;

-- How deliveries ended, by endpoint and time: a busy endpoint has more rows in a day than can be counted each second.
CREATE TABLE delivery_counts (
  endpoint text COLLATE "C" NOT NULL,
  -- Start of the ten minutes that are counted.
  since timestamptz NOT NULL,
  succeeded bigint NOT NULL,
  failed bigint NOT NULL,
  PRIMARY KEY (endpoint, since)
) WITH (fillfactor = 50);
