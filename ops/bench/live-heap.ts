/**
 * What the service's process really holds: its heap after a collection of garbage, asked for through Node's inspector. Resident memory says
 * little of a few MiB, since a heap that was large once stays so.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import WebSocket from 'ws';
import { z } from 'zod';

const ANSWER_MS = 60_000;
const OPEN_MS = 10_000;

const targets = z.array(z.looseObject({ webSocketDebuggerUrl: z.string() })).min(1);
const answer = z.looseObject({
  id: z.number().optional(),
  result: z.looseObject({ result: z.looseObject({ value: z.unknown() }).optional() }).optional(),
});

/** Of a program that is started with this: its inspector listens on loopback. */
export function inspected(port: number): Readonly<Record<string, string>> {
  return { NODE_OPTIONS: `--inspect=127.0.0.1:${port}` };
}

/** MiB of the heap, and of buffers outside of it, that are in use after a collection. */
export async function liveMiB(port: number): Promise<number> {
  const list = await fetch(`http://127.0.0.1:${port}/json/list`, { signal: AbortSignal.timeout(OPEN_MS) });
  const [target] = targets.parse(await list.json());
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '');
  try {
    await new Promise<void>((done, failed) => {
      socket.once('open', () => done());
      socket.once('error', failed);
    });
    const replies = new Map<number, z.infer<typeof answer>>();
    socket.on('message', (data: Buffer) => {
      const message = answer.parse(JSON.parse(data.toString('utf8')));
      if (message.id !== undefined) replies.set(message.id, message);
    });
    const ask = async (id: number, method: string, params: object = {}): Promise<z.infer<typeof answer>> => {
      socket.send(JSON.stringify({ id, method, params }));
      const end = performance.now() + ANSWER_MS;
      while (performance.now() < end) {
        const reply = replies.get(id);
        if (reply !== undefined) return reply;
        await sleep(5);
      }
      throw new Error(`the inspector did not answer ${method}`);
    };
    await ask(1, 'HeapProfiler.collectGarbage');
    const expression = 'process.memoryUsage().heapUsed + process.memoryUsage().external';
    const { result } = await ask(2, 'Runtime.evaluate', { expression });
    return Number(result?.result?.value) / 2 ** 20;
  } finally {
    socket.terminate();
  }
}
