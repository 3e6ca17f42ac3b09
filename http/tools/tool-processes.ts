/**
 * Starts a browser tool when a request comes for it: on demand, in the background of the Workspace, once.
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
import type { BrowserSession } from './browser-sessions.js';

export interface ToolProcesses {
  /** Resolves when it listens. Refuses as `enter` does, and with WorkspaceToolUnavailable when it ends instead. */
  ready(session: BrowserSession): Promise<void>;
  /** Nobody listens there any more: the next `ready` looks again. */
  lost(session: BrowserSession): void;
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

export function openToolProcesses(commands: Pick<Commands, 'start' | 'connect'>): ToolProcesses {
  const running = new LRUCache<string, Start>({ max: MOST });

  async function start(session: BrowserSession): Promise<void> {
    const program = TOOLS[session.tool].programs.find(({ name }) => name === session.program);
    if (program === undefined) throw ended(session);
    const prefix = toolPath(session.owner, session.tool).slice(0, -1);
    const command = launch(session.tool, program.command(TOOLS[session.tool].port, prefix));
    const patience = deadline(START_MS, NEVER);
    try {
      for (;;) {
        const launched = LAUNCHED.exec((await run(commands, session, command)).said);
        if (launched === null) throw ended(session);
        const [, how, pid] = launched;
        if (await begins(session, Number(pid), patience.signal)) return;
        // One that was there already was about to end, as after "Shut Down" in its menu.
        if (how !== FOUND) throw ended(session);
      }
    } catch (error) {
      if (!patience.signal.aborted) throw error;
      throw refuse('Unavailable', `${session.program} has not begun to listen yet`, { retryAfterSeconds: 5 });
    } finally {
      patience.clear();
    }
  }

  /** Whether it listens before it ends. */
  async function begins(session: BrowserSession, pid: number, signal: AbortSignal): Promise<boolean> {
    for (let look = 1; ; look += 1) {
      if (await listens(session, signal)) return true;
      if (look % ASK_EVERY === 0 && (await run(commands, session, alive(pid))).exitCode !== 0) return false;
      await delay(LOOK_MS, undefined, { signal });
    }
  }

  async function listens({ owner, epoch, tool }: BrowserSession, signal: AbortSignal): Promise<boolean> {
    const connected = await commands.connect(owner, { port: TOOLS[tool].port, epoch }, signal);
    if (connected.outcome === 'Connected') connected.stream.destroy();
    return connected.outcome === 'Connected';
  }

  return {
    async ready(session) {
      const key = keyOf(session);
      const known = running.get(key);
      if (known !== undefined) return known.listening;
      const started: Start = { listening: start(session), over: false };
      running.set(key, started);
      try {
        await started.listening;
        started.over = true;
      } catch (error) {
        if (running.peek(key) === started) running.delete(key);
        throw error;
      }
    },
    lost(session) {
      const key = keyOf(session);
      // The first request that found no tool has started it for the others, too.
      if (running.peek(key)?.over) running.delete(key);
    },
  };
}

/** A request that is given up does not stop what others may wait for. */
const NEVER = new AbortController().signal;

function keyOf({ uid, epoch, tool }: BrowserSession): string {
  return `${uid}.${epoch}.${tool}`;
}

function ended({ owner, tool, program }: BrowserSession): Error {
  return refuse('WorkspaceToolUnavailable', `${program} does not run in Workspace "${owner.name}"`, {
    target: { kind: owner.kind, name: owner.name },
    fix: `Read ${logOf(tool)} inside: it holds what the program has written.`,
  });
}

/** Runs a short command to its end; of what it says, the first words are kept. */
export async function run(
  commands: Pick<Commands, 'start'>,
  { owner, epoch }: Pick<BrowserSession, 'owner' | 'epoch'>,
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
