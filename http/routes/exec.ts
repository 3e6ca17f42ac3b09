/**
 * Serves `POST …/exec`: a command inside, its input from the body, its output collected into one answer (`exec-whole.ts`) or sent
 * as frames while it comes (`exec-frames.ts`). How a command gets inside is the engine's matter (`Commands`).
 *
 * The command lives as long as its request: who leaves ends it. With frames, a client that reads slowly slows the program
 * and nobody else; without, the first of what each stream brings is kept and the rest is dropped (I10).
 * Source: decisions, "Routes not shown", Command.
 */
import { refuse, RefusalError } from '../../src/api/refusal.js';
import type { Caller } from '../../actors/resource-service.js';
import type { Execution } from '../../src/engines/compute/contract/engine.js';
import { notRunning } from '../../actors/work/attach.js';
import { addressOf, stillMay } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import type { SubresourceTarget } from '../target.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import { refuseIdempotencyKey } from '../resources/options.js';
import type { ServerContext } from '../server-context.js';
import { readCommand } from './command-body.js';
import { sendFrames } from './exec-frames.js';
import { sendWhole } from './exec-whole.js';
import { FRAMES } from './frames.js';

const STOPPED = 'it stopped before the command had ended';

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
    const running = { x, context, org: caller.org, execution, over, stopped: stopping.signal };
    if (x.header('accept')?.includes(FRAMES)) await sendFrames(running);
    else await sendWhole(running, begun);
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
