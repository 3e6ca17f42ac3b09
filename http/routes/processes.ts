/**
 * Serves `…/processes`: commands that nobody waits for. They go on when their caller leaves and when the service restarts, until they
 * end or their epoch does. An id belongs to one epoch of one object; at any other it is refused with the present epoch (I8).
 *
 * The whole input comes with the start (`stdin`), or it stays open for `POST …/stdin` until `end=true`. I10: a body of input is at
 * most the service's largest body; what the process does not take within PATIENCE_MS is not waited for.
 * Source: decisions, "Routes not shown", Process.
 */
import { z } from 'zod';
import type { Caller } from '../../actors/resource-service.js';
import type { ProcessName } from '../../actors/work/commands.js';
import type { Address } from '../../src/api/address.js';
import { causeOfCommand, fixOfCommand } from './not-executed.js';
import { refuse, RefusalError } from '../../src/api/refusal.js';
import { sha256 } from '../../src/api/sha256.js';
import { rfc3339Millis } from '../../src/api/time.js';
import type { ProcessState } from '../../src/engines/compute/contract/engine.js';
import { COMMAND_SIGNALS } from '../../src/engines/compute/shared/signals.js';
import { delay } from '../../actors/wait.js';
import { addressOf, stillMay } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import type { SubresourceTarget } from '../target.js';
import { replyJson } from '../reply.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import { readBody } from '../resources/parse.js';
import { readFlag } from '../resources/versions.js';
import { refuseIdempotencyKey } from '../resources/options.js';
import type { ServerContext } from '../server-context.js';
import { readCommand } from './command-body.js';
import { readEpoch } from './epoch.js';
import { exitView } from './frames.js';
import { parseProcessId, printProcessId } from './process-id.js';
import { sendOutput } from './process-output.js';

/** Given to a process at a time: each is taken whole or not at all. */
const PIECE_BYTES = 64 * 1024;
/** How long one request goes on with a process that reads slowly. */
const PATIENCE_MS = 2_000;
const AGAIN_MS = 25;

const signalBody = z.strictObject({ signal: z.enum(COMMAND_SIGNALS) });

interface Place {
  readonly x: Exchange;
  readonly context: ServerContext;
  readonly address: Address;
}

export async function serveProcesses(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  target: SubresourceTarget,
): Promise<void> {
  const { kind, project, name, rest } = target;
  const [id, part, ...more] = rest;
  if (more.length > 0) throw refuse('NotFound', 'no such subpath of processes');
  const method = part === 'stdin' || part === 'signals' ? 'POST' : 'GET';
  if (part !== undefined && method === 'GET' && part !== 'output')
    throw refuse('NotFound', 'no such subpath of processes');
  const allowed = id === undefined ? ['GET', 'POST'] : [method];
  if (!allowed.includes(x.method)) throw methodNotAllowed(x, allowed);
  x.verb = part === 'output' ? 'logs' : 'exec';
  const place = { x, context, address: addressOf(caller, kind, project, name, 'exec') };
  if (id === undefined) return x.method === 'GET' ? list(place) : start(place, caller);
  const process = nameOf(x, id);
  switch (part) {
    case undefined:
      return replyJson(x, 200, viewOf(process, await find(place, process)));
    case 'output':
      // An id that names nothing is refused before the answer begins.
      await find(place, process);
      return sendOutput(
        x,
        context,
        place.address,
        process,
        async () => find(place, process),
        stillMay(kind, project, name, 'exec'),
      );
    case 'stdin':
      return write(place, process);
    default:
      return signal(place, process);
  }
}

function unknown(): Error {
  return refuse('NotFound', 'process not found', { fix: 'List the processes; the newest 100 are kept.' });
}

function nameOf(x: Exchange, id: string): ProcessName {
  const process = parseProcessId(id);
  if (process === undefined) throw unknown();
  const epoch = readEpoch(x);
  if (epoch !== undefined && epoch !== process.epoch) {
    throw refuse('BadRequest', `the process belongs to epoch ${process.epoch}, not to epoch ${epoch}`);
  }
  return process;
}

async function find({ context, address }: Place, process: ProcessName): Promise<ProcessState> {
  const there = await context.commands.processes(address, process.epoch, context.deadlines.current());
  const found = there.uid === process.uid ? there.processes.find(({ id }) => id === process.id) : undefined;
  if (found === undefined) throw unknown();
  return found;
}

export function viewOf(process: Pick<ProcessName, 'uid' | 'epoch'>, state: ProcessState): object {
  const { uid, epoch } = process;
  const { id, command, startedAt, ended } = state;
  return {
    id: printProcessId({ uid, epoch, id }),
    command,
    running: ended === undefined,
    startTime: rfc3339Millis(startedAt),
    ...(ended === undefined ? {} : { endTime: rfc3339Millis(ended.at), ...exitView(ended) }),
  };
}

async function list({ x, context, address }: Place): Promise<void> {
  const there = await context.commands.processes(address, readEpoch(x), context.deadlines.current());
  replyJson(x, 200, { items: there.processes.map((state) => viewOf(there, state)) });
}

