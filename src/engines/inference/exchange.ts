/**
 * One request and its answer over a pool of connections. Resolves with the head, or with why there is none; never rejects. The place that a
 * request holds (`over`) is given back when its connection is done with it, not when its caller is.
 */
import type { Dispatcher, Pool } from 'undici';
import { answerBody, type AnswerBody } from './answer-body.js';
import { UpstreamBrokenError, type UpstreamAnswer, type UpstreamBody, type UpstreamFailure } from './upstream.js';

export interface Exchange {
  readonly pool: Pool;
  /** Of the upstream, for messages. */
  readonly name: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: string[];
  readonly body?: UpstreamBody;
  readonly connectMs: number;
  /** From now to the head. */
  readonly firstByteMs: number;
  readonly idleMs: number;
  readonly signal: AbortSignal;
  /** Called once. */
  over(): void;
}

/** I10: of a body that is no success, which is small or of no use. */
const MOST_ERROR_BYTES = 64 * 1024;

/** Headers of an answer that are read. */
const READ = ['content-type', 'retry-after', 'request-id', 'x-request-id'];

export function exchange(request: Exchange): Promise<UpstreamAnswer> {
  const { name, signal } = request;
  return new Promise((resolve) => {
    let connection: Dispatcher.DispatchController | undefined;
    let body: AnswerBody | undefined;
    /** Set: the request is given up, whether or not it has a connection yet. */
    let given: Error | undefined;
    const head = setTimeout(
      () => giveUp('TimedOut', `upstream ${name}: no answer began within ${request.firstByteMs} ms`),
      request.firstByteMs,
    );

    const settle = (answer: UpstreamAnswer): void => {
      clearTimeout(head);
      resolve(answer);
    };
    const close = (): void => {
      given ??= new Error('given up');
      connection?.abort(given);
    };
    function giveUp(reason: UpstreamFailure['reason'], message: string): void {
      settle({ outcome: 'Failed', reason, message });
      close();
    }
    function leave(): void {
      const message = `upstream ${name}: given up by the caller`;
      if (body === undefined) giveUp('Aborted', message);
      else body.drop(new UpstreamBrokenError('Broken', message));
    }
    const finish = (): void => {
      clearTimeout(head);
      signal.removeEventListener('abort', leave);
      request.over();
    };

    signal.addEventListener('abort', leave, { once: true });
    const { pool, method, path, headers, body: sent } = request;
    pool.dispatch(
      { method, path, headers, body: sent === undefined || Buffer.isBuffer(sent) ? (sent ?? null) : sent.open() },
      {
        onRequestStart(controller) {
          connection = controller;
          if (given !== undefined) controller.abort(given);
        },
        onResponseStart(controller, status, headersOfAnswer) {
          // 1xx heads come before the one that counts.
          if (status < 200 || given !== undefined) return;
          if ((headersOfAnswer['content-encoding'] ?? 'identity') !== 'identity') {
            giveUp('Broken', `upstream ${name}: compresses its answer, which it was asked not to do`);
            return;
          }
          const source = { pause: () => controller.pause(), resume: () => controller.resume(), abort: close };
          const most = status < 300 ? Infinity : MOST_ERROR_BYTES;
          const opened = answerBody(source, name, request.idleMs, most);
          body = opened;
          settle({
            outcome: 'Answered',
            status,
            headers: readHeaders(headersOfAnswer),
            body: opened.chunks,
            discard: () => opened.drop(),
          });
        },
        onResponseData: (_, chunk) => body?.push(chunk),
        onResponseEnd() {
          body?.end();
          finish();
        },
        onResponseError(_, error) {
          finish();
          const reason = connection === undefined ? 'Unreachable' : 'Broken';
          settle({ outcome: 'Failed', reason, message: `upstream ${name}: ${why(error, request)}` });
          body?.fail(
            new UpstreamBrokenError('Broken', `upstream ${name}: the connection broke in the middle of an answer`),
          );
        },
      },
    );
  });
}

function readHeaders(all: Readonly<Record<string, string | readonly string[] | undefined>>): Record<string, string> {
  const read: Record<string, string> = {};
  for (const header of READ) {
    const value = all[header];
    const first = typeof value === 'string' ? value : value?.[0];
    if (first !== undefined) read[header] = first;
  }
  return read;
}

/** By the code alone: messages of errors name addresses. */
function why(error: Error, { connectMs }: Exchange): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return `no connection within ${connectMs} ms`;
  if (code === 'UND_ERR_SOCKET' || code === 'ECONNRESET') return 'the connection was closed before an answer began';
  return /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? `could not be reached (${code})` : 'could not be reached';
}
