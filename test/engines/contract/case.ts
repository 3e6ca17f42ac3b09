/** What one case of the compute contract is, and what it may know of the machine around the work. */
import type { ExecutionContext } from 'ava';
import type { EngineFacts } from '../../../src/engines/compute/contract/engine.js';
import type { Harness } from '../compute-harness.js';

/** What a case may know of the machine around the work. */
export interface Surroundings {
  readonly facts: EngineFacts;
  /** Paths of the host that no work may see. */
  readonly hidden: readonly string[];
  /** Paths of the host's kind that the engine shows by its nature, though nothing of the host is there. */
  readonly shown?: readonly string[] | undefined;
  /** Every live piece of work has a host user of its own. */
  readonly ownUsers: boolean;
  /** The engine refuses system calls that namespaces do not cover. */
  readonly filters: boolean;
  /** A box has a bound of pseudo-terminals: not where a program mounts them that takes no such option. */
  readonly boundsTerminals: boolean;
  /** Host user of the process that has this argument; undefined when there is none. */
  userOf(argument: string): number | undefined;
  /** A process of this name (at most 15 characters) is in the machine's list, if only because it has not ended yet. */
  isListed(name: string): boolean;
  /** A directory that this process can write and the engine can read. */
  readonly files: string;
  /** Lets the engine's user read what this process put there. */
  share(path: string): void;
}

export interface ContractCase {
  readonly name: string;
  /** Limits that the machine must be able to enforce; else the case is skipped by name. */
  readonly needs?: readonly (keyof EngineFacts['enforced'])[];
  /** Only where work sees the machine's own system; elsewhere it has a copy, and hurts nobody but itself. */
  readonly ownSystem?: boolean | undefined;
  /** Only where commands are children of the box's first process, and so beyond the reach of what runs beside them. */
  readonly ownCommands?: boolean | undefined;
  /** Only where the filter of system calls is the engine's own, and not a daemon's. */
  readonly ownFilter?: boolean | undefined;
  readonly run: (t: ExecutionContext, harness: Harness, around: Surroundings) => Promise<void>;
}
