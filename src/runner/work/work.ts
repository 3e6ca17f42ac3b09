/**
 * The life of one piece of work, from its order to its end: prepare → box → init → sidecars → main → stop the rest →
 * collect outputs → clean. One pass of `live` does it all; its outcome is data (`outcome.ts`), of which the last state is made.
 *
 * States that are reported: Preparing → Running → Exited, or StartFailed at any point before main was executed. `sequence`
 * grows with each. The end is reported only after nothing of the work runs any more and its logs are complete.
 *
 * A box is `simple` when main is its only program. All other work lives in one that an agent holds open (`../agent/`) and in which it
 * starts everything, also what clients ask for (`commands.ts`) once it is Running; without a main program it is Running until it is
 * stopped.
 *
 * Stopping: `stop` sends SIGTERM to every process of the main program's tree, SIGKILL to the whole box after the grace; before
 * main runs it ends the preparation at once. What runs in the box is `box-programs.ts`.
 */
import { FundedTime } from './funded-time.js';
import { knownFault } from '../../kinds/attempt/faults.js';
import type { ExecOrder, OrderedProcess, OutputFile, WorkState } from '../../engines/compute/contract/engine.js';
import { patience, type Patience } from '../../engines/compute/shared/retry.js';
import { saveOutputs } from '../../engines/compute/shared/save-outputs.js';
import { EgressSession } from '../../engines/compute/shared/egress/egress-session.js';
import type { Agent } from '../agent/agent.js';
import type { Listener, Session } from '../agent/session.js';
import type { Launched } from '../process/launch.js';
import type { Box } from '../isolation/isolation.js';
import { Refused, type WireOrder } from '../protocol/messages.js';
import { prepareBox, relayApi } from './box.js';
import { BoxPrograms } from './box-programs.js';
import type { RunningCommand } from './command.js';
import { Commands } from './commands.js';
import { Processes } from './processes.js';
import { containersOf, hasVital, isAlone, isEnterable } from './programs.js';
import type { WarmBox, WorkDeps } from './deps.js';
import { journalEnd } from '../../engines/compute/shared/journal-end.js';
import { WorkLogs } from './logs.js';
import { failed, lastState, lostState, unexpected, type Ending, type Outcome } from './outcome.js';
import type { BoxProcess } from './box-process.js';
import { outputOrderOf } from './path-map.js';
import type { ScratchSlot } from './scratch.js';

/** A sidecar has this long between SIGTERM and SIGKILL after main ended. */
const SIDECAR_GRACE_MS = 5_000;
const NOT_ENTERABLE = 'this work was not ordered as one that may be entered';
const BOX_ENDED = 'the box ended';
const NO_AGENT =
  'perl is not installed on this machine: work that commands may enter, or that has init or sidecars, needs it';

export class Work {
  readonly spec: WireOrder;
  private current: WorkState;
  private readonly deps: WorkDeps;
  private readonly onState: (state: WorkState) => void;
  private readonly abort = new AbortController();
  private readonly logs: WorkLogs;
  private readonly programs: BoxPrograms;
  private slot: ScratchSlot | undefined;
  private mainPart: BoxProcess | undefined;
  private commands: Commands | undefined;
  private processes: Processes | undefined;
  /** Undefined: nothing outside may be reached. */
  private readonly egress: EgressSession | undefined;
  private ending: Ending | undefined;
  private finishing = false;
  /** The journal may say that its files are to be saved. */
  private noted = false;
  private killTimer: NodeJS.Timeout | undefined;
  readonly fundedTime = new FundedTime((message, graceMs) => this.exceeded('FundingUnknown', message, graceMs));
  private readonly abandoned = new AbortController();
  /** Resolves when the end was reported and the scratch is gone. */
  readonly done: Promise<void>;

  constructor(spec: WireOrder, deps: WorkDeps, onState: (state: WorkState) => void) {
    this.spec = spec;
    this.deps = deps;
    this.onState = onState;
    this.logs = new WorkLogs(spec, deps);
    const { network, egressAllow = [] } = spec;
    if (network !== undefined && network.egress !== 'Deny') {
      this.egress = new EgressSession(network, egressAllow, deps.outward, (line) => this.logs.connection(line));
    }
    this.programs = new BoxPrograms({
      ...{ spec, deps, logs: this.logs, egress: this.egress },
      isEnding: () => this.ending !== undefined,
      onAgentBroken: (why) => this.agentBroke(why),
    });
    this.current = { id: spec.id, phase: 'Preparing', sequence: 1, preparedAt: deps.now() };
    this.done = this.run();
  }

  get state(): WorkState {
    return this.current;
  }

  get containers(): string[] {
    return containersOf(this.spec);
  }

  /** No log was written. Only of work that has ended. */
  get silent(): boolean {
    return this.logs.silent && (this.processes?.list().length ?? 0) === 0;
  }

