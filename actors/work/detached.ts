/**
 * Detached processes keep their Sandbox or Workspace active: as long as the engine reports that some run, their owner gets messages
 * of activity. The engine reports it again after a restart of the service, so it holds over one.
 *
 * I8: the messages name the epoch of the work; an owner that is at another one ignores them.
 * I10: one entry per piece of work in which some run.
 */
import type { Address } from '../../src/api/address.js';
import type { WorkState } from '../../src/engines/compute/contract/engine.js';
import type { Activity } from './report-activity.js';
import { findOwner, type Attempts } from './attempts.js';

export interface Detached {
  /** Each state that the engine reports of any work. */
  note(state: WorkState): void;
  /** Nothing of this work is left. */
  gone(id: string): void;
}

export interface DetachedDeps {
  readonly attempts: Pick<Attempts, 'find'>;
  readonly activity: Pick<Activity, 'begin'>;
  read(address: Address): Promise<Buffer | undefined>;
  onProblem(message: string): void;
}

interface Entry {
  /** Of the last state that counted. */
  sequence: number;
  over: () => void;
}

const NOTHING = (): void => undefined;

export function openDetached({ attempts, activity, read, onProblem }: DetachedDeps): Detached {
  const busy = new Map<string, Entry>();

  async function begin(id: string, entry: Entry): Promise<void> {
    const owner = await findOwner(id, attempts, read);
    if (owner === undefined) {
      if (busy.get(id) === entry) busy.delete(id);
      return;
    }
    // They may have ended meanwhile.
    if (busy.get(id) === entry) entry.over = activity.begin(owner.address, owner.uid, owner.epoch);
  }

  function end(id: string): void {
    const entry = busy.get(id);
    busy.delete(id);
    entry?.over();
  }

  return {
    gone: end,
    note({ id, sequence, phase, processes = 0 }) {
      const known = busy.get(id);
      if (known !== undefined && sequence < known.sequence) return;
      const some = phase === 'Running' && processes > 0;
      if (known !== undefined && some) known.sequence = sequence;
      else if (known !== undefined) end(id);
      else if (some) {
        const entry: Entry = { sequence, over: NOTHING };
        busy.set(id, entry);
        begin(id, entry).catch((error: unknown) => {
          busy.delete(id);
          onProblem(`processes of ${id}: ${error instanceof Error ? error.message : 'unknown'}`);
        });
      }
    },
  };
}