async function start(place: Place, caller: Caller): Promise<void> {
  const { x, context, address } = place;
  const bytes = await context.bodies.read(x);
  const { command, stdin } = await readCommand(x, context.bodies, bytes);
  const keyed = await keyedId(place, caller, bytes);
  if (keyed?.there === true) x.res.setHeader('idempotency-replayed', 'true');
  const id = keyed?.id ?? Buffer.from(context.randomBytes(12)).toString('hex');
  const { uid, epoch, started } = await context.commands.startProcess(
    address,
    { ...command, id },
    context.deadlines.current(),
  );
  if (started.outcome === 'NotExecuted') {
    throw refuse('Invalid', `the command was not executed: ${started.message}`, {
      fix: fixOfCommand(started),
      causes: [causeOfCommand(started)],
    });
  }
  if (stdin !== undefined && keyed?.there !== true) await feed(place, { uid, epoch, id }, Buffer.from(stdin));
  replyJson(x, 201, viewOf({ uid, epoch }, started.process));
}

/**
 * The id that a start with an Idempotency-Key has: the engine starts nothing twice under one. It is made of the key and of
 * what is asked, so that another request with the same key is seen to be another.
 */
async function keyedId(
  { x, context, address }: Place,
  caller: Caller,
  bytes: Buffer,
): Promise<{ readonly id: string; readonly there: boolean } | undefined> {
  const key = x.header('idempotency-key');
  if (key === undefined) return undefined;
  if (key.length < 1 || key.length > 255) throw refuse('BadRequest', 'an Idempotency-Key has 1 to 255 characters');
  const first = sha256(`${caller.org}\n${caller.holder}\n${key}`).slice(0, 16);
  const id = first + sha256(`${x.url}\n${bytes.toString('latin1')}`).slice(0, 16);
  const { processes } = await context.commands.processes(address, readEpoch(x), context.deadlines.current());
  const before = processes.find((process) => process.id.startsWith(first));
  if (before !== undefined && before.id !== id) {
    throw refuse('IdempotencyKeyReused', 'the Idempotency-Key was used for another request');
  }
  return { id, there: before !== undefined };
}

/** All of it, and the end. A process that does not read what it was started for is ended, so that nothing half-fed goes on. */
async function feed(place: Place, process: ProcessName, data: Buffer): Promise<void> {
  const { context, address } = place;
  const written = await give(place, process, data, true);
  if (written === data.length) return;
  await context.commands.signalProcess(address, process, 'SIGKILL', context.deadlines.current());
  throw refuse('StdinBackpressure', `the process read only ${written} bytes of its input and was killed`, {
    fix: 'Start it without `stdin`, and send its input in parts to …/stdin.',
    retryAfterSeconds: 1,
  });
}

async function write(place: Place, process: ProcessName): Promise<void> {
  const { x, context } = place;
  refuseIdempotencyKey(x, 'input takes no Idempotency-Key: what is sent again is written again');
  const end = readFlag(x.query, 'end') ?? false;
  const data = await context.bodies.take(x);
  const written = await give(place, process, data, end);
  if (written === 0 && data.length > 0) {
    throw refuse('StdinBackpressure', 'the process is not reading its input', { retryAfterSeconds: 1 });
  }
  replyJson(x, 200, { written });
}

/** How much was taken. An end is only told behind all of it. Refuses when the process has ended, or none was there. */
async function give(place: Place, process: ProcessName, data: Buffer, end: boolean): Promise<number> {
  const { x, context, address } = place;
  const until = performance.now() + PATIENCE_MS;
  let written = 0;
  for (;;) {
    const piece = data.subarray(written, written + PIECE_BYTES);
    const last = written + piece.length === data.length;
    const outcome = await context.commands.writeProcess(
      address,
      process,
      { data: piece, end: end && last },
      context.deadlines.current(),
    );
    switch (outcome) {
      case 'Taken':
        written += piece.length;
        if (last) return written;
        break;
      case 'Full':
        if (written === 0 || performance.now() > until) return written;
        await delay(AGAIN_MS, x.gone);
        break;
      case 'Gone':
        throw await gone(place, process);
    }
  }
}

async function signal(place: Place, process: ProcessName): Promise<void> {
  const { x, context, address } = place;
  refuseIdempotencyKey(
    x,
    'a signal takes no Idempotency-Key: one that is sent again is delivered again',
    'Leave the header out, and read the process before the signal is sent again.',
  );
  const asked = await readBody(x, context.bodies, await context.bodies.read(x), signalBody);
  const outcome = await context.commands.signalProcess(address, process, asked.signal, context.deadlines.current());
  if (outcome === 'Gone') throw await gone(place, process);
  replyJson(x, 200, viewOf(process, await find(place, process)));
}

/** Why there is nothing to talk to. */
async function gone(place: Place, process: ProcessName): Promise<Error> {
  try {
    const { ended } = await find(place, process);
    return ended === undefined
      ? refuse('Conflict', 'the process takes no more input', {
          fix: 'Its input has ended. Start another process to send more.',
        })
      : refuse('Conflict', 'the process has ended', {
          fix: 'Read the process for its exit code, and its output; start another one to go on.',
        });
  } catch (error) {
    if (error instanceof RefusalError) return error;
    throw error;
  }
}