  mayGrow(container: string): boolean {
    if (this.current.endedAt !== undefined) return false;
    if (this.containers.includes(container)) return this.logs.mayGrow(container);
    return this.processes?.mayGrow(container) === true;
  }

  stop(graceMs: number): void {
    this.end({ reason: 'Stopped', message: 'stopped before the main program ran' }, graceMs);
  }

  /** Ends the work at once: the machine cannot run it. */
  giveUp(message: string): void {
    this.end({ reason: 'Unavailable', message }, 0);
  }

  /** Nobody wants what it was to save any more. */
  abandon(): void {
    this.abandoned.abort();
  }

  /** Undefined when it does not run. Throws Refused for work that was not ordered to be entered. */
  exec(order: ExecOrder, listener: Listener): RunningCommand | undefined {
    if (!isEnterable(this.spec)) throw new Refused('Invalid', NOT_ENTERABLE);
    return this.current.phase === 'Running' ? this.commands?.start(order, listener) : undefined;
  }

  /** The same for a port inside. */
  connect(port: number, listener: Listener): Session | undefined {
    if (!isEnterable(this.spec)) throw new Refused('Invalid', NOT_ENTERABLE);
    return this.current.phase === 'Running' ? this.commands?.connect(port, listener) : undefined;
  }

  runningProcesses(): Processes | undefined {
    if (!isEnterable(this.spec)) throw new Refused('Invalid', NOT_ENTERABLE);
    return this.current.phase === 'Running' ? this.processes : undefined;
  }

  /** What its disk is measured by. */
  measured(): readonly string[] {
    return this.slot?.measured() ?? [];
  }

  /** The kernel's list of its processes, by host ids, undefined without control groups. */
  processList(): string | undefined {
    return this.programs.group?.processList;
  }

  /** Another one once something of it has run; undefined: not known. */
  activity(): string | undefined {
    return this.programs.group?.activity();
  }

  /** Host id of the first process of its box. */
  get firstProcess(): number | undefined {
    return this.programs.firstProcess;
  }

  /** Ends the work at once because its files are more than they may be; `what` says in which way. */
  diskFull(what: string): void {
    this.exceeded('DiskFull', `the work's files ${what}`);
  }

  /** The same for memory of the kernel that no group counts. */
  kernelMemoryFull(what: string): void {
    this.exceeded('OutOfMemory', `the work's ${what}`);
  }

  private exceeded(reason: Ending['reason'], message: string, graceMs = 0): void {
    if (this.spec.main !== undefined) this.logs.say(this.spec.main.name, message);
    this.end({ reason, message }, graceMs);
  }

  private end(ending: Ending, graceMs: number): void {
    this.ending ??= ending;
    const main = this.mainPart;
    if (main === undefined) {
      this.abort.abort();
      this.killBox();
      return;
    }
    if (graceMs <= 0 || !main.terminate()) return this.killBox();
    clearTimeout(this.killTimer);
    this.killTimer = setTimeout(() => this.killBox(), graceMs);
  }

  private killBox(): void {
    this.commands?.close();
    this.programs.kill();
  }

  private async run(): Promise<void> {
    let outcome: Outcome;
    try {
      outcome = await this.live();
    } catch (error) {
      outcome = unexpected(error);
    }
    let outputs: readonly OutputFile[] | undefined;
    let outOfMemory = false;
    const limit = patience(this.deps.now, this.abandoned.signal);
    try {
      this.finishing = true;
      this.killBox();
      outOfMemory = outcome.exitCode !== 0 && (this.programs.group?.oomKills() ?? 0) > 0;
      await this.programs.over();
      await this.processes?.close();
      this.programs.release();
      if (outcome.kind === 'exited') outputs = await this.save(outcome, outOfMemory, limit);
      await this.logs.end();
      await this.logs.whole(this.processes?.logs(), limit, (error) => this.report({ saving: { error } }));
    } catch (error) {
      this.deps.report(`${this.spec.id}: ${(error as Error).message}`);
    }
    clearTimeout(this.killTimer);
    this.fundedTime.close();
    const journaled = await this.finish(outcome, outOfMemory, outputs, limit);
    try {
      // Otherwise a following runner would take what lies there by then for what this work has left.
      const mayGo = journaled || !this.noted;
      if (this.slot !== undefined && mayGo) await this.deps.scratch.giveBack(this.slot);
    } catch (error) {
      this.deps.report(`${this.spec.id}: ${(error as Error).message}`);
    }
  }

