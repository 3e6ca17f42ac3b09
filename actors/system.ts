/**
 * The tree of nact actors: system → supervisor per kind → passive shard parents → one actor per live object.
 * Parents get no messages at all (nact copies a parent's children at each message it handles), so fanning out is free.
 *
 * Making and stopping a nact actor costs more than the plain write for which it is often made, so an actor whose object
 * is let go is kept and lent to the next object of its kind. It runs one object's turns at a time all the same.
 *
 * nact's own crash policies are not used: the resource actor catches everything itself, and `onCrash` here is only the
 * last net, which resumes and reports the class of the error (its default would print whole messages, I11).
 */
import { dispatch, spawnStateless, start, stop, type Ref as NactRef } from 'nact';

/** Passive parents per kind. 64 keeps each children map small at 100,000 live actors of one kind. */
const SHARDS_PER_KIND = 64;
/** I10: actors kept per kind while no object needs them, about 4 kB each. More of them are stopped. */
const MAX_SPARE = 256;

/** Whose turns an actor runs. */
export interface Runner {
  /** Called once per wake-up, strictly one after another. */
  run(): Promise<void>;
}

/** An actor of the tree: `wake` makes its runner run once more after the message loop has turned. */
export interface Lent {
  wake(): void;
}

export interface ActorTree {
  lend(kind: string, runner: Runner): Lent;
  /** Precondition: no wake-up of it is on its way. */
  giveBack(lent: Lent): void;
  close(): void;
}

/** One nact actor and who has it now. */
class Shell implements Lent {
  readonly kind: Supervisor;
  runner: Runner | undefined;
  readonly ref: NactRef<true>;

  constructor(kind: Supervisor, parent: NactRef<never>, name: string, onLeak: (errorClass: string) => void) {
    this.kind = kind;
    const turn = async (): Promise<void> => {
      try {
        await this.runner?.run();
      } catch (error) {
        onLeak(error instanceof Error ? error.name : typeof error);
      }
    };
    this.ref = spawnStateless(parent, turn, name);
  }

  wake(): void {
    dispatch(this.ref, true);
  }
}

interface Supervisor {
  readonly shards: readonly NactRef<never>[];
  readonly spare: Shell[];
}

export function openActorTree(onLeak: (errorClass: string) => void): ActorTree {
  const system = start('troupe');
  const supervisors = new Map<string, Supervisor>();
  let sequence = 0;

  function supervisorOf(kind: string): Supervisor {
    const known = supervisors.get(kind);
    if (known) return known;
    const supervisor = spawnStateless(system, () => undefined, kind);
    const shards = Array.from({ length: SHARDS_PER_KIND }, (_, index) =>
      spawnStateless(supervisor, () => undefined, `shard-${index}`),
    );
    const made: Supervisor = { shards, spare: [] };
    supervisors.set(kind, made);
    return made;
  }

  return {
    lend(kind, runner) {
      const supervisor = supervisorOf(kind);
      let shell = supervisor.spare.pop();
      if (shell === undefined) {
        // A running number, not the uid: a create is routed before its uid counts, and names refuse `/` and `:`.
        sequence += 1;
        const parent = supervisor.shards[sequence % SHARDS_PER_KIND];
        if (parent === undefined) throw new Error('no shard parent');
        shell = new Shell(supervisor, parent, `a${sequence}`, onLeak);
      }
      shell.runner = runner;
      return shell;
    },
    giveBack(lent) {
      const shell = lent as Shell;
      shell.runner = undefined;
      const { spare } = shell.kind;
      if (spare.length < MAX_SPARE) spare.push(shell);
      else stop(shell.ref);
    },
    close: () => stop(system),
  };
}
