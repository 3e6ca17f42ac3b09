/** An event of a Job for tests, as storage has it. */
import type { StoredEvent } from '../../../storage/events.js';

export function storedEvent(version: number, more: Partial<StoredEvent> = {}): StoredEvent {
  const time = new Date('2026-01-02T03:04:05Z');
  return {
    id: `${String(version).padStart(8, '0')}-0000-4000-8000-000000000000`,
    ...{ version, kind: 'Job', project: 'default', name: 'j', uid: 'uid-Job-j', type: 'job.failed', reason: 'Failed' },
    ...{ message: 'it has failed', count: 1, firstTime: time, lastTime: time },
    ...more,
  };
}

/** A page of these, as storage reads it but for what the query selects. */
export function pageOf(
  events: readonly StoredEvent[],
  { after = '', limit }: { after?: string | undefined; limit: number },
) {
  const behind = Number(after.split('.')[0]);
  const items = events.filter(({ version }) => version > behind).slice(0, limit);
  const last = items.at(-1);
  return { items, next: last && `${last.version}.${last.id}` };
}
