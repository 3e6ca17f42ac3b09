/**
 * Thinking without a signature is of another dialect's upstream, which has answered an earlier turn, and the vendor refuses a conversation with it
 * for good. So it is left out, and where the vendor would need it (within the use of tools), the turn goes on without thinking. Pure.
 */
import { isObject } from '../../../../api/safe-value.js';
import { type Body, listOf } from '../body.js';

/** The same body, when there is none. */
export function withoutUnsigned(body: Body): Body {
  const messages = listOf(body['messages']);
  if (!messages.some(hasUnsigned)) return body;
  const kept = messages.flatMap((message): unknown[] => {
    if (!hasUnsigned(message)) return [message];
    const content = listOf(message['content']).filter((block) => !isUnsigned(block));
    return content.length === 0 ? [] : [{ ...message, content }];
  });
  if (!needsThinking(messages)) return { ...body, messages: kept };
  const { thinking, context_management: management, ...rest } = body;
  // Edits of thinking are refused without it, and change no answer.
  const edits = thinking === undefined ? management : withoutEditsOfThinking(management);
  return { ...rest, messages: kept, ...(edits === undefined ? {} : { context_management: edits }) };
}

function withoutEditsOfThinking(management: unknown): unknown {
  if (!isObject(management) || !Array.isArray(management['edits'])) return management;
  const edits = management['edits'].filter(
    (edit: unknown) => !isObject(edit) || !String(edit['type']).startsWith('clear_thinking'),
  );
  return edits.length === 0 ? undefined : { ...management, edits };
}

function hasUnsigned(message: unknown): message is Readonly<Record<string, unknown>> {
  return isObject(message) && message['role'] === 'assistant' && listOf(message['content']).some(isUnsigned);
}

function isUnsigned(block: unknown): boolean {
  return isObject(block) && block['type'] === 'thinking' && (block['signature'] ?? '') === '';
}

/** The last turn has results of tools, which the turn before, with its thinking, has asked for. */
function needsThinking(messages: readonly unknown[]): boolean {
  const asked = messages.findLast((message) => isObject(message) && message['role'] === 'assistant');
  const last = messages.at(-1);
  const isResult = (block: unknown): boolean => isObject(block) && block['type'] === 'tool_result';
  return hasUnsigned(asked) && isObject(last) && listOf(last['content']).some(isResult);
}
