/**
 * How many tokens a request can have at most, before it is sent, and how many an answer had that nobody has counted. Both are our counts,
 * and what they are good for is said beside them. Pure.
 */
import { isObject } from '../../../api/safe-value.js';
import type { InferenceRequest } from '../dialects/dialect.js';
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
  request: InferenceRequest,
  bodyBytes: number,
  { imageTokens, countTokens }: BoundOptions,
): number {
  const added = request.images * imageTokens + tokensForTools(request);
  const ofBytes = Math.max(0, bodyBytes - request.imageCharacters) + added;
  const counted = countTokens === undefined ? undefined : countTexts(request, countTokens);
  return counted === undefined ? ofBytes : Math.min(ofBytes, counted + added);
}

/** A number of tokens for generated text that an upstream did not count: three bytes each, somewhat more than most tokenizers make of prose. */
export function estimateTokens(bytes: number): number {
  return Math.ceil(bytes / 3);
}

/** Undefined: too much text to tokenize. */
function countTexts(request: InferenceRequest, countTokens: CountTokens): number | undefined {
  const texts: string[] = [];
  let bytes = 0;
  for (const text of request.texts()) {
    bytes += Buffer.byteLength(text);
    if (bytes > MOST_TOKENIZED_BYTES) return undefined;
    texts.push(text);
  }
  return texts.reduce((sum, text) => sum + countTokens(text) + AROUND_TEXT, AROUND_PROMPT);
}

function tokensForTools({ features, body }: InferenceRequest): number {
  if (!features.has('Tools')) return 0;
  const tools: readonly unknown[] = Array.isArray(body['tools']) ? body['tools'] : [];
  const named = tools.filter(
    (tool) => isObject(tool) && typeof tool['type'] === 'string' && !['function', 'custom'].includes(tool['type']),
  );
  return FOR_TOOLS + named.length * FOR_NAMED_TOOL;
}
