/**
 * The saving of the files of work whose runner died: its journal says where they lie and how the work had ended (Lost, where it ran).
 * It goes on as it would have there (`save-outputs.ts`), and the work has not ended before that.
 */
import type { WorkState } from '../../engines/compute/contract/engine.js';
import type { JournaledWork, UnderSave } from '../journal/format.js';
import type { WorkDeps } from './deps.js';
import { patience } from '../../engines/compute/shared/retry.js';
import { saveOutputs } from '../../engines/compute/shared/save-outputs.js';
import { journalEnd } from '../../engines/compute/shared/journal-end.js';

type Deps = Pick<WorkDeps, 'collect' | 'journalEnd' | 'scratch' | 'now' | 'report'>;

export class LateSave {
  readonly containers: readonly string[];
  private current: WorkState;
  private readonly saving: UnderSave;
  private readonly deps: Deps;
  private readonly onState: (state: WorkState) => void;
  private readonly abandoned = new AbortController();
  /** Resolves when the end was reported and the place is gone. */
  readonly done: Promise<void>;

  constructor(work: JournaledWork & { readonly saving: UnderSave }, deps: Deps, onState: (state: WorkState) => void) {
    this.containers = work.containers;
    this.current = { ...work.state, phase: 'Running', saving: {} };
    this.saving = work.saving;
    this.deps = deps;
    this.onState = onState;
    this.done = this.run();
  }

  get state(): WorkState {
    return this.current;
  }

  /** Nobody wants it any more. */
  abandon(): void {
    this.abandoned.abort();
  }

  private async run(): Promise<void> {
    const { deps, saving } = this;
    const { order, slot } = saving;
    const waits = (how: NonNullable<WorkState['saving']>): void => this.tell({ ...this.current, saving: how });
    const limit = patience(deps.now, this.abandoned.signal);
    const files = deps.scratch.heldSlot(slot);
    const outputs = await saveOutputs({
      outputs: order.outputs,
      collect: (settled) => deps.collect(order, files, settled),
      report: waits,
      patience: limit,
    });
    const endedAt = deps.now();
    const end = (): WorkState => ({ ...saving.end, outputs, endedAt, sequence: this.current.sequence + 1 });
    const journaled = await journalEnd(end, deps, limit, waits);
    this.tell(end());
    try {
      // As long as that is not on the disk the files stay: a following runner saves them again.
      if (journaled) await deps.scratch.release(slot);
    } catch (error) {
      deps.report(`${saving.end.id}: ${(error as Error).message}`);
    }
  }

  private tell(state: WorkState): void {
    this.current = { ...state, sequence: this.current.sequence + 1 };
    this.onState(this.current);
  }
}
