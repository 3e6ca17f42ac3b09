/**
 * An answer in the one form that is between all dialects: events in the order in which a model makes it. A whole answer is the same events, read
 * at once. Text, thinking and calls of tools come one after the other: what begins ends what was before.
 */
import { promptTokens, type Usage, ZERO_USAGE } from '../../../money/model-prices.js';
import { estimateTokens } from '../tokens/estimate.js';
import type { UpstreamError } from './dialect.js';

/** End: by itself. Length: at max_tokens, or at the end of its context. Stop: before a stop sequence. Tool: it waits for results. Refused: by the model or its vendor. */
export type Finish = 'End' | 'Length' | 'Stop' | 'Tool' | 'Refused';

export type AnswerEvent =
  | { readonly type: 'Text'; readonly text: string }
  /** What a model says in place of an answer that it refuses. */
  | { readonly type: 'Refusal'; readonly text: string }
  | { readonly type: 'Thinking'; readonly text: string }
  /** Ends the thinking before it. */
  | { readonly type: 'Signature'; readonly signature: string }
  | { readonly type: 'HiddenThinking'; readonly data: string }
  | { readonly type: 'ToolCall'; readonly id: string; readonly name: string }
  /** Of the last call: a piece of JSON text. */
  | { readonly type: 'Arguments'; readonly json: string }
  | { readonly type: 'Finish'; readonly finish: Finish; readonly stop?: string | undefined }
  /** A sum so far; the newest counts. */
  | { readonly type: 'Usage'; readonly usage: Usage; readonly reasoningTokens: number };

/** Reads an upstream's stream. Not pure: it keeps where the stream stands. */
export interface AnswerReader {
  /** Throws a `BrokenStreamError` for a frame that is none of the dialect. */
  frame(frame: { readonly event: string | undefined; readonly data: string }): readonly AnswerEvent[];
  readonly state: ReadState;
}

/** `Complete`: the stream has come to its own end. `Failed`: the upstream has said so. */
export type ReadState =
  | { readonly is: 'Open' }
  | { readonly is: 'Complete' }
  | { readonly is: 'Failed'; readonly error: UpstreamError };

/** What an answer says of itself. */
export interface AnswerAbout {
  /** Without what a dialect puts before it; letters, digits, `-` and `_`. */
  readonly id: string;
  /** As the client has named it. */
  readonly model: string;
  /** Seconds since the epoch. */
  readonly created: number;
  /** The client asked for usage in its stream. */
  readonly wantsUsage: boolean;
  /** What the client has asked for, where its dialect tells it back. */
  readonly asked: Readonly<Record<string, unknown>>;
  readonly estimate: Estimate;
}

/** Our count, which stands for what an upstream does not report. */
export interface Estimate {
  readonly inputTokens: number;
  /** No more than was held. */
  readonly mostOutputTokens: number;
}

export function estimatedUsage({ inputTokens, mostOutputTokens }: Estimate, outputBytes: number): Usage {
  const outputTokens = Math.min(mostOutputTokens, estimateTokens(outputBytes));
  return { ...ZERO_USAGE, inputTokens, outputTokens };
}

/** No request has an empty prompt: an upstream that reports none has left it out. */
export function completeUsage(usage: Usage, { inputTokens }: Estimate): Usage {
  return promptTokens(usage) > 0 ? usage : { ...usage, inputTokens };
}

/** USD, as it is shown. */
export type ShowCost = (usage: Usage) => string;

/** Writes a stream for a client. Not pure: it keeps where the stream stands. */
export interface AnswerWriter {
  /** Before the first event. */
  begin(): string;
  /** Frames; empty: nothing for the client. */
  event(event: AnswerEvent): string;
  /** The upstream's stream is complete. `usage`: its own, else our count. */
  end(usage: Usage, reasoningTokens: number, isEstimate: boolean): string;
  /** Ends a stream that cannot be completed; absent: as its dialect does. */
  fail?(error: { readonly code: string; readonly message: string }): string;
}

/** UTF-8 bytes that a model has generated in it. */
export function bytesOfEvent(event: AnswerEvent): number {
  switch (event.type) {
    case 'Text':
    case 'Refusal':
    case 'Thinking':
      return Buffer.byteLength(event.text);
    case 'HiddenThinking':
      return event.data.length;
    case 'ToolCall':
      return Buffer.byteLength(event.name);
    case 'Arguments':
      return Buffer.byteLength(event.json);
    case 'Signature':
    case 'Finish':
    case 'Usage':
      return 0;
  }
}
