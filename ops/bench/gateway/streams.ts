/** Measures many streams at once: how many tokens of theirs arrive, and how much memory they cost the program that passes them on. */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { HEAD_END, headOf, openSocket } from '../client.js';
import { inTurn, type Target } from './target.js';

/** In each token once, and nowhere else in an answer's body (`upstream.ts`). */
const MARK = '~'.charCodeAt(0);
/** Streams that are opened at once, and the pause after them (ms). */
const BATCH = 50;
const BATCH_MS = 50;
const WARM_STREAMS = 10;
const WARM_SECONDS = 2;
/** Until all have had their first token. */
const ALL_OPEN_MS = 30_000;
/** After the warm-up, for what it leaves behind. */
const IDLE_MS = 3_000;
const LOOK_MS = 250;
/** A head is shorter. */
const MOST_HEAD = 64 * 1024;

export interface StreamsOptions {
  readonly streams: number;
  readonly perSecond: 50 | 5;
  readonly seconds: number;
}

export interface StreamsResult {
  /** Tokens that came, of those that the upstream had to send meanwhile. */
  readonly deliveredPercent: number;
  /** The most VmRSS meanwhile over that before the first stream. */
  readonly growthMiB: number;
  readonly idleMiB: number;
}

/** Rejects when a stream is refused or ends. Precondition: nothing else uses the target. */
export async function measureStreams(target: Target, options: StreamsOptions): Promise<StreamsResult> {
  const { streams, perSecond, seconds } = options;
  const warm = await openStreams(target, { ...options, streams: WARM_STREAMS });
  await sleep(WARM_SECONDS * 1_000);
  warm.close();
  await sleep(IDLE_MS);
  const idleMiB = await target.residentMiB();

  const open = await openStreams(target, options);
  try {
    await sleep(1_000);
    const [began, before] = [performance.now(), open.tokens()];
    const until = began + seconds * 1_000;
    let most = 0;
    while (performance.now() < until) {
      most = Math.max(most, await target.residentMiB());
      await sleep(Math.max(1, Math.min(LOOK_MS, until - performance.now())));
    }
    const elapsed = (performance.now() - began) / 1_000;
    const tokens = open.tokens() - before;
    open.check();
    return { deliveredPercent: (tokens / (streams * perSecond * elapsed)) * 100, growthMiB: most - idleMiB, idleMiB };
  } finally {
    open.close();
  }
}

interface OpenStreams {
  tokens(): number;
  /** Throws when one is not as it should be. */
  check(): void;
  close(): void;
}

/** Resolves once each has had its first token. */
async function openStreams(target: Target, { streams, perSecond, seconds }: StreamsOptions): Promise<OpenStreams> {
  // None ends before it is closed.
  const maxTokens = perSecond * (seconds + 60);
  const request = inTurn(target.requests({ model: `slow-${perSecond}`, maxTokens, stream: true }));
  const sockets: Socket[] = [];
  let tokens = 0;
  let begun = 0;
  let closing = false;
  let failure: Error | undefined;

  const openOne = async (n: number): Promise<void> => {
    let head: Buffer | undefined = Buffer.alloc(0);
    let isFirst = true;
    const count = (bytes: Buffer): void => {
      const found = marksIn(bytes);
      tokens += found;
      if (isFirst && found > 0) {
        isFirst = false;
        begun += 1;
      }
    };
    const socket = await openSocket(target.port, (bytes) => {
      if (head === undefined) {
        count(bytes);
        return;
      }
      head = Buffer.concat([head, bytes]);
      const end = head.indexOf(HEAD_END);
      if (end < 0 && head.length <= MOST_HEAD) return;
      const { status } = headOf(head.toString('latin1', 0, Math.max(0, end)));
      if (status !== 200)
        failure ??= new Error(`a stream answered ${status}: ${head.toString('utf8', end + 4, end + 504)}`);
      const rest = head.subarray(end + 4);
      head = undefined;
      count(rest);
    });
    socket.on('error', () => undefined);
    socket.once('close', () => {
      if (!closing) failure ??= new Error('a stream was closed before its end');
    });
    socket.write(request(n));
    sockets.push(socket);
  };

  const opened: OpenStreams = {
    tokens: () => tokens,
    check() {
      if (failure !== undefined) throw failure;
    },
    close() {
      closing = true;
      for (const socket of sockets) socket.destroy();
    },
  };
  try {
    for (let n = 0; n < streams; n += BATCH) {
      const batch = Math.min(BATCH, streams - n);
      await Promise.all(Array.from({ length: batch }, (_, at) => openOne(n + at)));
      await sleep(BATCH_MS);
    }
    const deadline = performance.now() + ALL_OPEN_MS;
    while (begun < streams) {
      opened.check();
      if (performance.now() > deadline) throw new Error(`${streams - begun} of ${streams} streams have not begun`);
      await sleep(20);
    }
    return opened;
  } catch (error) {
    opened.close();
    throw error;
  }
}

function marksIn(bytes: Buffer): number {
  let found = 0;
  for (let at = bytes.indexOf(MARK); at >= 0; at = bytes.indexOf(MARK, at + 1)) found += 1;
  return found;
}
