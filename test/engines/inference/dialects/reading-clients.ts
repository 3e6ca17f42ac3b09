/** Translated streams, and what the official clients' readers make of them. */
import { MessageStream } from '@anthropic-ai/sdk/lib/MessageStream';
import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream';
import { ResponseStream } from 'openai/lib/responses/ResponseStream';
import {
  type AnswerAbout,
  type AnswerEvent,
  estimatedUsage,
} from '../../../../src/engines/inference/dialects/answer-event.js';
import type { DialectName, StreamFollower } from '../../../../src/engines/inference/dialects/dialect.js';
import { type ChatOperation, followTranslated } from '../../../../src/engines/inference/dialects/translate.js';
import type { Usage } from '../../../../src/money/model-prices.js';
import { openSseDecoder, SSE_BOUNDS } from '../../../../src/engines/inference/sse.js';

export const ESTIMATE = { inputTokens: 11, mostOutputTokens: 1_000 };
export const ABOUT: AnswerAbout = {
  id: 'x1',
  model: 'named',
  created: 1_764_000_000,
  wantsUsage: true,
  asked: {},
  estimate: ESTIMATE,
};
export const free = (): string => '0.00';

interface Followed {
  readonly out: string;
  readonly follower: StreamFollower;
}

export function follow(from: DialectName, to: ChatOperation, chunks: readonly Buffer[]): Followed {
  const follower = followTranslated(from, to, ABOUT, free);
  let out = '';
  const decoder = openSseDecoder(SSE_BOUNDS, (frame) => {
    out += follower.frame(frame).out ?? '';
  });
  for (const piece of chunks) decoder.push(piece);
  decoder.end();
  return { out, follower };
}

/** The clients' readers take a line of JSON for each event. */
function linesOf(stream: string): ReadableStream<Uint8Array> {
  const data = stream
    .split('\n\n')
    // Not a dot: it ends at U+2028, which JSON has as it is.
    .map((frame) => /^data: ([^\n]*)$/m.exec(frame)?.[1])
    .filter((line) => line !== undefined && line !== '[DONE]');
  return new Blob([`${data.join('\n')}\n`]).stream();
}

export interface Read {
  readonly thinking: string;
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly json: string }[];
  readonly stop: string | null | undefined;
  readonly usage: readonly (number | null | undefined)[];
}

export const READERS: Readonly<Record<ChatOperation, (stream: string) => Promise<Read>>> = {
  async '/v1/chat/completions'(stream) {
    const [choice, usage] = await chatOf(stream);
    const { content, tool_calls: calls = [], ...rest } = choice.message;
    return {
      thinking: (rest as { reasoning_content?: string }).reasoning_content ?? '',
      text: content ?? '',
      calls: calls.map((call) =>
        'function' in call ? { name: call.function.name, json: call.function.arguments } : { name: '', json: '' },
      ),
      stop: choice.finish_reason,
      usage: [usage?.prompt_tokens, usage?.completion_tokens, usage?.prompt_tokens_details?.cached_tokens],
    };
  },
  async '/v1/messages'(stream) {
    const message = await MessageStream.fromReadableStream(linesOf(stream)).finalMessage();
    const { usage } = message;
    return {
      thinking: message.content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join(''),
      text: message.content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
      calls: message.content.flatMap((block) =>
        block.type === 'tool_use' ? [{ name: block.name, json: JSON.stringify(block.input) }] : [],
      ),
      stop: message.stop_reason,
      usage: [
        usage.input_tokens + (usage.cache_read_input_tokens ?? 0),
        usage.output_tokens,
        usage.cache_read_input_tokens,
      ],
    };
  },
  async '/v1/responses'(stream) {
    const response = await ResponseStream.fromReadableStream(linesOf(stream)).finalResponse();
    const { output, usage } = response;
    const ids = output.map(({ id }) => id);
    if (new Set(ids).size !== ids.length || ids.includes('')) throw new Error(`ids: ${ids.join()}`);
    return {
      thinking: output
        .map((item) => (item.type === 'reasoning' ? item.summary.map(({ text }) => text).join('') : ''))
        .join(''),
      text: response.output_text,
      calls: output.flatMap((item) =>
        item.type === 'function_call' ? [{ name: item.name, json: item.arguments }] : [],
      ),
      stop: response.incomplete_details?.reason ?? response.status,
      usage: [usage?.input_tokens, usage?.output_tokens, usage?.input_tokens_details.cached_tokens],
    };
  },
};

async function chatOf(stream: string) {
  const completion = await ChatCompletionStream.fromReadableStream(linesOf(stream)).finalChatCompletion();
  const [choice] = completion.choices;
  if (choice === undefined) throw new Error('there is no choice');
  return [choice, completion.usage] as const;
}

export const sse = (value: unknown, event?: string): string =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(value)}\n\n`;
export const chunk = (delta: object, finish: string | null = null) =>
  sse({ id: 'c', choices: [{ index: 0, delta, finish_reason: finish }] });

export const STOPS: Readonly<Record<ChatOperation, Readonly<Record<string, string>>>> = {
  '/v1/chat/completions': { End: 'stop', Length: 'length', Tool: 'tool_calls' },
  '/v1/messages': { End: 'end_turn', Length: 'max_tokens', Tool: 'tool_use' },
  '/v1/responses': { End: 'completed', Length: 'max_output_tokens', Tool: 'completed' },
};

export const normal = ({ calls, ...rest }: Read): unknown => ({
  ...rest,
  calls: calls.map(({ name, json }) => ({ name, input: JSON.parse(json === '' ? '{}' : json) as unknown })),
});

export const usageOf = (events: readonly AnswerEvent[]): Usage =>
  events.find((event) => event.type === 'Usage')?.usage ?? estimatedUsage(ESTIMATE, 0);
