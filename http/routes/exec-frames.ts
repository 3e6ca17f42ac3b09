/** Answers a command with frames while it writes: one JSON object per line; the last one has the exit code, or says why there is none. */
import type { ExecEnd } from '../../src/engines/compute/contract/engine.js';
import { Outflow } from '../stream.js';
import { exitView, FRAMES, line, textOf } from './frames.js';
import type { RunningCommand } from './running-command.js';

export async function sendFrames({ x, execution, over }: RunningCommand): Promise<void> {
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

function errorOf(
  end: Exclude<ExecEnd, { end: 'Exited' }>,
  over: RunningCommand['over'],
): { readonly reason: string; readonly message: string } {
  if (end.end === 'NotExecuted') return { reason: end.reason, message: end.message };
  const { code: reason, message } = over().refusal;
  return { reason, message };
}
