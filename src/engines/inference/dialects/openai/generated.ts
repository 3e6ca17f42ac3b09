/** UTF-8 bytes that the choices of an answer or of a chunk in OpenAI's dialect have generated. */
import { isObject } from '../../../../api/safe-value.js';
import { listOf } from '../body.js';
import { bytesOf, bytesOfArguments } from '../generated.js';

export function bytesOfChoices(choices: unknown): number {
  return listOf(choices).reduce<number>((sum, choice) => sum + (isObject(choice) ? bytesOfChoice(choice) : 0), 0);
}

/** `text` of a completion, `message` of a chat's answer, `delta` of a chunk. */
function bytesOfChoice({ text, message, delta }: Readonly<Record<string, unknown>>): number {
  return bytesOf(text) + bytesOfMessage(message) + bytesOfMessage(delta);
}

function bytesOfMessage(message: unknown): number {
  if (!isObject(message)) return 0;
  const { content, reasoning_content, reasoning, refusal, tool_calls, function_call, role: _, ...others } = message;
  // Some servers send the same reasoning under several names, of which we do not know all.
  const thought = Math.max(bytesOf(reasoning_content), bytesOf(reasoning), ...Object.values(others).map(bytesOfAny));
  const calls = listOf(tool_calls).reduce<number>((sum, call) => sum + bytesOfCall(call), 0);
  return bytesOf(content) + thought + bytesOf(refusal) + calls + bytesOfFunction(function_call);
}

function bytesOfAny(value: unknown): number {
  return typeof value === 'string' ? bytesOf(value) : bytesOfArguments(value);
}

function bytesOfCall(call: unknown): number {
  return isObject(call) ? bytesOfFunction(call['function']) + bytesOfFunction(call['custom']) : 0;
}

function bytesOfFunction(called: unknown): number {
  if (!isObject(called)) return 0;
  return bytesOf(called['name']) + bytesOfArguments(called['arguments']) + bytesOf(called['input']);
}
