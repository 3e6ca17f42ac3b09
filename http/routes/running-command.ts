/** A command under way, as the two forms of its answer see it: whole (`exec-whole.ts`) and in frames (`exec-frames.ts`). */
import type { RefusalError } from '../../src/api/refusal.js';
import type { Execution } from '../../src/engines/compute/contract/engine.js';
import type { Exchange } from '../exchange.js';
import type { ServerContext } from '../server-context.js';

export interface RunningCommand {
  readonly x: Exchange;
  readonly context: ServerContext;
  readonly org: string;
  readonly execution: Execution;
  /** Why a command has ended with what it ran in. */
  readonly over: () => RefusalError;
  /** Aborts when its client may see no more of it, or the service does not wait any longer. */
  readonly stopped: AbortSignal;
}
