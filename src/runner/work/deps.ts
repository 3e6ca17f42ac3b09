/** What a piece of work needs of the runner around it: plain functions and the machine's parts, nothing more. */
import type { OutputFile, WorkState } from '../../engines/compute/contract/engine.js';
import type { Agent, AgentDeps } from '../agent/agent.js';
import type { Isolation } from '../isolation/isolation.js';
import type { Listening } from '../../engines/compute/shared/egress/proxy-listener.js';
import type { PrivateFiles } from '../isolation/private-files.js';
import type { EgressSessionDeps } from '../../engines/compute/shared/egress/egress-session.js';
import type { WorkLogSpace } from '../../engines/compute/shared/log/org-logs.js';
import type { Group, Groups } from '../limits/groups.js';
import type { Pipes } from '../process/pipes.js';
import type { WireOrder } from '../protocol/messages.js';
import type { UnderSave } from '../journal/format.js';
import type { OutputOrder } from './path-map.js';
import type { ScratchSlot, ScratchFiles, Scratch } from './scratch.js';
import type { Semaphore } from './semaphore.js';

/** A box that was ready before anybody asked (`warm-pool.ts`). */
export interface WarmBox {
  readonly slot: ScratchSlot;
  readonly group: Group;
  readonly agent: Agent;
  readonly boxPid: number;
  /** Where its order wants a way out. */
  readonly listener: Listening | undefined;
}

export interface WarmBoxes {
  /** One of the order's shape, from now on the caller's own; undefined when there is none. */
  take(spec: WireOrder): WarmBox | undefined;
  /** Frees a scratch slot for work; false when no warm box holds any. */
  giveWay(): Promise<boolean>;
}

export interface WorkDeps {
  readonly now: () => number;
  readonly isolation: Isolation;
  /** Why no work can run on this machine; absent when it can. */
  readonly refusal?: string | undefined;
  readonly groups: Groups;
  readonly scratch: Scratch;
  readonly privateFiles: PrivateFiles;
  readonly pipes: Pipes;
  /** Undefined on a machine without what holds boxes open. */
  readonly agent: AgentDeps | undefined;
  readonly outward: EgressSessionDeps;
  /** One for each box that is being made. */
  readonly boxSemaphore: Semaphore;
  /** Boxes that are ready; undefined where none are kept. */
  readonly warmPool?: WarmBoxes | undefined;
  /** Bytes that went between this runner and its clients since it began. */
  relayed(): number;
  /** Some command's data goes past this runner now. */
  transferring(): boolean;
  logDirectory(id: string): string;
  /** For the logs of work that begins. */
  logSpace(spec: WireOrder): WorkLogSpace;
  onLogGrown(id: string, container: string): void;
  /** This log is complete though the work may go on. */
  onLogEnded(id: string, container: string): void;
  /** Takes the outputs of work of which nothing runs any more, but for those that an earlier try has settled. */
  collect(order: OutputOrder, slot: ScratchFiles, settled: readonly OutputFile[]): Promise<OutputFile[]>;
  /** Resolves when it is on the disk that these files are to be saved, also by a following runner. */
  journalSaving(id: string, saving: UnderSave): Promise<void>;
  /** Resolves when the end is on the disk. */
  journalEnd(state: WorkState): Promise<void>;
  /** One line for the runner's own log; never with anything of an order but its id. */
  report(line: string): void;
}
