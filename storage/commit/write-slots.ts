/** Writes the rows of slots, as deltas in their object's commit. */
import { CURRENT_FORMAT } from '../formats.js';
import type { SlotRow } from '../../src/kinds/machine.js';
import type { QueuedCommit } from './queued-commit.js';
import type { Session } from './session.js';

/**
 * Precondition: the entries are admitted.
 * Result: per object and index the last row given stands.
 */
export async function writeSlots(session: Session, entries: readonly QueuedCommit[]): Promise<void> {
  const rows: unknown[] = [];
  for (const { request } of entries) {
    if (request.slots.length === 0) continue;
    const last = new Map<number, SlotRow>();
    for (const slot of request.slots) last.set(slot.index, slot);
    for (const slot of last.values()) rows.push({ uid: request.uid, org: request.address.org, ...slot });
  }
  if (rows.length === 0) return;
  await session.rows('slots', () => TEXT, [JSON.stringify(rows)]);
}

const TEXT = `
INSERT INTO slots (uid, index, org, epoch, phase, failures, format, detail)
SELECT uid, index, org, epoch, phase, failures, ${CURRENT_FORMAT.slots}, detail::text
FROM json_to_recordset($1::json)
  AS g(uid text, index bigint, org text, epoch bigint, phase text, failures bigint, detail json)
ON CONFLICT (uid, index) DO UPDATE
SET epoch = excluded.epoch, phase = excluded.phase, failures = excluded.failures, format = excluded.format,
    detail = excluded.detail`;
