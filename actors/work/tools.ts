/**
 * Tells an object of a kind with tools (a Workspace) which browser tools there are programs for inside, so that its status shows those and no others. It looks when the
 * engine says that the work runs (after a restart of the service the engine says so again), and when a link to a tool was made: programs
 * can be installed in a Workspace that runs. Looking does not count as activity of the Workspace's user.
 *
 * I8: what was found names the epoch of the work. I10: one entry for each piece of work that runs, `AT_ONCE` looks at once, `OUTPUT_BYTES` of each.
 */
import type { Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import { deadline } from '../../src/deadline.js';
import type { ComputeEngine, WorkState } from '../../src/engines/compute/contract/engine.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { ObjectMessage } from '../../src/kinds/object-message.js';
import { BROWSER_TOOLS, type BrowserTool } from '../../src/kinds/workspace/browser-tools.js';
import type { MessageRouter } from '../message-router.js';
import { findOwner, type Attempts } from './attempts.js';
import { resolveEnvironment, type WorkSpecDeps } from './work-spec.js';
import { searchTools } from './tool-programs.js';

export interface Tools {
  /** Each state that the engine reports of any work. */
  note(state: WorkState): void;
  /** Nothing of this work is left. */
  gone(work: string): void;
  /** Something may have been installed. */
  look(uid: string, epoch: number): void;
}

export interface ToolsDeps extends WorkSpecDeps {
  readonly attempts: Pick<Attempts, 'find'>;
  readonly router: Pick<MessageRouter, 'send'>;
  readonly engine: Pick<ComputeEngine, 'exec'> | undefined;
  readonly kinds: readonly KindDefinition[];
  readonly stopping: AbortSignal;
  onProblem(message: string): void;
}

interface Entry {
  /** The Workspace's uid and its epoch. */
  of: string | undefined;
  looks: 'No' | 'Waits' | 'Now' | 'NowAndAgain';
}

type ToolsFound = Extract<ObjectMessage, { type: 'ToolsFound' }>;

const AT_ONCE = 4;
/** The end of a command that only looks, ms: `jupyter lab --version` takes seconds. */
const LOOK_MS = 20_000;
const OUTPUT_BYTES = 200;

export function openTools(deps: ToolsDeps): Tools {
  const entries = new Map<string, Entry>();
  const waiting: string[] = [];
  let looking = 0;

  function want(work: string, entry: Entry): void {
    if (entry.looks === 'Now') entry.looks = 'NowAndAgain';
    if (entry.looks !== 'No') return;
    entry.looks = 'Waits';
    waiting.push(work);
    pump();
  }

  function pump(): void {
    while (looking < AT_ONCE && !deps.stopping.aborted) {
      const work = waiting.shift();
      if (work === undefined) return;
      const entry = entries.get(work);
      if (entry?.looks !== 'Waits') continue;
      entry.looks = 'Now';
      looking += 1;
      void lookOnce(work, entry).finally(() => {
        looking -= 1;
        const again = entry.looks === 'NowAndAgain';
        entry.looks = 'No';
        if (again && entries.get(work) === entry) want(work, entry);
        pump();
      });
    }
  }

  async function lookOnce(work: string, entry: Entry): Promise<void> {
    const limit = deadline(LOOK_MS, deps.stopping);
    try {
      await tellFound(work, entry, limit.signal);
    } catch (error) {
      // What the engine says next of this work is a reason to look again.
      if (entries.get(work) === entry) entries.delete(work);
      if (!deps.stopping.aborted)
        deps.onProblem(`tools of ${work}: ${error instanceof Error ? error.message : 'unknown'}`);
    } finally {
      limit.clear();
    }
  }

  async function tellFound(work: string, entry: Entry, signal: AbortSignal): Promise<void> {
    const owner = await findOwner(work, deps.attempts, deps.read);
    const kind = deps.kinds.find((each) => each.kind === owner?.address.kind);
    if (owner === undefined || !kind?.subresources?.includes('tools')) return;
    const { epoch } = owner;
    entry.of = keyOf(owner.uid, epoch);
    const tools = await find(work, owner.address, epoch, signal);
    if (tools === undefined) return;
    const message: ToolsFound = { type: 'ToolsFound', epoch, tools };
    const taken = await deps.router.send(owner.address, owner.uid, message);
    if (taken !== 'Done' && taken !== 'Absent') throw new Error('the object has not taken what was found');
  }

  /** Undefined: it does not run any more. */
  async function find(
    work: string,
    owner: Address,
    epoch: number,
    signal: AbortSignal,
  ): Promise<readonly BrowserTool[] | undefined> {
    const body = await deps.read(owner);
    const plan = body && deps.kinds.find(({ kind }) => kind === owner.kind)?.workPlan?.(decodeObject(body), 0, epoch);
    if (plan === undefined) return undefined;
    const resolved = await resolveEnvironment(owner, plan, work, deps);
    if (resolved.outcome === 'Missing') return undefined;
    const { env } = resolved;
    const order = { work, command: searchTools(), env, workingDir: plan.workingDir };
    const started = await deps.engine?.exec(order, signal);
    if (started?.outcome !== 'Started') return undefined;
    const { execution } = started;
    execution.endInput();
    let output = '';
    for await (const { stream, data } of execution.output) {
      if (stream === 'stdout' && output.length < OUTPUT_BYTES) output += Buffer.from(data).toString('utf8');
    }
    const { end } = await execution.ended;
    signal.throwIfAborted();
    const words = output.split('\n');
    return end === 'Exited' ? Object.values(BROWSER_TOOLS).filter((tool) => words.includes(tool)) : undefined;
  }

  return {
    note({ id, phase }) {
      if (phase !== 'Running' || entries.has(id)) return;
      const entry: Entry = { of: undefined, looks: 'No' };
      entries.set(id, entry);
      want(id, entry);
    },
    gone: (work) => void entries.delete(work),
    look(uid, epoch) {
      const of = keyOf(uid, epoch);
      for (const [work, entry] of entries) if (entry.of === of) want(work, entry);
    },
  };
}

function keyOf(uid: string, epoch: number): string {
  return `${uid}.${epoch}`;
}
