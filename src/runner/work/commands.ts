/**
 * The set of commands and ports that are open in one piece of work for clients: how many there may be, and that none is opened once
 * the work ends. They end with the box.
 */
import type { ExecOrder } from '../../engines/compute/contract/engine.js';
import type { Agent } from '../agent/agent.js';
import type { Listener, Session } from '../agent/session.js';
import { Refused } from '../protocol/messages.js';
import { RunningCommand } from './command.js';

/** At once in one piece of work; one more is refused as Busy (I10). Each holds half a dozen descriptors and some hundred KiB. */
const MAX_COMMANDS = 128;
const MAX_PORTS = 256;

export class Commands {
  private readonly agent: Agent;
  private readonly running = new Set<RunningCommand>();
  private readonly ports = new Set<Session>();
  private closed = false;

  constructor(agent: Agent) {
    this.agent = agent;
  }

  /** Undefined when the work is ending. */
  start(order: ExecOrder, listener: Listener): RunningCommand | undefined {
    if (this.closed) return undefined;
    if (this.running.size >= MAX_COMMANDS) throw new Refused('Busy', `${this.running.size} commands run in this work`);
    const command = new RunningCommand(order, this.agent, listener);
    this.running.add(command);
    void command.ended.then(() => this.running.delete(command));
    return command;
  }

  /** Undefined when the work is ending. */
  connect(port: number, listener: Listener): Session | undefined {
    if (this.closed) return undefined;
    if (this.ports.size >= MAX_PORTS) throw new Refused('Busy', `${this.ports.size} connections go into this work`);
    const session = this.agent.open({ kind: 'port', port }, listener);
    this.ports.add(session);
    void session.ended.then(() => this.ports.delete(session));
    return session;
  }

  /** Takes no more; those that run end with the box. */
  close(): void {
    this.closed = true;
  }
}
