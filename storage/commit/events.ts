/**
 * Owns the recording of events: one row per object, event and reason; a repeat raises its count and moves it to the end.
 * The reason is part of what an event is: a Job that failed for its time and one that failed for its program are two
 * things to tell of. Reasons are words of ours, a handful per event, so the rows of an object stay few; what differs each
 * time goes into the message, of which the last one stands.
 */
import type { Entry } from './entry.js';
import type { Session } from './session.js';

/**
 * Precondition: `versions[i]` is the version of `entries[i]`, which is admitted.
 * Result: each event is recorded with its count raised by how often it was emitted; the last message and status stand.
 */
export async function recordEvents(
  session: Session,
  entries: readonly Entry[],
  versions: readonly number[],
): Promise<void> {
  const rows: unknown[] = [];
  entries.forEach(({ member }, i) => {
    if (member.events.length === 0) return;
    // One statement may touch a row once: repeats within the member are counted here.
    const counts = new Map<string, { row: (typeof member.events)[number]; count: number }>();
    for (const row of member.events) {
      const key = `${row.event}\n${row.reason}`;
      counts.set(key, { row, count: (counts.get(key)?.count ?? 0) + 1 });
    }
    for (const { row, count } of counts.values())
      rows.push({ sequence: versions[i], ...member.address, uid: member.uid, ...row, count });
  });
  if (rows.length === 0) return;
  await session.rows('events', () => TEXT, [JSON.stringify(rows)]);
}

const TEXT = `
INSERT INTO events AS e (sequence, org, kind, project, name, uid, event, reason, message, status, count)
SELECT sequence, org, kind, project, name, uid, event, reason, message, status, count
FROM json_to_recordset($1::json)
  AS g(sequence bigint, org text, kind text, project text, name text, uid text, event text, reason text, message text,
       status text, count bigint)
ON CONFLICT (uid, event, reason) DO UPDATE
SET sequence = excluded.sequence, message = excluded.message, status = excluded.status,
    count = e.count + excluded.count, last_time = now()`;
