/**
 * Named tokenizers, for models whose operator has named one. Each is loaded when it is first asked for, since its table takes 100 ms and 60 MB. Nothing of a
 * text is kept. Special tokens in a text are text: they neither throw nor count as one token.
 */
import { CL100K_TOKEN_SPLIT_REGEX, O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants';
import type { CountTokens } from '../router.js';

export const TOKENIZERS = ['o200k_base', 'cl100k_base'] as const;
export type TokenizerName = (typeof TOKENIZERS)[number];

/** A text is cut into words first, and a word of n bytes takes n² steps to tokenize: longer ones count a token for each byte, which no text exceeds. */
const LONGEST_WORD = 256;

interface Encoding {
  countTokens(text: string, options: { disallowedSpecial: Set<string> }): number;
  setMergeCacheSize(size: number): void;
}

const ENCODINGS: Readonly<Record<TokenizerName, { readonly words: RegExp; readonly load: () => Promise<Encoding> }>> = {
  o200k_base: { words: O200K_TOKEN_SPLIT_REGEX, load: () => import('gpt-tokenizer/encoding/o200k_base') },
  cl100k_base: { words: CL100K_TOKEN_SPLIT_REGEX, load: () => import('gpt-tokenizer/encoding/cl100k_base') },
};

/** The tokens of a text: exact, but for words of more than LONGEST_WORD bytes, for which it is a bound. */
export async function loadTokenizer(name: TokenizerName): Promise<CountTokens> {
  const { words, load } = ENCODINGS[name];
  const encoding = await load();
  encoding.setMergeCacheSize(0);
  const count = (text: string): number =>
    text === '' ? 0 : encoding.countTokens(text, { disallowedSpecial: new Set() });
  return (text) => countByWords(text, words, count);
}

/** Tokens never cross the bounds of words, so that what stands between two long ones is counted on its own. */
function countByWords(text: string, words: RegExp, count: CountTokens): number {
  let tokens = 0;
  let counted = 0;
  for (const { 0: word, index } of text.matchAll(words)) {
    if (3 * word.length <= LONGEST_WORD) continue;
    const bytes = Buffer.byteLength(word);
    if (bytes <= LONGEST_WORD) continue;
    tokens += count(text.slice(counted, index)) + bytes;
    counted = index + word.length;
  }
  return tokens + count(counted === 0 ? text : text.slice(counted));
}
