-- apply: with the lease
-- A Job that was deleted with propagationPolicy=Orphan once left its Attempts without an owner. Opened again, each ends and goes.
UPDATE objects o SET active = true
WHERE o.kind = 'Attempt' AND NOT o.active
  AND NOT EXISTS (SELECT FROM children c WHERE (c.org, c.kind, c.project, c.name) = (o.org, o.kind, o.project, o.name));
