/**
 * Owns that a tool runs when somebody comes to it: started on demand, in the background of the Workspace, once.
 *
 * It is no detached process of the API: those keep a Workspace awake, and a tool that nobody looks at must not.
 * I10: MOST tools are remembered as running; one that was forgotten is asked for again, which costs a command.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Commands } from '../../actors/work/commands.js';
import { deadline } from '../../src/deadline.js';
import { refuse } from '../../src/api/refusal.js';
import { toolPath } from '../../src/kinds/workspace/connect.js';
import { alive, FOUND, launch, logOf, TOOLS } from '../../actors/work/tool-programs.js';
import type { Visit } from './visits.js';

export interface Runs {
  /** Resolves when it listens. Refuses as `enter` does, and with WorkspaceToolUnavailable when it ends instead. */
  ready(visit: Visit): Promise<void>;
  /** Nobody listens there any more: the next `ready` looks again. */
  lost(visit: Visit): void;
}

const MOST = 5_000;
/** Jupyter on a busy machine loads for many seconds. */
const START_MS = 60_000;
const LOOK_MS = 50;
/** Of those looks, each so many-th asks whether it still lives; the first of them tells one that does not start at all. */
const ASK_EVERY = 10;
/** The end of a command that only looks, ms. */
const COMMAND_MS = 10_000;
/** A word and a process id, or the name of a program. */
const SAID_BYTES = 200;

/** What `launch` says. */
const LAUNCHED = /^(\w+) ([1-9]\d{0,9})$/;

interface Start {
  readonly listening: Promise<void>;
  over: boolean;
}

export function openRuns(commands: Pick<Commands, 'start' | 'connect'>): Runs {
  const running = new LRUCache<string, Start>({ max: MOST });

  async function start(visit: Visit): Promise<void> {
    const program = TOOLS[visit.tool].programs.find(({ name }) => name === visit.program);
    if (program === undefined) throw ended(visit);
    const prefix = toolPath(visit.owner, visit.tool).slice(0, -1);
    const command = launch(visit.tool, program.command(TOOLS[visit.tool].port, prefix));
    const patience = deadline(START_MS, NEVER);
    try {
      for (;;) {
        const launched = LAUNCHED.exec((await run(commands, visit, command)).said);
        if (launched === null) throw ended(visit);
        const [, how, pid] = launched;
        if (await begins(visit, Number(pid), patience.signal)) return;
        // One that was there already was about to end, as after "Shut Down" in its menu.
        if (how !== FOUND) throw ended(visit);
      }
    } catch (error) {
      if (!patience.signal.aborted) throw error;
      throw refuse('Unavailable', `${visit.program} has not begun to listen yet`, { retryAfterSeconds: 5 });
    } finally {
      patience.clear();
    }
  }

  /** Whether it listens before it ends. */
  async function begins(visit: Visit, pid: number, signal: AbortSignal): Promise<boolean> {
    for (let look = 1; ; look += 1) {
      if (await listens(visit, signal)) return true;
      if (look % ASK_EVERY === 0 && (await run(commands, visit, alive(pid))).exitCode !== 0) return false;
      await delay(LOOK_MS, undefined, { signal });
    }
  }

  async function listens({ owner, epoch, tool }: Visit, signal: AbortSignal): Promise<boolean> {
    const connected = await commands.connect(owner, { port: TOOLS[tool].port, epoch }, signal);
    if (connected.outcome === 'Connected') connected.stream.destroy();
    return connected.outcome === 'Connected';
  }

  return {
    async ready(visit) {
      const key = keyOf(visit);
      const known = running.get(key);
      if (known !== undefined) return known.listening;
      const started: Start = { listening: start(visit), over: false };
      running.set(key, started);
      try {
        await started.listening;
        started.over = true;
      } catch (error) {
        if (running.peek(key) === started) running.delete(key);
        throw error;
      }
    },
    lost(visit) {
      const key = keyOf(visit);
      // Whoever found nobody there before the others: its start is theirs, too.
      if (running.peek(key)?.over) running.delete(key);
    },
  };
}

/** Whoever leaves does not stop what others may wait for. */
const NEVER = new AbortController().signal;

function keyOf({ uid, epoch, tool }: Visit): string {
  return `${uid}.${epoch}.${tool}`;
}

function ended({ owner, tool, program }: Visit): Error {
  return refuse('WorkspaceToolUnavailable', `${program} does not run in Workspace "${owner.name}"`, {
    target: { kind: owner.kind, name: owner.name },
    fix: `Read ${logOf(tool)} inside: it holds what the program has written.`,
  });
}

/** Runs a short command to its end; of what it says, the first words are kept. */
export async function run(
  commands: Pick<Commands, 'start'>,
  { owner, epoch }: Pick<Visit, 'owner' | 'epoch'>,
  command: readonly string[],
): Promise<{ readonly exitCode: number | undefined; readonly said: string }> {
  const patience = deadline(COMMAND_MS, NEVER);
  try {
    const execution = await commands.start(owner, { command, env: {}, epoch }, patience.signal);
    execution.endInput();
    let said = '';
    for await (const { stream, data } of execution.output) {
      if (stream === 'stdout' && said.length < SAID_BYTES) said += Buffer.from(data).toString('utf8');
    }
    const end = await execution.ended;
    return { exitCode: end.end === 'Exited' ? end.exitCode : undefined, said: said.slice(0, SAID_BYTES).trim() };
  } finally {
    patience.clear();
  }
}
