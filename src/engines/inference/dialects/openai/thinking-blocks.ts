/**
 * `thinking_blocks` of a message: a member of our own, in which the thinking of an upstream of another dialect comes back with its signature. No
 * upstream of this dialect is told of it. Pure.
 */
import { isObject } from '../../../../api/safe-value.js';

const MEMBER = 'thinking_blocks';

export type ThinkingBlocks = readonly (readonly [message: number, blocks: unknown])[];

/** The same list, when there are none. */
export function withoutThinkingBlocks(messages: unknown): unknown {
  if (!Array.isArray(messages) || !messages.some(hasBlocks)) return messages;
  return messages.map((message: unknown) => {
    if (!hasBlocks(message)) return message;
    const { [MEMBER]: _, ...rest } = message;
    return rest;
  });
}

export function thinkingBlocksOf(messages: unknown): ThinkingBlocks {
  if (!Array.isArray(messages)) return [];
  return messages.flatMap((message: unknown, at) => (hasBlocks(message) ? [[at, message[MEMBER]] as const] : []));
}

/** Puts them back. */
export function withThinkingBlocks(messages: unknown, blocks: ThinkingBlocks): unknown {
  if (!Array.isArray(messages) || blocks.length === 0) return messages;
  const of = new Map(blocks);
  return messages.map((message: unknown, at) =>
    of.has(at) && isObject(message) ? { ...message, [MEMBER]: of.get(at) } : message,
  );
}

function hasBlocks(message: unknown): message is Readonly<Record<string, unknown>> {
  return isObject(message) && message[MEMBER] !== undefined;
}
