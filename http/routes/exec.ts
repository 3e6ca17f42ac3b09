/**
 * Serves `POST …/exec`: a command inside, its input from the body, its output collected into one answer or sent
 * as frames while it comes. How a command gets inside is the engine's matter (`Commands`).
 *
 * The command lives as long as its request: who leaves ends it. With frames, a client that reads slowly slows the program
 * and nobody else; without, at most KEPT_BYTES of each stream are kept and the rest is dropped (I10).
 * Source: decisions, "Routes not shown", Command.
 */
import { causeOfCommand, fixOfCommand } from './not-executed.js';
import { refuse, RefusalError } from '../../src/api/refusal.js';
import type { Caller } from '../../actors/resource-service.js';
import type { Execution, ExecEnd } from '../../src/engines/compute/contract/engine.js';
import { notRunning } from '../../actors/work/attach.js';
import { addressOf, stillMay } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import type { SubresourceTarget } from '../target.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import { refuseIdempotencyKey } from '../resources/options.js';
import { replyJson } from '../reply.js';
import type { ServerContext } from '../server-context.js';
import { Outflow } from '../stream.js';
import { readCommand } from './command-body.js';
import { exitView, FRAMES, line, textOf, type ExitView } from './frames.js';

/** Of each stream, in an answer that comes as a whole. */
const KEPT_BYTES = 8 * 1024 * 1024;
const STOPPED = 'it stopped before the command had ended';

/** Why a command has ended with what it ran in. */
type Over = () => RefusalError;

export async function serveExec(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  target: SubresourceTarget,
): Promise<void> {
  const { kind, project, name, rest } = target;
  if (rest.length > 0) throw refuse('NotFound', 'exec has no subpaths');
  if (x.method !== 'POST') throw methodNotAllowed(x, ['POST']);
  x.verb = 'exec';
  const address = addressOf(caller, kind, project, name, 'exec');
  refuseIdempotencyKey(
    x,
    'exec takes no Idempotency-Key: a command that is sent again runs again',
    'Start the command with POST …/processes, which runs it once for each Idempotency-Key, or leave the header out.',
  );
  const { command, stdin } = await readCommand(x, context.bodies, await context.bodies.read(x));
  const stopping = new AbortController();
  // Most commands end within the time of a drain. One that does not ends with the service, and its caller is told.
  const release = context.streams.add(x, {
    allows: stillMay(kind, project, name, 'exec'),
    revoke: (why) => stopping.abort(why),
    end: () => undefined,
    cut: () => stopping.abort(shuttingDown()),
  });
  try {
    const begun = performance.now();
    const execution = await context.commands.start(address, command, AbortSignal.any([x.gone, stopping.signal]));
    const fed = feed(execution, stdin);
    const over = (): RefusalError => {
      const { reason }: { readonly reason: unknown } = stopping.signal;
      return reason instanceof RefusalError ? reason : notRunning(address, STOPPED);
    };
    if (x.header('accept')?.includes(FRAMES)) await sendFrames(x, execution, over);
    else await sendWhole(x, execution, over, begun);
    await fed;
  } finally {
    release();
  }
}

/** Clients try again by themselves where they are told when: but nobody else than the caller knows whether a command may be run twice. */
function shuttingDown(): RefusalError {
  return refuse('Unavailable', 'the service is shutting down and stopped the command before it finished', {
    retryAfterSeconds: 'Never',
    fix: 'Look at what the command has done, then decide whether to run it again.',
  });
}

async function feed(execution: Execution, stdin: string | undefined): Promise<void> {
  if (stdin !== undefined && stdin !== '') await execution.write(Buffer.from(stdin));
  execution.endInput();
}

/** What is kept of one stream. */
class Kept {
  readonly #parts: Uint8Array[] = [];
  #left = KEPT_BYTES;
  cut = false;

  add(data: Uint8Array): void {
    if (data.length > this.#left) this.cut = true;
    const part = data.subarray(0, this.#left);
    this.#left -= part.length;
    if (part.length > 0) this.#parts.push(part);
  }

  /** Bytes that are no UTF-8 are replaced; with frames they come as they are. */
  text(): string {
    return Buffer.concat(this.#parts).toString('utf8');
  }
}

async function sendWhole(x: Exchange, execution: Execution, over: Over, begun: number): Promise<void> {
  const kept = { stdout: new Kept(), stderr: new Kept() };
  for await (const { stream, data } of execution.output) kept[stream].add(data);
  const exit = exitOf(await execution.ended, over);
  if (x.abandoned) return;
  replyJson(x, 200, {
    ...exit,
    stdout: kept.stdout.text(),
    stderr: kept.stderr.text(),
    truncated: kept.stdout.cut || kept.stderr.cut,
    durationSeconds: Math.round(performance.now() - begun) / 1_000,
  });
}

/** One JSON object per line; the last one has the exit code, or says why there is none. */
async function sendFrames(x: Exchange, execution: Execution, over: Over): Promise<void> {
  const out = new Outflow(x.res);
  x.res.writeHead(200, {
    'content-type': FRAMES,
    'cache-control': 'no-cache, private',
    'x-content-type-options': 'nosniff',
    'x-request-id': x.requestId,
  });
  x.res.flushHeaders();
  for await (const { stream, data } of execution.output) {
    if (out.closed) return;
    if (!out.write(line({ stream, ...textOf(data) }))) await out.drained();
  }
  const end = await execution.ended;
  if (out.closed) return;
  out.write(line(end.end === 'Exited' ? exitView(end) : { error: errorOf(end, over) }));
  x.res.end();
}

function exitOf(end: ExecEnd, over: Over): ExitView {
  switch (end.end) {
    case 'Exited':
      return exitView(end);
    case 'NotExecuted':
      throw refuse('Invalid', `the command was not executed: ${end.message}`, {
        fix: fixOfCommand(end),
        causes: [causeOfCommand(end)],
      });
    case 'WorkGone':
      throw over();
  }
}

function errorOf(
  end: Exclude<ExecEnd, { end: 'Exited' }>,
  over: Over,
): { readonly reason: string; readonly message: string } {
  if (end.end === 'NotExecuted') return { reason: end.reason, message: end.message };
  const { code: reason, message } = over().refusal;
  return { reason, message };
}
