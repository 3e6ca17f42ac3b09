/**
 * Reads a large answer of an upstream as far as its price depends on it, and hands its bytes back as they came. Pure; runs in a thread
 * (`worker.ts`), since an answer that is odd takes seconds to be parsed.
 */
import { isObject } from '../../src/api/safe-value.js';
import type { AnswerAbout } from '../../src/engines/inference/dialects/answer-event.js';
import type { TextOperation, UpstreamError } from '../../src/engines/inference/dialects/dialect.js';
import { parseExact, writeExact } from '../../src/engines/inference/dialects/exact-json.js';
import { dialectFor } from '../../src/engines/inference/dialects/index.js';
import { type ChatOperation, translateAnswer } from '../../src/engines/inference/dialects/translate.js';
import type { Usage } from '../../src/money/model-prices.js';
import { hasFewPieces } from './pieces.js';

/** I10: as of a request (`read-large.ts`), and more, since embeddings are long lists of numbers. */
const MOST_PIECES = 1_000_000;

export interface AnswerTask extends AnswerFor {
  readonly bytes: Uint8Array;
}

/** What was asked of the upstream, and for whom it is translated; absent: its own dialect is the client's. */
export interface AnswerFor {
  readonly answerTo: TextOperation;
  readonly client?: { readonly operation: ChatOperation; readonly about: AnswerAbout } | undefined;
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
  /** In the client's dialect; absent: as it came. */
  readonly translated?: string | undefined;
}

export type LargeAnswer =
  | (ReadAnswer & { readonly bytes: Uint8Array<ArrayBuffer> })
  /** It is no JSON, or of too many pieces. */
  | { readonly outcome: 'Unreadable' };

export function readLargeAnswer({ bytes, ...task }: AnswerTask): LargeAnswer {
  if (!hasFewPieces(bytes, MOST_PIECES)) return { outcome: 'Unreadable' };
  const own = bytes.buffer instanceof ArrayBuffer ? new Uint8Array(bytes.buffer) : new Uint8Array(bytes);
  const read = readAnswer(task, Buffer.from(own.buffer));
  if (read === undefined) return { outcome: 'Unreadable' };
  const { translated, ...rest } = read;
  return { ...rest, bytes: translated === undefined ? own : new Uint8Array(Buffer.from(translated)) };
}

/** Undefined: it is no JSON object. */
export function readAnswer({ answerTo, client }: AnswerFor, bytes: Buffer): ReadAnswer | undefined {
  const dialect = dialectFor(answerTo);
  const text = bytes.toString('utf8');
  try {
    // Numbers are changed only where something is written anew.
    const answer: unknown = client === undefined ? JSON.parse(text) : parseExact(text);
    if (!isObject(answer)) return undefined;
    const read: ReadAnswer = {
      outcome: 'Answer',
      error: dialect.readError(answer),
      usage: dialect.readUsage(answerTo, answer),
      outputBytes: dialect.outputBytes(answerTo, answer),
    };
    if (client === undefined || read.error !== undefined) return read;
    const { body } = translateAnswer(dialect.name, client.operation, answer, client.about);
    return { ...read, translated: writeExact(body) };
  } catch {
    return undefined;
  }
}
