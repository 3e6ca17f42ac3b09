/** The one way to raise an event: its reason comes from the table, so a receiver can rely on both. */
import type { CommitEffect } from '../effect.js';
import { EVENT_TABLE, type EventType } from './table.js';

/** Recorded in the commit of the state that raised it (I5). `message` says what is particular to this time. */
export function emit(event: EventType, message: string): CommitEffect {
  return { type: 'Emit', event, reason: EVENT_TABLE.get(event)?.reason ?? '', message };
}
