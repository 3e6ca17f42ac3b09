-- apply: before the lease
-- Events are taken org by org in turns, so that what one org has left waits for nobody else's.
CREATE INDEX event_outbox_of_org ON event_outbox (org, position);
