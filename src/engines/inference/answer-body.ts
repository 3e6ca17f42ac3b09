/**
 * The body of an answer on its way from a connection to one reader: a bounded queue that holds the connection back when the reader is slow, and puts
 * small chunks together, since each takes memory and time of its own; and a watch on silence. Silence counts only while the connection is being read, so that a slow reader is no fault of the upstream.
 */
import { UpstreamBrokenError } from './upstream.js';

/** I10: with so many bytes unread, the connection is not read on. What undici reads at once (64 KiB) may come on top. */
const MOST_UNREAD = 64 * 1024;
/** Chunks of less than TINY bytes: no answer has so many, and each takes some microseconds of the event loop. */
const TINY = 16;
const MOST_TINY = 100_000;
/** What waits is put together in blocks of so many bytes, as far as its chunks are smaller than an eighth of it. */
const BLOCK = 8 * 1024;

export interface BodySource {
  pause(): void;
  resume(): void;
  /** Gives the connection up. */
  abort(): void;
}

export interface AnswerBody {
  /** For one reader. */
  readonly chunks: AsyncIterable<Buffer>;
  push(chunk: Buffer): void;
  end(): void;
  /** The reader gets what came before it first. */
  fail(error: UpstreamBrokenError): void;
  /** Forgets what is unread; the reader sees the end, or `error`. */
  drop(error?: UpstreamBrokenError): void;
}

type Reader = { resolve(result: IteratorResult<Buffer, undefined>): void; reject(error: UpstreamBrokenError): void };
type State = { readonly is: 'Open' | 'Ended' } | { readonly is: 'Failed'; readonly error: UpstreamBrokenError };

const DONE: IteratorResult<Buffer, undefined> = { done: true, value: undefined };

/** `most`: bytes after which the body is cut off and its connection given up. */
export function answerBody(source: BodySource, name: string, idleMs: number, most = Infinity): AnswerBody {
  const unread: Buffer[] = [];
  /** The last of them, while it has room: the first `filled` bytes of it are used. */
  let block: Buffer | undefined;
  let filled = 0;
  let tiny = 0;
  let unreadBytes = 0;
  let paused = false;
  let left = most;
  let state: State = { is: 'Open' };
  let reader: Reader | undefined;

  const watch = (): NodeJS.Timeout =>
    setTimeout(() => {
      fail(new UpstreamBrokenError('TimedOut', `upstream ${name}: sent nothing for ${idleMs} ms`));
      source.abort();
    }, idleMs);
  let idle = watch();

  function settle(ended: State): void {
    if (state.is !== 'Open') return;
    state = ended;
    clearTimeout(idle);
    const waiting = reader;
    reader = undefined;
    if (ended.is === 'Failed') waiting?.reject(ended.error);
    else waiting?.resolve(DONE);
  }
  function fail(error: UpstreamBrokenError): void {
    settle({ is: 'Failed', error });
  }
  function drop(error?: UpstreamBrokenError): void {
    unread.length = 0;
    block = undefined;
    unreadBytes = 0;
    const open = state.is === 'Open';
    settle(error === undefined ? { is: 'Ended' } : { is: 'Failed', error });
    if (open) source.abort();
  }
  function keep(chunk: Buffer): void {
    unreadBytes += chunk.length;
    if (block !== undefined && filled + chunk.length <= BLOCK) {
      chunk.copy(block, filled);
      filled += chunk.length;
      return;
    }
    endBlock();
    if (chunk.length * 8 > BLOCK) {
      unread.push(chunk);
      return;
    }
    block = Buffer.allocUnsafe(BLOCK);
    filled = chunk.copy(block);
  }
  function endBlock(): void {
    if (block !== undefined) unread.push(block.subarray(0, filled));
    block = undefined;
  }
  function push(whole: Buffer): void {
    if (state.is !== 'Open' || whole.length === 0) return;
    if (whole.length < TINY && (tiny += 1) > MOST_TINY) {
      fail(new UpstreamBrokenError('Broken', `upstream ${name}: its answer comes in too many pieces`));
      source.abort();
      return;
    }
    const chunk = whole.length > left ? whole.subarray(0, left) : whole;
    left -= chunk.length;
    if (reader === undefined) {
      keep(chunk);
    } else {
      const waiting = reader;
      reader = undefined;
      waiting.resolve({ done: false, value: chunk });
    }
    if (left === 0) {
      settle({ is: 'Ended' });
      source.abort();
    } else if (unreadBytes >= MOST_UNREAD) {
      paused = true;
      clearTimeout(idle);
      source.pause();
    } else idle.refresh();
  }
  function next(): Promise<IteratorResult<Buffer, undefined>> {
    if (unread.length === 0) endBlock();
    const value = unread.shift();
    if (value !== undefined) {
      unreadBytes -= value.length;
      if (paused && unreadBytes < MOST_UNREAD) {
        paused = false;
        if (state.is === 'Open') idle = watch();
        source.resume();
      }
      return Promise.resolve({ done: false, value });
    }
    if (state.is === 'Failed') return Promise.reject(state.error);
    if (state.is === 'Ended') return Promise.resolve(DONE);
    return new Promise((resolve, reject) => {
      reader = { resolve, reject };
    });
  }
  const iterator: AsyncIterator<Buffer, undefined> = {
    next,
    return: () => {
      drop();
      return Promise.resolve(DONE);
    },
  };
  return { chunks: { [Symbol.asyncIterator]: () => iterator }, push, end: () => settle({ is: 'Ended' }), fail, drop };
}
