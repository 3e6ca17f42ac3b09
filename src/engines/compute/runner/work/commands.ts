/**
 * Owns the set of commands that run in one piece of work: how many there may be, the room that they need beside the work's own
 * processes, and their end with the work.
 */
import type { ExecOrder } from '../../engine.js';
import type { Sink } from '../process/launch.js';
import { Refused } from '../protocol/messages.js';
import { RunningCommand, type CommandDeps, type Entrance } from './command.js';

/** At once in one piece of work; one more is refused as Busy (I10). Each holds some ten descriptors and 256 KiB at most. */
const MAX_COMMANDS = 128;
/** Processes of the isolation around each command, which do not count against the work's number. */
const AROUND = 2;

export class Commands {
  private readonly entrance: Entrance;
  private readonly deps: CommandDeps;
  private readonly running = new Set<RunningCommand>();
  private closed = false;

  constructor(entrance: Entrance, deps: CommandDeps) {
    this.entrance = entrance;
    this.deps = deps;
  }

  /** Undefined when the work is ending. */
  start(order: ExecOrder, sink: Sink): RunningCommand | undefined {
    if (this.closed) return undefined;
    if (this.running.size >= MAX_COMMANDS) throw new Refused('Busy', `${this.running.size} commands run in this work`);
    this.entrance.group.makeRoom((this.running.size + 1) * AROUND);
    const command = new RunningCommand(order, this.entrance, this.deps, sink, this.running);
    this.running.add(command);
    void command.ended.then(() => {
      this.running.delete(command);
      if (!this.closed) this.entrance.group.makeRoom(this.running.size * AROUND);
    });
    return command;
  }

  /** Ends all and takes no more; resolves when nothing of them is left. */
  async close(): Promise<void> {
    this.closed = true;
    for (const command of this.running) command.endWithWork();
    await Promise.all([...this.running].map(({ ended }) => ended));
  }
}
