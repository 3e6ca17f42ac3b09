/**
 * Hands a stream of an upstream on to the client as it comes, frame by frame, and charges what was produced.
 *
 * - The client's disconnect gives up the upstream, but for a last word: usage comes behind it, and tells of reasoning that was not shown, so
 *   the upstream is read on while it says next to nothing more, READ_ON.ms at most. A client that reads slowly holds the upstream back (I10:
 *   one chunk and what the socket takes wait here), and is cut when it takes nothing.
 * - A stream that does not come to its own end is ended by the dialect's error, never cleanly.
 * - An upstream that goes past what the request was admitted for is cut; what it made beyond that is the service's.
 * - Streams that come fast take turns, org by org, and leave the event loop to others between them.
 * - What was delivered is charged: by the upstream's usage, else by our count.
 */
import type { Writable } from 'node:stream';
import { RefusalError, type Refusal } from '../../src/api/refusal.js';
import { completeUsage, estimatedUsage } from '../../src/engines/inference/dialects/answer-event.js';
import {
  BrokenStreamError,
  type FollowOptions,
  type StreamFollower,
} from '../../src/engines/inference/dialects/dialect.js';
import { openSseDecoder } from '../../src/engines/inference/sse.js';
import type { Usage } from '../../src/money/model-prices.js';
import { showUSD } from '../../src/money/usd.js';
import type { Exchange } from '../exchange.js';
import { writeHead } from '../reply.js';
import type { ServerContext } from '../server-context.js';
import { Outflow } from '../stream.js';
import { BYTES_PER_TOKEN, failed, isPast, pastBound, type WholeAnswer } from './answer.js';
import { dialectError } from './errors.js';
import { INVOKE } from '../../actors/inference/service.js';

/** Of silence, before something that means nothing is sent (ms). */
const KEEP_ALIVE_MS = 15_000;
/** Of a stream that goes on, what it has used is posted so often (ms). */
const POST_EVERY_MS = 5_000;
/** A stream that has not come to its end by then is cut (ms), whatever its upstream sends. */
const MOST_STREAM_MS = 3_600_000;
/** What a stream takes of the event loop before it waits for its org's turn (ms). */
const TURN_MS = 2;
/** Bytes of a stream of which nothing comes that is worth handing on: comments, blanks, empty frames. */
const MOST_SILENT_BYTES = 16 * 2 ** 20;
/** And of all of it, for each token that it was admitted for: a token with the likelihoods of twenty others has 3 KiB. */
const MOST_BYTES_A_TOKEN = 8 * 1024;
/** After the client has left: for so long (ms), and while no more than so many bytes are generated. */
const READ_ON: ReadOn = { ms: 2_000, bytes: 64 };
const FRAMES = { mostLineBytes: 16 * 2 ** 20, mostFrameBytes: 16 * 2 ** 20 };

export interface ReadOn {
  readonly ms: number;
  /** Of output that is generated meanwhile. */
  readonly bytes: number;
}

export interface StreamedAnswer extends Pick<
  WholeAnswer,
  'dialect' | 'opened' | 'admitted' | 'headers' | 'endedBy' | 'org' | 'estimate'
> {
  follow(options: FollowOptions): StreamFollower;
  readonly project: string;
  readonly outputTokens: number;
  /** How far it is read on when the client has left, where the end tells what it has cost; absent: READ_ON. */
  readonly readOn?: ReadOn | undefined;
  /** Gives the upstream up. */
  abort(): void;
}

