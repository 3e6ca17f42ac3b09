/**
 * Answers a command with frames while it writes: one JSON object per line; the last one has the exit code, or says why there is none.
 *
 * I10: output becomes frames in parts of PART_BYTES, each in a slice of the event loop in which orgs take turns, and while this answer has a place
 * (`../line-blocks.ts`), which it gives back when the client has taken the part. Until then the program waits. A client that does not take a part
 * while others of its org wait for a place is cut, and its command ends.
 */
import { RefusalError } from '../../src/api/refusal.js';
import type { ExecEnd, Execution, LogPace } from '../../src/engines/compute/contract/engine.js';
import { LineBlocks } from '../line-blocks.js';
import { utf8Parts } from '../utf8-parts.js';
import { beginFrames, exitView, line, textOf } from './frames.js';
import type { RunningCommand } from './running-command.js';

type Piece = Execution['output'] extends AsyncIterable<infer Each> ? Each : never;

export async function sendFrames({ x, context, org, execution, over }: RunningCommand): Promise<void> {
  const { res } = x;
  const blocks = new LineBlocks(res, {
    org,
    places: context.answerPlaces,
    gone: x.gone,
    nextSlice: () => context.resources.slice(org),
  });
  beginFrames(x);
  const frameOf = ({ stream, data }: Piece): Uint8Array => Buffer.from(line({ stream, ...textOf(data) }));
  try {
    if (!(await blocks.write(inParts(execution.output, blocks.pace), frameOf))) return;
    const end = await execution.ended;
    if (res.destroyed) return;
    res.end(line(end.end === 'Exited' ? exitView(end) : { error: errorOf(end, over) }));
  } catch (error) {
    if (x.abandoned || x.gone.aborted) return;
    if (!(error instanceof RefusalError)) throw error;
    // There was no place for too long.
    res.end(line({ error: viewOf(error) }));
  } finally {
    blocks.free();
  }
}

async function* inParts(output: Execution['output'], pace: LogPace): AsyncGenerator<Piece> {
  for await (const { stream, data } of output) {
    for (const part of utf8Parts([data])) {
      await pace.begin();
      yield { stream, data: part };
      await pace.end();
    }
  }
}

function errorOf(end: Exclude<ExecEnd, { end: 'Exited' }>, over: RunningCommand['over']): ErrorView {
  return end.end === 'NotExecuted' ? { reason: end.reason, message: end.message } : viewOf(over());
}

interface ErrorView {
  readonly reason: string;
  readonly message: string;
}

function viewOf({ refusal: { code: reason, message } }: RefusalError): ErrorView {
  return { reason, message };
}
