/**
 * The programs of one piece of work in its box: launches them, gives each its log, connects the box with the outside, and waits for their
 * end. When what they run for is over, and what that means, is the work's to say (`work.ts`).
 *
 * Killing the box's first process kills everything in its pid namespace.
 */
import type { OrderedProcess } from '../../engines/compute/contract/engine.js';
import { Agent } from '../agent/agent.js';
import type { EgressSession } from '../../engines/compute/shared/egress/egress-session.js';
import type { Box } from '../isolation/isolation.js';
import type { Group } from '../limits/groups.js';
import { firstFeed, launch, type Launched } from '../process/launch.js';
import type { WireOrder } from '../protocol/messages.js';
import type { WarmBox, WorkDeps } from './deps.js';
import type { WorkLogs } from './logs.js';
import { heldProgram, onlyProgram, type BoxProcess } from './box-process.js';

export interface BoxProgramsDeps {
  readonly spec: WireOrder;
  readonly deps: WorkDeps;
  readonly logs: WorkLogs;
  /** Undefined: nothing outside may be reached. */
  readonly egress: EgressSession | undefined;
  /** The work is being ended: nothing more is launched. */
  isEnding(): boolean;
  onAgentBroken(why: string): void;
}

export class BoxPrograms {
  /** Everything of the work runs in it. */
  group: Group | undefined;
  private readonly about: BoxProgramsDeps;
  private readonly launched: Launched[] = [];
  private readonly parts: BoxProcess[] = [];
  private agent: Agent | undefined;
  private pid: number | undefined;
  private failure: string | undefined;

  constructor(about: BoxProgramsDeps) {
    this.about = about;
  }

  /** Host id of the first process of the box. */
  get firstProcess(): number | undefined {
    return this.pid;
  }

  /** Why the box could not be connected with the outside. */
  get outwardFailure(): string | undefined {
    return this.failure;
  }

  /** A box that is there already. */
  adopt({ group, agent, boxPid, listener }: WarmBox): void {
    this.group = group;
    this.agent = agent;
    agent.onBroken = this.about.onAgentBroken;
    this.launched.push(agent.holder);
    this.pid = boxPid;
    if (listener !== undefined) this.about.egress?.serve(listener);
  }

  /** Opens the box with an agent that holds it. Undefined: the work is being ended. */
  async openAgent(box: Box, settings: NonNullable<WorkDeps['agent']>): Promise<Opened | undefined> {
    const { deps, isEnding, onAgentBroken } = this.about;
    const over = await deps.boxSemaphore.take();
    try {
      if (isEnding()) return undefined;
      const agent = await Agent.launch(box, this.group, settings, onAgentBroken);
      this.agent = agent;
      this.launched.push(agent.holder);
      this.pid = await agent.holder.boxPid;
      const ready = await agent.holder.ready;
      return { agent, boxPid: ready ? this.pid : undefined };
    } finally {
      over();
    }
  }

  /** The box's only program. */
  async launchOnly(process: OrderedProcess, box: Box): Promise<BoxProcess> {
    const { deps, spec, logs, egress, isEnding } = this.about;
    const log = logs.open(process.name);
    const { command, env } = process;
    const memberFiles = this.group?.openMemberFiles() ?? [];
    const plan = deps.isolation.box(
      { ...box, gated: egress !== undefined },
      { command, env, workingDir: spec.workingDir },
      firstFeed(memberFiles.length),
    );
    const over = await deps.boxSemaphore.take();
    const launched = await launch(plan, memberFiles, deps.pipes, log).catch((error: unknown) => {
      over();
      throw error;
    });
    this.launched.push(launched);
    const passed = launched.boxPid.then(async (pid) => {
      over();
      this.pid = pid;
      if (pid === undefined || !(await this.openOutward(pid))) return false;
      launched.pass();
      return true;
    });
    const part = onlyProgram(launched, process, passed);
    this.parts.push(part);
    void logs.endWith(part, process.name);
    if (isEnding()) part.kill();
    return part;
  }

  /** One of several. */
  begin(process: OrderedProcess, agent: Agent): BoxProcess {
    const { spec, logs } = this.about;
    const log = logs.open(process.name);
    const { command, env } = process;
    const session = agent.open({ kind: 'command', command, env, workingDir: spec.workingDir }, log);
    session.endInput();
    const part = heldProgram(session);
    this.parts.push(part);
    void logs.endWith(part, process.name);
    return part;
  }

  /** False: it could not be made, and so the box is ended. */
  async openOutward(boxPid: number): Promise<boolean> {
    try {
      await this.about.egress?.open(boxPid);
      return true;
    } catch (error) {
      this.failure = (error as Error).message;
      this.kill();
      return false;
    }
  }

  kill(): void {
    // With the first process of its box each takes all others there.
    for (const process of this.launched) process.kill();
  }

  /** Resolves when nothing of it runs any more and all that it has said was read. */
  async over(): Promise<void> {
    await this.group?.destroy();
    await Promise.all(this.launched.map((process) => process.gone()));
    await this.about.egress?.close();
    this.agent?.close();
    await Promise.all([...this.launched, ...this.parts].map(({ drained }) => drained));
  }

  /** Gives back what each process was launched with. */
  release(): void {
    for (const process of this.launched) process.release();
  }
}

export interface Opened {
  readonly agent: Agent;
  /** Undefined: it ended before it was ready. */
  readonly boxPid: number | undefined;
}
