/**
 * Runs one command that a client asked for, from its order to its end: its time limit, and its end in the client's words.
 *
 * It ends with its first process; what that left behind goes on until the work ends. When its client went or its time is over it is
 * killed with all that it started and that can be told.
 */
import type { CommandSignal, ExecEnd, ExecOrder, TerminalSize } from '../../engines/compute/contract/engine.js';
import type { Agent } from '../agent/agent.js';
import type { Listener, Session, SessionEnd } from '../agent/session.js';
import type { DataPlace } from '../protocol/messages.js';

/** The longest that a timer can be set to. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export class RunningCommand {
  /** Never rejects. Resolves when its output is taken, or dropped after `kill`. */
  readonly ended: Promise<ExecEnd>;
  readonly session: Session;
  /** Where its data goes instead of through the session. */
  readonly data: DataPlace | undefined;
  private timedOut = false;

  constructor(order: Omit<ExecOrder, 'work'>, agent: Agent, listener: Listener) {
    const { command, env, workingDir, terminal, timeoutSeconds, bulk = false } = order;
    this.data = bulk && terminal === undefined ? agent.dataPlace() : undefined;
    const data = this.data?.name;
    this.session = agent.open({ kind: 'command', command, env, workingDir, terminal, data }, listener);
    const expire = (): void => {
      this.timedOut = true;
      // What it said until now still goes to its readers.
      this.session.kill();
    };
    const timer =
      timeoutSeconds === undefined ? undefined : setTimeout(expire, Math.min(timeoutSeconds * 1000, MAX_TIMER_MS));
    this.ended = this.session.ended.then((end) => {
      clearTimeout(timer);
      return this.endOf(end);
    });
  }

  write(data: Buffer): void {
    this.session.write(data);
  }

  endInput(): void {
    this.session.endInput();
  }

  signal(name: CommandSignal): void {
    this.session.signal(name);
  }

  resize(size: TerminalSize): void {
    this.session.resize(size);
  }

  /** Ends all of it at once; what it still says is dropped. */
  kill(): void {
    this.session.drop();
  }

  private endOf(end: SessionEnd): ExecEnd {
    switch (end.end) {
      case 'Exited':
        return { end: 'Exited', exitCode: end.exitCode, timedOut: this.timedOut };
      case 'NotExecuted':
        return this.timedOut ? { end: 'Exited', exitCode: 128 + 9, timedOut: true } : end;
      case 'Gone':
        return { end: 'WorkGone' };
    }
  }
}
