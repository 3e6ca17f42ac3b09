/**
 * Reads a large answer of an upstream as far as its price depends on it, and hands its bytes back as they came. Pure; runs in a thread
 * (`worker.ts`), since an answer that is odd takes seconds to be parsed.
 */
import { isObject } from '../../src/api/safe-value.js';
import type { Operation, UpstreamError } from '../../src/engines/inference/dialects/dialect.js';
import { dialectFor } from '../../src/engines/inference/dialects/index.js';
import type { Usage } from '../../src/money/model-prices.js';
import { hasFewPieces } from './pieces.js';

/** I10: as of a request (`read-large.ts`), and more, since embeddings are long lists of numbers. */
const MOST_PIECES = 1_000_000;

export interface AnswerTask {
  readonly answerTo: Operation;
  readonly bytes: Uint8Array;
}

/** What an answer says of itself. */
export interface ReadAnswer {
  readonly outcome: 'Answer';
  /** Undefined: it is no error. */
  readonly error: UpstreamError | undefined;
  /** Undefined: it reports none. */
  readonly usage: Usage | undefined;
  /** UTF-8 bytes of what it has generated. */
  readonly outputBytes: number;
}

export type LargeAnswer =
  | (ReadAnswer & { readonly bytes: Uint8Array<ArrayBuffer> })
  /** It is no JSON, or of too many pieces. */
  | { readonly outcome: 'Unreadable' };

export function readLargeAnswer({ answerTo, bytes }: AnswerTask): LargeAnswer {
  if (!hasFewPieces(bytes, MOST_PIECES)) return { outcome: 'Unreadable' };
  const own = bytes.buffer instanceof ArrayBuffer ? new Uint8Array(bytes.buffer) : new Uint8Array(bytes);
  const read = readAnswer(answerTo, Buffer.from(own.buffer));
  return read === undefined ? { outcome: 'Unreadable' } : { ...read, bytes: own };
}

/** Undefined: it is no JSON object. */
export function readAnswer(operation: Operation, bytes: Buffer): ReadAnswer | undefined {
  const dialect = dialectFor(operation);
  try {
    const answer: unknown = JSON.parse(bytes.toString('utf8'));
    if (!isObject(answer)) return undefined;
    return {
      outcome: 'Answer',
      error: dialect.readError(answer),
      usage: dialect.readUsage(operation, answer),
      outputBytes: dialect.outputBytes(operation, answer),
    };
  } catch {
    return undefined;
  }
}
