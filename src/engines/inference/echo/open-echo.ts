/**
 * The embedded upstream: serves Model `echo` in both dialects, inside of the process. It always answers, so it has no probe and never cools:
 * what fails here, a client has asked for.
 */
import { setTimeout } from 'node:timers/promises';
import { isAudio } from '../dialects/dialect.js';
import type { Upstream, UpstreamAnswer, UpstreamFailure } from '../upstream.js';
import { UpstreamBrokenError } from '../upstream.js';
import type { EchoReply } from './reply.js';
import { replyTo } from './reply.js';

export { countEchoTokens } from './tokens.js';

export interface EchoDeps {
  /**
   * Resolves when this tenant's next turn of the event loop begins: what echo generates it generates there, some milliseconds at a time. Absent: none
   * waits for another.
   */
  turn?(tenant: string): Promise<void>;
  /** ms since the epoch. */
  now(): number;
  readonly maxConcurrent?: number;
  readonly firstByteMs?: number;
  readonly idleMs?: number;
}

const NAME = 'echo';
const MOST_CONCURRENT = 10_000;
const FIRST_BYTE_MS = 120_000;
const IDLE_MS = 60_000;
/** What is made is handed on in parts of about this size. */
const PART = 16 * 1024;

const AT_ONCE = (): Promise<void> => Promise.resolve();

export function openEcho({
  turn = AT_ONCE,
  now,
  maxConcurrent = MOST_CONCURRENT,
  firstByteMs = FIRST_BYTE_MS,
  idleMs = IDLE_MS,
}: EchoDeps): Upstream {
  let inFlight = 0;
  return {
    name: NAME,
    dialects: new Set(['OpenAI', 'Anthropic']),
    class: 'Embedded',
    // It fetches nothing.
    mayFetch: true,
    get inFlight() {
      return inFlight;
    },
    async send({ tenant, operation, body, signal }): Promise<UpstreamAnswer> {
      if (signal.aborted) return failure('Aborted', 'given up before it was asked');
      if (!Buffer.isBuffer(body) || isAudio(operation)) return failure('Unreachable', 'it neither hears nor speaks');
      // I10: no queue.
      if (inFlight >= maxConcurrent) return failure('Busy', `${maxConcurrent} requests are under way`);
      inFlight += 1;
      const ending = new AbortController();
      const end = (): void => {
        if (ending.signal.aborted) return;
        ending.abort();
        signal.removeEventListener('abort', end);
        inFlight -= 1;
      };
      signal.addEventListener('abort', end, { once: true });
      await turn(tenant);
      const reply = replyTo(operation, body, now());
      const { delay = 0 } = reply.pace;
      if (delay > 0) await sleep(Math.min(delay, firstByteMs), ending.signal);
      if (ending.signal.aborted) return failure('Aborted', 'given up by the caller');
      if (delay > firstByteMs) {
        end();
        return failure('TimedOut', `no answer began within ${firstByteMs} ms`);
      }
      const { status, headers } = reply;
      return {
        outcome: 'Answered',
        status,
        headers,
        body: paced(reply, { idleMs, ended: ending.signal, end, turn: () => turn(tenant) }),
        discard: end,
      };
    },
    // It has no key.
    conceal: (text) => text,
    close: () => Promise.resolve(),
  };
}

function failure(reason: UpstreamFailure['reason'], message: string): UpstreamFailure {
  return { outcome: 'Failed', reason, message: `upstream ${NAME}: ${message}` };
}

function broken(reason: 'Broken' | 'TimedOut', message: string): UpstreamBrokenError {
  return new UpstreamBrokenError(reason, `upstream ${NAME}: ${message}`);
}

interface Pacing {
  readonly idleMs: number;
  readonly ended: AbortSignal;
  end(): void;
  turn(): Promise<void>;
}

async function* paced({ frames, pace }: EchoReply, { idleMs, ended, end, turn }: Pacing): AsyncGenerator<Buffer> {
  const { rate, stallAfter = Infinity, breakAfter = Infinity } = pace;
  const began = performance.now();
  let held = '';
  let tokens = 0;
  let begun = false;
  try {
    for (const frame of frames) {
      const wait = rate === undefined ? 0 : began + (tokens / rate) * 1000 - performance.now();
      const stops = begun && tokens >= Math.min(stallAfter, breakAfter);
      if (held !== '' && (stops || wait > 0 || held.length >= PART)) {
        yield Buffer.from(held);
        held = '';
        await turn();
      }
      if (stops && stallAfter <= breakAfter) await sleep(idleMs, ended);
      else if (wait > 0) await sleep(wait, ended);
      if (ended.aborted) throw broken('Broken', 'given up by the caller');
      if (stops && stallAfter <= breakAfter) throw broken('TimedOut', `sent nothing for ${idleMs} ms`);
      if (stops) throw broken('Broken', 'the connection broke');
      held += frame.text;
      tokens += frame.tokens;
      begun = true;
    }
    if (held !== '') yield Buffer.from(held);
  } finally {
    end();
  }
}

/** Until the time is over, or the signal says that nobody waits. Never rejects. */
async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => undefined);
}
