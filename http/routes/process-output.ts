/**
 * Serves `GET …/processes/{id}/output`: what a process has written, from the beginning, as frames; when following, until it ends. The
 * last frame has the exit code, says that it runs on, or why nothing more is known. A client that reads slowly is waited for.
 */
import type { Caller } from '../../actors/resource-service.js';
import type { ProcessName } from '../../actors/work/commands.js';
import type { Address } from '../../src/api/address.js';
import { RefusalError } from '../../src/api/refusal.js';
import { rfc3339Millis } from '../../src/api/time.js';
import type { LogLine, ProcessState } from '../../src/engines/compute/contract/engine.js';
import type { Exchange } from '../exchange.js';
import { readFlag } from '../resources/versions.js';
import type { ServerContext } from '../server-context.js';
import { LineBlocks } from '../line-blocks.js';
import { beginFrames, exitView, line, textOf } from './frames.js';

export async function sendOutput(
  x: Exchange,
  context: ServerContext,
  address: Address,
  process: ProcessName,
  look: () => Promise<ProcessState>,
  allows: (caller: Caller) => boolean,
): Promise<void> {
  const { res } = x;
  const follow = readFlag(x.query, 'follow') ?? false;
  const release = context.streams.add(x, { allows, end: () => res.end() });
  const blocks = new LineBlocks(res, {
    org: address.org,
    places: context.answerPlaces,
    gone: x.gone,
    nextSlice: () => context.resources.slice(address.org),
  });
  try {
    const lines = await context.commands.readProcess(address, process, follow, x.gone, blocks.pace);
    beginFrames(x);
    const frameOf = ({ stream, time, data }: LogLine): Uint8Array =>
      Buffer.from(line({ stream, ...textOf(data), time: rfc3339Millis(time) }));
    if (!(await blocks.write(lines, frameOf))) return;
    const last = line(await lastFrame(look));
    if (!res.destroyed && !res.writableEnded) res.end(last);
  } catch (error) {
    if (!x.abandoned && !x.gone.aborted) throw error;
  } finally {
    blocks.free();
    release();
  }
}

async function lastFrame(look: () => Promise<ProcessState>): Promise<object> {
  try {
    const { ended } = await look();
    return ended === undefined ? { running: true } : exitView(ended);
  } catch (error) {
    if (!(error instanceof RefusalError)) throw error;
    const { code: reason, message } = error.refusal;
    return { error: { reason, message } };
  }
}
