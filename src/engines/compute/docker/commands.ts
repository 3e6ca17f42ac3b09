/**
 * What enters boxes beside what they run: commands and connections to ports, each a process of ours in the container and a stream of
 * the daemon's, which end with each other and with this service; and detached processes, which the box's first process starts and keeps.
 */
import type { Duplex } from 'node:stream';
import { EngineRefusal } from '../shared/refusal.js';
import type { ComputeEngine, ExecOrder, ExecStart, PortStart, ProcessStart } from '../contract/engine.js';
import type { Box } from './box.js';
import { asked, found } from './daemon.js';
import { BoxExecution } from './execution.js';
import { attachBox, type AttachedBox } from './frames.js';
import { execWords, lookLine, signalLine, startLine, writeLine } from './order-lines.js';
import { checkExec, SIGNAL_NUMBERS } from './orders.js';
import { openPort } from './port.js';

export class Commands {
  private readonly epoch: number;
  private readonly find: (work: string, signal: AbortSignal) => Promise<Box | undefined>;
  /** Ways to commands and ports that are open, and what they lead into. */
  private readonly entered = new Map<Duplex, Box>();
  private closed = false;

  /** `find`: the live box of this work. */
  constructor(epoch: number, find: (work: string, signal: AbortSignal) => Promise<Box | undefined>) {
    this.epoch = epoch;
    this.find = find;
  }

  /** Commands and connections end. */
  close(): void {
    this.closed = true;
    for (const stream of this.entered.keys()) stream.destroy();
  }

  /** Those in a box that goes: a daemon waits for clients that do not read before it lets the container go. */
  endIn(box: Box): void {
    for (const [stream, entered] of this.entered) if (entered === box) stream.destroy();
  }

  async exec(order: ExecOrder, signal: AbortSignal): Promise<ExecStart> {
    checkExec(order);
    const box = await this.enterable(order.work, signal);
    if (box === undefined) return { outcome: 'NotRunning' };
    const attached = await this.enter(box, execWords(order), signal);
    if (attached === undefined) return { outcome: 'NotRunning' };
    const execution = new BoxExecution(attached, signal, async (began) => {
      // Our process ends with the box; alone it ends only by the work's own doing, or for want of memory or processes.
      if (!(await this.goesOn(box, signal))) return { end: 'WorkGone' };
      if (began) return { end: 'Exited', exitCode: 128 + SIGNAL_NUMBERS.SIGKILL, timedOut: false };
      return { end: 'NotExecuted', reason: 'SandboxFailed', message: 'no process could be made in the box' };
    });
    return { outcome: 'Started', execution };
  }

  async startProcess(order: Parameters<ComputeEngine['startProcess']>[0], signal: AbortSignal): Promise<ProcessStart> {
    checkExec(order);
    const box = await this.enterable(order.work, signal);
    if (box === undefined) return { outcome: 'NotRunning' };
    const known = box.process(order.id);
    if (known !== undefined) return { outcome: 'Started', process: known };
    const { answer, message } = await asked(signal, () =>
      box.control.ask((request) => startLine(this.epoch, request, order), signal),
    );
    const process = box.process(order.id);
    if (answer === 'Started' && process !== undefined) return { outcome: 'Started', process };
    if (answer === 'Busy') throw new EngineRefusal('Busy', 'as many processes run in this work as may');
    if (answer === 'NotRunning' || answer === 'Started') return { outcome: 'NotRunning' };
    return { outcome: 'NotExecuted', reason: answer, message };
  }

  async processes(work: string, signal: AbortSignal): ReturnType<ComputeEngine['processes']> {
    const box = await this.find(work, signal);
    return box?.running === true ? box.allProcesses() : undefined;
  }

  async writeProcess(
    work: string,
    id: string,
    input: { readonly data: Uint8Array; readonly end: boolean },
    signal: AbortSignal,
  ): Promise<'Taken' | 'Full' | 'Gone'> {
    const box = await this.withProcess(work, id, signal);
    if (box === undefined) return 'Gone';
    const { answer } = await asked(signal, () =>
      box.control.ask((request) => writeLine(this.epoch, request, id, input.data, input.end), signal),
    );
    return answer === 'Taken' || answer === 'Full' ? answer : 'Gone';
  }

  async signalProcess(
    work: string,
    id: string,
    name: Parameters<ComputeEngine['signalProcess']>[2],
    signal: AbortSignal,
  ): Promise<'Sent' | 'Gone'> {
    const box = await this.withProcess(work, id, signal);
    if (box === undefined) return 'Gone';
    const { answer } = await asked(signal, () =>
      box.control.ask((request) => signalLine(this.epoch, request, id, SIGNAL_NUMBERS[name]), signal),
    );
    return answer === 'Sent' ? 'Sent' : 'Gone';
  }

  async connect(work: string, port: number, signal: AbortSignal): Promise<PortStart> {
    const box = await this.enterable(work, signal);
    const attached = box === undefined ? undefined : await this.enter(box, `port ${port}`, signal);
    return attached === undefined ? { outcome: 'NotRunning' } : openPort(attached, signal);
  }

  private async enterable(work: string, signal: AbortSignal): Promise<Box | undefined> {
    const box = await this.find(work, signal);
    if (box === undefined || !box.running) return undefined;
    if (!box.kept.enterable) throw new EngineRefusal('Invalid', 'this work was not ordered as enterable');
    return box;
  }

  private async withProcess(work: string, id: string, signal: AbortSignal): Promise<Box | undefined> {
    const box = await this.find(work, signal);
    const process = box?.process(id);
    return box?.running === true && process !== undefined && process.ended === undefined ? box : undefined;
  }

  /** A box that is ending kills what is in it before it says so, and before the daemon does: but then it does not answer any more. */
  private async goesOn(box: Box, signal: AbortSignal): Promise<boolean> {
    if (this.closed) return false;
    try {
      const { answer } = await box.control.ask((request) => lookLine(this.epoch, request), signal);
      return answer !== 'NotRunning' && box.running;
    } catch {
      if (this.closed) return false;
      // Work inside may have taken it over.
      const info = await found(box.container.inspect()).catch(() => undefined);
      return info?.State.Running === true && box.running;
    }
  }

  /** Undefined when the container does not run any more. */
  private async enter(box: Box, words: string, signal: AbortSignal): Promise<AttachedBox | undefined> {
    try {
      const attached = await asked(signal, async () => attachBox(box.container, words, signal));
      const { stream } = attached;
      this.entered.set(stream, box);
      stream.once('close', () => this.entered.delete(stream));
      // Came too late for `close` or `endIn`.
      if (this.closed || box.removed) stream.destroy();
      return attached;
    } catch (error) {
      signal.throwIfAborted();
      const info = await found(box.container.inspect()).catch(() => undefined);
      if (info?.State.Running !== true) return undefined;
      throw error;
    }
  }
}
