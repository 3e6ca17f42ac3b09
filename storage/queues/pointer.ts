/** A timer's row in a queue: its job id, and the pointer that is all the job holds. */
import { z } from 'zod';
import type { StoredTimer } from '../store.js';

/** What tells one arming of a timer from every other. */
export type TimerKey = Pick<StoredTimer, 'uid' | 'timer' | 'generation'>;

/** The generation is part of it: a queue drops an id that it still has, silently. Never a bare number, never with `:`. */
export function timerId(timer: TimerKey): string {
  return `${timer.uid}.${encodeURIComponent(timer.timer)}.${timer.generation}`;
}

const pointer = z.tuple([
  z.string(),
  z.string(),
  z.string(),
  z.string(),
  z.string(),
  z.string(),
  z.number(),
  z.number(),
]);

export function toPointer(timer: StoredTimer): z.infer<typeof pointer> {
  const { org, kind, project, name } = timer.address;
  return [org, kind, project, name, timer.uid, timer.timer, timer.generation, timer.at];
}

/** Undefined for what another version of the program left in a queue: the sweep delivers those rows. */
export function fromPointer(data: unknown): StoredTimer | undefined {
  const parsed = pointer.safeParse(data);
  if (!parsed.success) return undefined;
  const [org, kind, project, name, uid, timer, generation, at] = parsed.data;
  return { address: { org, kind, project, name }, uid, timer, generation, at };
}
