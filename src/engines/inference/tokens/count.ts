/**
 * How many tokens a request can have at most, before it is sent. Pure.
 */
import type { InferenceRequest, RequestSummary } from '../dialects/dialect.js';
import type { CountTokens } from '../router.js';

/** Texts of more bytes together are not tokenized: this many take up to 30 ms, in which the process does nothing else. */
export const MOST_TOKENIZED_BYTES = 32 * 1024;
/** What a chat template puts around one text: its role, its name, marks of begin and end. */
const AROUND_TEXT = 8;
const AROUND_PROMPT = 64;
/** What a vendor puts into the prompt when there are tools. */
const FOR_TOOLS = 512;
/** What a vendor puts into the prompt for a tool of its own, of which the request has the name alone. */
const FOR_NAMED_TOOL = 2_048;

export interface CountedRequest extends RequestSummary {
  /** As of `InferenceRequest`; undefined: they are too much to be tokenized. */
  texts(): ReturnType<InferenceRequest['texts']> | undefined;
}

export interface BoundOptions {
  /** Most tokens of one image. */
  readonly imageTokens: number;
  /** Where the operator has named the model's tokenizer. */
  readonly countTokens?: CountTokens | undefined;
}

/**
 * No tokenizer of bytes makes more input tokens of the request: each token is at least one byte, and the body, whose images are counted by themselves,
 * has more bytes than the prompt that is made of it. Texts that are short enough are counted by the model's own tokenizer, where there is one.
 */
export function inputBound(
  request: CountedRequest,
  bodyBytes: number,
  { imageTokens, countTokens }: BoundOptions,
): number {
  const added = request.images * imageTokens + tokensForTools(request);
  const ofBytes = Math.max(0, bodyBytes - request.imageCharacters) + added;
  const texts = countTokens === undefined ? undefined : request.texts();
  const few = texts === undefined ? undefined : fewTexts(texts);
  if (few === undefined || countTokens === undefined) return ofBytes;
  return Math.min(
    ofBytes,
    few.reduce((sum, text) => sum + countTokens(text) + AROUND_TEXT, AROUND_PROMPT + added),
  );
}

/** Undefined: too much text to tokenize. What stands around a text counts too, so that tiny ones have an end. */
export function fewTexts(texts: Iterable<string>): readonly string[] | undefined {
  const few: string[] = [];
  let bytes = 0;
  for (const text of texts) {
    bytes += Buffer.byteLength(text) + AROUND_TEXT;
    if (bytes > MOST_TOKENIZED_BYTES) return undefined;
    few.push(text);
  }
  return few;
}

function tokensForTools({ features, namedTools }: RequestSummary): number {
  return features.has('Tools') ? FOR_TOOLS + namedTools * FOR_NAMED_TOOL : 0;
}

/** Digits of numbers that a client may have written shorter (1e20) than they go on: they come on top of the bytes of the body. Not deeper than a body is. */
export function digitsOf(value: unknown): number {
  if (typeof value === 'number') return Math.abs(value) >= 1_000 ? String(value).length : 0;
  if (typeof value !== 'object' || value === null) return 0;
  let digits = 0;
  for (const inside of Object.values(value)) digits += digitsOf(inside);
  return digits;
}