  private async save(
    outcome: Outcome & { readonly kind: 'exited' },
    outOfMemory: boolean,
    limit: Patience,
  ): Promise<readonly OutputFile[] | undefined> {
    const { slot, spec, deps } = this;
    if (slot === undefined || spec.outputs.length === 0) return undefined;
    const end = (): WorkState =>
      lastState(this.current, outcome, this.ending, {
        ...{ endedAt: this.deps.now(), outOfMemory, outputs: undefined },
      });
    if (hasVital(spec)) await this.noteSaving(end());
    return saveOutputs({
      outputs: spec.outputs,
      collect: (settled) => deps.collect(spec, slot, settled),
      report: (saving) => {
        this.report({ saving });
        // Not waited for: there may be no room for it either.
        if (saving.error !== undefined && !this.noted) void this.noteSaving(end());
      },
      patience: limit,
    });
  }

  /** Should this runner die, the next one saves its files before it clears the place, and `end` is then its end. */
  private async noteSaving(end: WorkState): Promise<void> {
    const { spec, deps, slot } = this;
    if (slot === undefined) return;
    this.noted = true;
    await deps
      .journalSaving(spec.id, { slot: slot.number, order: outputOrderOf(spec), end })
      .catch((error: Error) => deps.report(`${spec.id}: ${error.message}`));
  }

  private async live(): Promise<Outcome> {
    const { spec, deps } = this;
    if (spec.rootfs === 'missing') return failed('ImageNotFound', `this machine has no image ${spec.image}`);
    if (deps.refusal !== undefined) return failed('Unavailable', deps.refusal);
    const { refusal } = deps.outward.endpoints;
    if (this.egress !== undefined && refusal !== undefined) return failed('Unavailable', refusal);
    const warmBox = deps.warmPool?.take(spec);
    if (warmBox !== undefined) return this.liveInWarmBox(warmBox);
    this.slot = deps.scratch.take();
    if (this.slot === undefined && (await deps.warmPool?.giveWay()) === true) this.slot = deps.scratch.take();
    if (this.slot === undefined) return failed('Unavailable', 'no place is free');
    const group = await deps.groups.create(spec.id, spec.limits);
    this.programs.group = group;
    const prepared = await prepareBox(spec, spec.id, this.slot, group, deps, this.abort.signal);
    if (prepared.kind === 'failed') return prepared;
    const { unrestored } = prepared;
    if (unrestored !== undefined) this.current = { ...this.current, unrestored };
    if (this.ending !== undefined) return this.ended();
    const gated = this.egress === undefined || deps.isolation.gates;
    if (gated && isAlone(spec) && spec.main !== undefined) {
      return this.runMain(spec.main, await this.programs.launchOnly(spec.main, prepared.box));
    }
    return this.liveTogether(prepared.box);
  }

  /** The box is there already. */
  private async liveInWarmBox(warmBox: WarmBox): Promise<Outcome> {
    const { slot, agent } = warmBox;
    this.slot = slot;
    this.programs.adopt(warmBox);
    // Not waited for: what the box asks before that is known waits for it in the proxy.
    void relayApi(this.spec, this.spec.id, slot, this.deps);
    this.commands = new Commands(agent);
    this.processes = this.openProcesses(agent);
    // Known already; who waits for this work hears of it only after it was told that there is one.
    await agent.holder.ready;
    return this.idle(agent.holder);
  }

  /** Init, sidecars and main in one box that an agent holds open. */
  private async liveTogether(box: Box): Promise<Outcome> {
    const { spec, deps } = this;
    if (deps.agent === undefined) return failed('Unavailable', NO_AGENT);
    const opened = await this.programs.openAgent(box, deps.agent);
    if (opened === undefined) return this.ended();
    const { agent, boxPid } = opened;
    const { holder } = agent;
    if (boxPid === undefined) {
      return this.ending === undefined ? failed('SandboxFailed', (await holder.exited).error) : this.ended();
    }
    if (!(await this.programs.openOutward(boxPid))) return this.unconnected();
    if (spec.init !== undefined) {
      const refused = await this.runInit(spec.init, agent);
      if (refused !== undefined) return refused;
    }
    if (this.ending !== undefined) return this.ended();
    const sidecars = spec.sidecars.map((sidecar) => this.programs.begin(sidecar, agent));
    if (isEnterable(spec)) {
      this.commands = new Commands(agent);
      this.processes = this.openProcesses(agent);
    }
    if (spec.main === undefined) return this.idle(holder);
    const outcome = await this.runMain(spec.main, this.programs.begin(spec.main, agent));
    await this.stopSidecars(sidecars);
    return outcome;
  }

  private openProcesses(agent: Agent): Processes {
    const { deps, spec } = this;
    const processes = new Processes({
      agent,
      logs: deps.logDirectory(spec.id),
      logBytes: spec.limits.logBytes,
      logSpace: this.logs.space,
      now: deps.now,
      onLogGrown: (container) => deps.onLogGrown(spec.id, container),
      onLogEnded: (container) => deps.onLogEnded(spec.id, container),
      onChange: () => {
        const { running } = processes;
        if (this.current.phase === 'Running' && !this.finishing && (this.current.processes ?? 0) !== running)
          this.report({ processes: running });
      },
    });
    return processes;
  }

