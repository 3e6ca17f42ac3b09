/** The dialects that the gateway speaks, by name. */
import { anthropic } from './anthropic/index.js';
import { DIALECT_OF, type Dialect, type DialectName, type Operation } from './dialect.js';
import { openai } from './openai/index.js';

export const DIALECT_BY_NAME: Readonly<Record<DialectName, Dialect>> = { OpenAI: openai, Anthropic: anthropic };

export function dialectFor(operation: Operation): Dialect {
  return DIALECT_BY_NAME[DIALECT_OF[operation]];
}
