/**
 * The saving of the vital files of work whose runner died: its journal says where they lie and how the work had ended (Lost, where it ran).
 * It goes on as it would have there (`save.ts`), and the work has not ended before that.
 */
import type { WorkState } from '../../engines/compute/contract/engine.js';
import type { JournaledWork, UnderSave } from '../journal/format.js';
import type { WorkDeps } from './deps.js';
import { saveOutputs } from './save.js';

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
    const outputs = await saveOutputs(saving.order, deps.scratch.heldSlot(saving.slot), deps, {
      report: (how) => this.tell({ ...this.current, saving: how }),
      abandoned: this.abandoned.signal,
    });
    const end = { ...saving.end, outputs, endedAt: deps.now(), sequence: this.current.sequence + 1 };
    // As long as that is not on the disk the files stay: a following runner saves them again.
    const problem = await deps.journalEnd(end).then(
      () => undefined,
      (error: Error) => error,
    );
    this.tell(end);
    try {
      if (problem !== undefined) throw problem;
      await deps.scratch.release(saving.slot);
    } catch (error) {
      deps.report(`${end.id}: ${(error as Error).message}`);
    }
  }

  private tell(state: WorkState): void {
    this.current = { ...state, sequence: this.current.sequence + 1 };
    this.onState(this.current);
  }
}
