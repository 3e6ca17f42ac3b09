/** UTF-8 bytes that the blocks of an answer in Anthropic's dialect, or the deltas of its stream, have generated. Signatures are not generated. */
import { isObject } from '../../../../api/safe-value.js';
import { listOf } from '../body.js';
import { bytesOf, bytesOfArguments } from '../generated.js';

export function bytesOfBlocks(content: unknown): number {
  return listOf(content).reduce<number>((sum, block) => sum + bytesOfBlock(block), 0);
}

/** `data` is of reasoning that is not shown. */
export function bytesOfBlock(block: unknown): number {
  if (!isObject(block)) return 0;
  const { type, text, thinking, data, name, input } = block;
  if (type === 'tool_use' || type === 'toolset_tool_use') return bytesOf(name) + bytesOfArguments(input);
  return bytesOf(text) + bytesOf(thinking) + (type === 'redacted_thinking' ? bytesOf(data) : 0);
}

export function bytesOfDelta(delta: unknown): number {
  if (!isObject(delta)) return 0;
  return bytesOf(delta['text']) + bytesOf(delta['thinking']) + bytesOf(delta['partial_json']);
}