/** Answers how it ended. */
export async function answerStream(
  x: Exchange,
  { streams, resources }: Pick<ServerContext, 'streams' | 'resources'>,
  answer: StreamedAnswer,
): Promise<'Done' | 'Left' | 'Broken'> {
  const { dialect, opened, admitted, headers, estimate, abort } = answer;
  const counted = (outputBytes: number): Usage => estimatedUsage(estimate, outputBytes);
  // The client reads the cost that the ledger will charge, whatever the upstream has reported.
  const follower = answer.follow({ costOf: () => showUSD(admitted.priceOf(usageNow())), counted });
  const out = new Outflow(x.res);
  const client = followClient(x.res, () => follower.outputBytes, { readOn: answer.readOn ?? READ_ON, abort });
  let stopped: Refusal | undefined;
  let upstreamFault: Refusal | undefined;
  const begunAt = performance.now();
  let wroteAt = begunAt;
  let postedAt = begunAt;
  let held = 0;
  let silentBytes = 0;
  let bytes = 0;
  const stop = (refusal: Refusal): void => {
    stopped ??= refusal;
    abort();
  };
  const leave = streams.add(x, {
    allows: (caller) => caller.may(INVOKE, answer.project),
    revoke: ({ refusal }) => stop(refusal),
    sweep(now) {
      if (now - begunAt > MOST_STREAM_MS) stop({ code: 'Unavailable', message: 'the stream has taken an hour' });
      if (now - wroteAt < KEEP_ALIVE_MS) return;
      wroteAt = now;
      out.write(dialect.keepAlive);
    },
    // It goes on to its end, if there is time.
    end: () => undefined,
    cut: () => stop({ code: 'Unavailable', message: 'the service is shutting down', retryAfterSeconds: 2 }),
  });

  /** The upstream may have reported less than it has generated, by a report that came early. */
  function usageNow(): Usage {
    const { outputBytes, unreportedBytes } = follower;
    if (follower.usage === undefined) return counted(outputBytes);
    const usage = completeUsage(follower.usage, estimate);
    const isTold = unreportedBytes === 0 && (usage.outputTokens > 0 || outputBytes === 0);
    if (isTold) return usage;
    return { ...usage, outputTokens: Math.max(usage.outputTokens, counted(outputBytes).outputTokens) };
  }
  /** What frames become. What ends the stream is thrown, and what came before that is here. */
  let text = '';
  const decoder = openSseDecoder(FRAMES, (frame) => {
    const followed = follower.frame(frame).out ?? '';
    if (isPastBound(follower, answer.outputTokens)) throw pastBound();
    text += followed;
  });
  const send = (now: number): boolean => {
    if (text === '') return true;
    wroteAt = now;
    const sent = text;
    text = '';
    return out.write(sent);
  };

  headers['content-type'] = 'text/event-stream; charset=utf-8';
  headers['x-accel-buffering'] = 'no';
  writeHead(x, 200, headers);
  try {
    for await (const chunk of opened.body) {
      const arrived = performance.now();
      decoder.push(chunk);
      const now = performance.now();
      bytes += chunk.length;
      if (bytes > MOST_SILENT_BYTES + answer.outputTokens * MOST_BYTES_A_TOKEN) {
        throw new BrokenStreamError('it sends far more than its tokens need');
      }
      silentBytes = text === '' ? silentBytes + chunk.length : 0;
      if (silentBytes > MOST_SILENT_BYTES) throw new BrokenStreamError('it sends much and says nothing');
      if (!send(now)) await out.drained();
      held += now - arrived;
      if (held >= TURN_MS) {
        held = 0;
        await resources.slice(answer.org);
      }
      if (now - postedAt >= POST_EVERY_MS) {
        postedAt = now;
        admitted.progress(admitted.priceOf(usageNow()));
      }
      if (follower.state.is !== 'Open' || client.isDone() || stopped !== undefined) break;
    }
    // Servers leave the end of the last line out.
    if (follower.state.is === 'Open' && !client.isDone() && stopped === undefined) decoder.end();
  } catch (error) {
    stopped ??= answer.endedBy();
    // What nobody here has broken off was broken by the upstream, or it went too far.
    if (stopped === undefined && !out.closed) upstreamFault = reasonOf(error);
  } finally {
    leave();
    client.forget();
    abort();
  }
  send(performance.now());
  const { state } = follower;
  const whole = state.is === 'Complete';
  opened.ended(whole ? 'Whole' : out.closed || stopped !== undefined ? 'Left' : 'Broken');
  const produced = whole || follower.outputBytes > 0 || (out.closed && follower.usage !== undefined);
  admitted.end(produced ? usageNow() : undefined);
  if (out.closed) return whole && !client.hasLeft ? 'Done' : 'Left';
  if (!whole) {
    const refusal =
      stopped ?? upstreamFault ?? reasonOf(failed(state.is === 'Failed' ? state.error : undefined, opened));
    // The table's words name a header, which a stream cannot have any more.
    const { fix = 'Send the request again.' } = refusal;
    const error = dialectError(x, { ...refusal, fix });
    out.write(follower.fail?.(error) ?? dialect.errorFrame(error));
  }
  x.res.end();
  return whole ? 'Done' : 'Broken';
}

interface FollowedClient {
  readonly hasLeft: boolean;
  /** It has left, and nothing more that is worth its wait comes for it. */
  isDone(): boolean;
  forget(): void;
}

function followClient(
  res: Writable,
  outputBytes: () => number,
  { readOn: { ms, bytes }, abort }: { readonly readOn: ReadOn; readonly abort: () => void },
): FollowedClient {
  let leftAt: number | undefined;
  let cut: NodeJS.Timeout | undefined;
  const left = (): void => {
    leftAt = outputBytes();
    cut = setTimeout(abort, ms);
  };
  if (res.destroyed) left();
  else res.once('close', left);
  return {
    get hasLeft() {
      return leftAt !== undefined;
    },
    isDone: () => leftAt !== undefined && outputBytes() - leftAt > bytes,
    forget() {
      res.off('close', left);
      clearTimeout(cut);
    },
  };
}

function isPastBound({ usage, outputBytes }: StreamFollower, bound: number): boolean {
  return isPast(usage?.outputTokens ?? 0, bound) || outputBytes > bound * BYTES_PER_TOKEN;
}

function reasonOf(error: unknown): Refusal {
  if (error instanceof RefusalError) return error.refusal;
  const why = error instanceof BrokenStreamError ? error.message : 'its stream broke off';
  return { code: 'Unavailable', message: `the model's upstream failed: ${why}`, retryAfterSeconds: 1 };
}
