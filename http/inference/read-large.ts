/**
 * Reads a large body as far as the event loop has to know it, and writes it as an upstream gets it, but for the model's name, which is known later:
 * the result has the bytes and the place of that name in them. So nothing that was parsed is kept. Pure; runs in a thread (`worker.ts`).
 */
import type { Refusal } from '../../src/api/refusal.js';
import { isObject } from '../../src/api/safe-value.js';
import type {
  DialectName,
  Operation,
  RequestFault,
  RequestSummary,
} from '../../src/engines/inference/dialects/dialect.js';
import { parseExact, writeExact } from '../../src/engines/inference/dialects/exact-json.js';
import { MOST_PIECES } from '../../src/engines/inference/dialects/body.js';
import { dialectFor } from '../../src/engines/inference/dialects/index.js';
import {
  type ThinkingBlocks,
  thinkingBlocksOf,
  withThinkingBlocks,
} from '../../src/engines/inference/dialects/openai/thinking-blocks.js';
import { type ChatOperation, translateRequest } from '../../src/engines/inference/dialects/translate.js';
import { digitsOf, fewTexts } from '../../src/engines/inference/tokens/count.js';
import { hasFewPieces } from './pieces.js';
import { understandBody } from './understand.js';

export interface LargeTask {
  readonly operation: Operation;
  readonly bytes: Uint8Array;
}

/** Where a body that was written for an upstream of its own dialect differs from what the client has sent. */
export interface ChangedBody {
  /** Undefined: it was not sent. */
  readonly members: Readonly<Record<string, unknown>>;
  readonly blocks: ThinkingBlocks;
}

export type LargeRequest =
  | { readonly outcome: 'Refused'; readonly refusal: Refusal }
  | {
      readonly outcome: 'Request';
      readonly summary: RequestSummary;
      /** Of its numbers. */
      readonly digits: number;
      /** For a tokenizer; undefined: too much of it. */
      readonly texts: readonly string[] | undefined;
      /** As an upstream gets it, in a buffer of its own. */
      readonly written: Uint8Array<ArrayBuffer>;
      readonly changed: ChangedBody;
      /** Where the JSON of the model's name is in it. */
      readonly name: { readonly from: number; readonly to: number };
    };

/** `mark`: letters and digits that nobody can know who has written the body. */
export function readLarge({ operation, bytes }: LargeTask, mark: string): LargeRequest {
  if (!hasFewPieces(bytes, MOST_PIECES)) {
    return {
      outcome: 'Refused',
      refusal: {
        code: 'RequestEntityTooLarge',
        message: `the body may have at most ${MOST_PIECES} objects, lists and strings`,
        fix: 'Send less at once.',
      },
    };
  }
  const understood = understandBody(operation, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  if (understood.outcome === 'Refused') return understood;
  const { texts, body, ...summary } = understood.request;
  const own = dialectFor(operation).upstreamBody(understood.request, mark);
  const written = alone(Buffer.from(writeExact(own)));
  const name = JSON.stringify(mark);
  const from = Buffer.from(written.buffer).indexOf(name);
  if (from < 0) throw new Error('the dialect does not write the name of the model');
  const found = { summary, digits: digitsOf(body), texts: fewTexts(texts()) };
  return {
    outcome: 'Request',
    ...found,
    written,
    name: { from, to: from + name.length },
    changed: { members: changedIn(own, body), blocks: thinkingBlocksOf(body['messages']) },
  };
}

export interface TranslateTask {
  readonly translate: ChatOperation;
  readonly to: DialectName;
  readonly options: Parameters<typeof translateRequest>[3];
  /** As it was written for an upstream of its own dialect, and what was changed for that. */
  readonly bytes: Uint8Array;
  readonly changed: ChangedBody;
}

export type LargeTranslation =
  | { readonly outcome: 'CannotCarry'; readonly fault: RequestFault }
  | {
      readonly outcome: 'Translated';
      readonly written: Uint8Array<ArrayBuffer>;
      readonly name: { readonly from: number; readonly to: number };
    };

/** Messages are left out: beside `blocks`, what was changed in them is nothing that goes to an upstream of another dialect. */
function changedIn(
  own: Readonly<Record<string, unknown>>,
  body: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const members = new Set([...Object.keys(own), ...Object.keys(body)]);
  for (const same of ['model', 'messages']) members.delete(same);
  return Object.fromEntries([...members].filter((name) => own[name] !== body[name]).map((name) => [name, body[name]]));
}

/** `mark`: as of `readLarge`. */
export function translateLarge(
  { translate, to, options, bytes, changed }: TranslateTask,
  mark: string,
): LargeTranslation {
  const body: unknown = parseExact(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
  const { messages, ...rest } = isObject(body) ? body : {};
  const said = messages === undefined ? {} : { messages: withThinkingBlocks(messages, changed.blocks) };
  const translated = translateRequest(translate, { ...rest, ...said, ...changed.members }, to, options);
  if (translated.outcome === 'CannotCarry') return translated;
  const written = alone(Buffer.from(writeExact({ model: mark, ...translated.body })));
  const from = '{"model":'.length;
  return { outcome: 'Translated', written, name: { from, to: from + JSON.stringify(mark).length } };
}

/** A short one shares its buffer with others. */
function alone(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  const isAlone = buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength;
  return isAlone ? new Uint8Array(buffer) : new Uint8Array(bytes);
}
