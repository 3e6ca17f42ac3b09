/**
 * Records events: one row per object, event and reason; a repeat raises its count and moves it to the end.
 * The reason is part of what an event is: a Job that failed for its time and one that failed for its program are two
 * events. Reasons are words of ours, a handful per event, so the rows of an object stay few; what differs each
 * time goes into the message, of which the last one stands.
 *
 * In an org that has a WebhookEndpoint each occurrence also becomes a row of the outbox, in the same statement (I5).
 */
import type { QueuedCommit } from './queued-commit.js';
import type { Session } from './session.js';

/**
 * Precondition: `versions[i]` is the version of `entries[i]`, which is admitted.
 * Result: each event is recorded with its count raised by how often it was emitted; the last message and status stand.
 * One row of the outbox per occurrence where the org has a WebhookEndpoint, this transaction's own included.
 */
export async function recordEvents(
  session: Session,
  entries: readonly QueuedCommit[],
  versions: readonly number[],
): Promise<void> {
  const rows: unknown[] = [];
  entries.forEach(({ request }, i) => {
    if (request.events.length === 0) return;
    // One statement may touch a row once: repeats within one commit are put together here.
    const repeated = new Map<string, { row: (typeof request.events)[number]; messages: string[] }>();
    for (const row of request.events) {
      const key = `${row.event}\n${row.reason}`;
      repeated.set(key, { row, messages: [...(repeated.get(key)?.messages ?? []), row.message] });
    }
    for (const { row, messages } of repeated.values()) {
      const { event, reason, status } = row;
      rows.push({ sequence: versions[i], ...request.address, uid: request.uid, event, reason, status, messages });
    }
  });
  if (rows.length === 0) return;
  await session.rows('events', () => TEXT, [JSON.stringify(rows)]);
}

const TEXT = `
WITH given AS (
  SELECT * FROM json_to_recordset($1::json)
    AS g(sequence bigint, org text, kind text, project text, name text, uid text, event text, reason text, status text,
         messages json)
), recorded AS (
  INSERT INTO events AS e (sequence, org, kind, project, name, uid, event, reason, message, status, count)
  SELECT sequence, org, kind, project, name, uid, event, reason, messages ->> -1, status, json_array_length(messages)
  FROM given
  ON CONFLICT (uid, event, reason) DO UPDATE
  SET sequence = excluded.sequence, message = excluded.message, status = excluded.status,
      count = e.count + excluded.count, last_time = now()
  RETURNING uid, event, reason, count
)
INSERT INTO event_outbox (version, org, kind, project, name, uid, event, reason, message, status, count)
SELECT g.sequence, g.org, g.kind, g.project, g.name, g.uid, g.event, g.reason, m.message, g.status,
       r.count - json_array_length(g.messages) + m.nth
FROM given g
JOIN recorded r ON r.uid = g.uid AND r.event = g.event AND r.reason = g.reason
CROSS JOIN LATERAL json_array_elements_text(g.messages) WITH ORDINALITY AS m(message, nth)
WHERE EXISTS (SELECT FROM objects o WHERE o.org = g.org AND o.kind = 'WebhookEndpoint')
ORDER BY g.sequence, m.nth`;