  private async runInit(init: OrderedProcess, agent: Agent): Promise<Outcome | undefined> {
    const part = this.programs.begin(init, agent);
    const timer = this.timeLimit(init, part);
    const end = await part.exited;
    clearTimeout(timer);
    const exitCode = end.end === 'Exited' ? end.exitCode : undefined;
    if (this.ending?.reason === 'TimedOut') return failed('InitFailed', this.ending.message, exitCode);
    if (this.ending !== undefined) return this.ended();
    if (end.end === 'NotExecuted') return failed(knownFault(end.reason), `${init.name}: ${end.message}`);
    if (end.end === 'Gone') return failed('SandboxFailed', BOX_ENDED);
    if (exitCode !== 0) return failed('InitFailed', `init ended with exit code ${exitCode}`, exitCode);
    return undefined;
  }

  /** Nothing that it says counts any more, and so nothing that runs there. */
  private agentBroke(why: string): void {
    this.deps.report(`${this.spec.id}: the agent of its box broke its word: ${why}`);
    this.killBox();
  }

  /** Until it is stopped, which is its end as meant, or until something else ends the box. */
  private async idle(holder: Launched): Promise<Outcome> {
    this.reportRunning();
    await holder.exited;
    return { kind: 'exited', exitCode: this.ending?.reason === 'Stopped' ? 0 : 128 + 9 };
  }

  private async runMain(main: OrderedProcess, part: BoxProcess): Promise<Outcome> {
    this.mainPart = part;
    const timer = this.timeLimit(main, part);
    void part.running.then((running) => {
      if (!running) return;
      // A stop that came before there was anything to signal.
      if (this.ending !== undefined) this.killBox();
      if (this.current.phase === 'Preparing') this.reportRunning();
    });
    const end = await part.exited;
    clearTimeout(timer);
    if (this.programs.outwardFailure !== undefined) return this.unconnected();
    if (end.end === 'Exited') return { kind: 'exited', exitCode: end.exitCode };
    if (end.end === 'NotExecuted' && this.ending === undefined)
      return failed(knownFault(end.reason), `${main.name}: ${end.message}`);
    // The runner's own kill can come before the isolation tells of an exit code.
    if (this.current.phase === 'Running') return { kind: 'exited', exitCode: 128 + 9 };
    return this.ending === undefined ? failed('SandboxFailed', BOX_ENDED) : this.ended();
  }

  private async stopSidecars(sidecars: readonly BoxProcess[]): Promise<void> {
    if (this.ending !== undefined && this.ending.reason !== 'Stopped') return this.killBox();
    for (const sidecar of sidecars) sidecar.terminate();
    const kill = setTimeout(() => this.killBox(), SIDECAR_GRACE_MS);
    await Promise.all(sidecars.map((sidecar) => sidecar.exited));
    clearTimeout(kill);
  }

  private timeLimit(process: OrderedProcess, part: BoxProcess): NodeJS.Timeout | undefined {
    if (process.timeoutSeconds === undefined) return undefined;
    const limit = process.timeoutSeconds;
    return setTimeout(() => {
      const message = `${process.name} ran longer than ${limit} s`;
      this.logs.say(process.name, message);
      this.ending ??= { reason: 'TimedOut', message };
      this.killBox();
      part.kill();
    }, limit * 1000);
  }

  private unconnected(): Outcome {
    return this.ending === undefined
      ? failed('SandboxFailed', this.programs.outwardFailure ?? BOX_ENDED)
      : this.ended();
  }

  private ended(): Outcome {
    const { reason, message } = this.ending ?? { reason: 'Stopped', message: 'stopped' };
    return failed(reason, message);
  }

  /** True when the end is on the disk. */
  private async finish(
    outcome: Outcome,
    outOfMemory: boolean,
    outputs: readonly OutputFile[] | undefined,
    limit: Patience,
  ): Promise<boolean> {
    const ended = { endedAt: this.deps.now(), outOfMemory, outputs };
    const state = (): WorkState => lastState(this.current, outcome, this.ending, ended);
    const journaled = await journalEnd(state, this.deps, limit, (saving) => this.report({ saving }));
    this.current = state();
    this.onState(this.current);
    return journaled;
  }

  /** What it makes from here on is worth saving should its runner die. */
  private reportRunning(): void {
    this.report({ phase: 'Running', startedAt: this.deps.now() });
    // Not waited for: it stands against the death of the runner as soon as it is written.
    if (hasVital(this.spec)) void this.noteSaving(lostState(this.current, 0));
  }

  private report(change: Partial<WorkState>): void {
    this.current = { ...this.current, ...change, sequence: this.current.sequence + 1 };
    this.onState(this.current);
  }
}
