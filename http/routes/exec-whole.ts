/**
 * Answers a command as a whole, when it has ended: `{exitCode, …, stdout, stderr, truncated, durationSeconds}`.
 *
 * Output is read, and a long answer is written, in slices of the event loop in which orgs take turns. What is kept stays bytes: it becomes
 * JSON part by part, as the client takes it, since a byte of output may be six of JSON.
 *
 * I10: what is kept is bounded and counted (`../kept-output.ts`) until the answer is written or its client has left. Where that finds no room,
 * the command goes on, since nobody knows what half of it would leave behind; the rest of its output is dropped, the answer is
 * `truncated`, and a warning says why. A long answer needs a place (`../answer-places.ts`), which bounds what waits for clients.
 */
import type { ExecEnd, Execution } from '../../src/engines/compute/contract/engine.js';
import { refuse, RefusalError } from '../../src/api/refusal.js';
import type { AnswerPlace } from '../answer-places.js';
import { KeptOutput } from '../kept-output.js';
import { sendLongJson } from '../long-json.js';
import { replyJson } from '../reply.js';
import { utf8Parts } from '../utf8-parts.js';
import { exitView, type ExitView } from './frames.js';
import { causeOfCommand, fixOfCommand } from './not-executed.js';
import type { RunningCommand } from './running-command.js';

/** Output that is read in one slice, bytes; each piece counts PIECE_COST besides. */
const SLICE_BYTES = 256 * 1024;
const PIECE_COST = 256;
/** Output of so many bytes is answered at once. */
const SHORT_BYTES = 16 * 1024;
const NO_ROOM =
  'the output was cut: whole answers of this org hold too much memory; read the output as it comes with Accept: application/x-ndjson';

interface Kept {
  readonly stdout: KeptOutput;
  readonly stderr: KeptOutput;
}

/** `begun`: as `performance.now()`. */
export async function sendWhole(command: RunningCommand, begun: number): Promise<void> {
  const { x, context, org, execution, over } = command;
  const memory = context.answerMemory.open(org);
  try {
    const kept: Kept = { stdout: new KeptOutput(memory), stderr: new KeptOutput(memory) };
    await keep(kept, execution.output, () => context.resources.slice(org));
    const exit = exitOf(await execution.ended, over);
    if (x.abandoned) return;
    const { stdout, stderr } = kept;
    if (stdout.foundNoRoom || stderr.foundNoRoom) x.warnings.push(NO_ROOM);
    const last = {
      truncated: stdout.cut || stderr.cut,
      durationSeconds: Math.round(performance.now() - begun) / 1_000,
    };
    if (stdout.size + stderr.size > SHORT_BYTES) await sendLong(command, kept, exit, last);
    else replyJson(x, 200, { ...exit, stdout: textOf(stdout), stderr: textOf(stderr), ...last });
  } finally {
    memory.free();
  }
}

async function keep(kept: Kept, output: Execution['output'], nextSlice: () => Promise<void>): Promise<void> {
  let inSlice = 0;
  for await (const { stream, data } of output) {
    kept[stream].add(data);
    inSlice += data.length + PIECE_COST;
    if (inSlice < SLICE_BYTES) continue;
    inSlice = 0;
    await nextSlice();
  }
}

/** Bytes that are no UTF-8 are replaced; with frames they come as they are. */
function textOf(kept: KeptOutput): string {
  return Buffer.concat(kept.blocks()).toString('utf8');
}

async function sendLong(command: RunningCommand, kept: Kept, exit: ExitView, last: object): Promise<void> {
  const { x, context, org, stopped } = command;
  const place = await takePlace(() => context.answerPlaces.take(org, x.gone));
  const pieces = piecesOf(kept, exit, last, stopped);
  await sendLongJson(x, { place, pieces, nextSlice: () => context.resources.slice(org) });
}

function* piecesOf({ stdout, stderr }: Kept, exit: ExitView, last: object, stopped: AbortSignal): Generator<string> {
  yield `${JSON.stringify(exit).slice(0, -1)},"stdout":"`;
  yield* escaped(stdout, stopped);
  yield '","stderr":"';
  yield* escaped(stderr, stopped);
  yield `",${JSON.stringify(last).slice(1)}`;
}

/** Its client may lose the right to see more of it. */
function* escaped(kept: KeptOutput, stopped: AbortSignal): Generator<string> {
  for (const part of utf8Parts(kept.blocks())) {
    stopped.throwIfAborted();
    yield JSON.stringify(part.toString('utf8')).slice(1, -1);
  }
}

/** A client's library sends a request again when the answer has a Retry-After. This answer has none: the command has run, and would run twice. */
async function takePlace(take: () => Promise<AnswerPlace>): Promise<AnswerPlace> {
  try {
    return await take();
  } catch (error) {
    if (!(error instanceof RefusalError)) throw error;
    throw refuse('TooManyRequests', `the command has ended, but its output was dropped: ${error.refusal.message}`, {
      retryAfterSeconds: 'Never',
      fix: 'Look at what the command has done before it is run again. Read each answer as it comes, or write to a file.',
    });
  }
}

function exitOf(end: ExecEnd, over: RunningCommand['over']): ExitView {
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
