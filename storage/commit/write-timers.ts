/** Arms and clears timers in the transaction of the state that asked for it. */
import { CURRENT_FORMAT } from '../formats.js';
import type { QueuedCommit } from './queued-commit.js';
import type { TimerWrite } from './request.js';
import type { Session } from './session.js';

/**
 * Precondition: the entries are admitted; a deleted object's timers are removed by `delete-objects.ts`.
 * Result: per object and timer name the last write stands. An armed timer replaces one of the same or a lower
 * generation; a clear removes one whose generation is at most its own.
 */
export async function writeTimers(session: Session, entries: readonly QueuedCommit[]): Promise<void> {
  const armed: unknown[] = [];
  const cleared: unknown[] = [];
  for (const { request } of entries) {
    if (request.timers.length === 0 || request.write.op === 'delete') continue;
    const last = new Map<string, TimerWrite>();
    for (const write of request.timers) last.set(write.timer, write);
    for (const write of last.values()) {
      const { timer, generation } = write;
      if (write.op === 'arm') armed.push({ ...request.address, uid: request.uid, timer, generation, at: write.at });
      else cleared.push({ uid: request.uid, timer, generation });
    }
  }
  await Promise.all([
    cleared.length > 0 && session.rows('clear timers', () => CLEAR, [JSON.stringify(cleared)]),
    armed.length > 0 && session.rows('arm timers', () => ARM, [JSON.stringify(armed)]),
  ]);
}

const ARM = `
INSERT INTO timers AS t (uid, timer, generation, due_at, org, kind, project, name, format)
SELECT uid, timer, generation, to_timestamp(at / 1000.0), org, kind, project, name, ${CURRENT_FORMAT.timers}
FROM json_to_recordset($1::json)
  AS g(uid text, timer text, generation bigint, at numeric, org text, kind text, project text, name text)
ON CONFLICT (uid, timer) DO UPDATE
SET generation = excluded.generation, due_at = excluded.due_at, format = excluded.format
WHERE t.generation <= excluded.generation`;

const CLEAR = `
DELETE FROM timers t USING json_to_recordset($1::json) AS g(uid text, timer text, generation bigint)
WHERE (t.uid, t.timer) = (g.uid, g.timer) AND t.generation <= g.generation`;
