/**
 * Between a client and an upstream of different dialects: requests, whole answers and streams, by the form that is between all dialects. A further
 * dialect is read and written by two files of its own, which are named here. Pure, but for streams, which keep where they stand.
 */
import { isObject } from '../../../api/safe-value.js';
import type { Usage } from '../../../money/model-prices.js';
import { readMessages } from './anthropic/read-conversation.js';
import { readMessageAnswer, readMessageStream } from './anthropic/read-answer.js';
import { writeMessageAnswer, writeMessageStream } from './anthropic/write-answer.js';
import { writeMessages } from './anthropic/write-conversation.js';
import {
  type AnswerAbout,
  type AnswerEvent,
  type AnswerReader,
  type AnswerWriter,
  bytesOfEvent,
  completeUsage,
  estimatedUsage,
  type ShowCost,
} from './answer-event.js';
import { areTooDeep } from './arguments.js';
import type { Body } from './body.js';
import { CannotCarry, type Conversation } from './conversation.js';
import {
  BrokenStreamError,
  type DialectName,
  type MaxTokensMember,
  type Operation,
  type RequestFault,
  type StreamFollower,
  type TextOperation,
} from './dialect.js';
import { parse } from './frames.js';
import { readChat } from './openai/read-conversation.js';
import { readChatAnswer, readChatStream } from './openai/read-answer.js';
import { writeChatAnswer, writeChatStream } from './openai/write-answer.js';
import { writeChat } from './openai/write-conversation.js';
import { readResponseConversation } from './responses/read-conversation.js';
import { writeResponseAnswer, writeResponseStream } from './responses/write-answer.js';

/** Operations that ask for an answer in a conversation: a model that serves one of them serves all. */
export const CHATS = ['/v1/chat/completions', '/v1/messages', '/v1/responses'] as const;
export type ChatOperation = (typeof CHATS)[number];

export function isChat(operation: Operation): operation is ChatOperation {
  return (CHATS as readonly Operation[]).includes(operation);
}

/** How an upstream of this dialect is asked. */
export const CHAT_OF: Readonly<Record<DialectName, TextOperation & ChatOperation>> = {
  OpenAI: '/v1/chat/completions',
  Anthropic: '/v1/messages',
};

/** What servers of one dialect differ in. */
export interface ModelForm {
  readonly maxTokensMember: MaxTokensMember;
  readonly thinking: 'budget' | 'adaptive';
}

interface Client {
  readConversation(body: Body): Conversation;
  writeStream(about: AnswerAbout, costOf: ShowCost): AnswerWriter;
  writeAnswer(
    events: readonly AnswerEvent[],
    about: AnswerAbout,
    usage: Usage,
    reasoningTokens: number,
  ): Record<string, unknown>;
}

const CLIENTS: Readonly<Record<ChatOperation, Client>> = {
  '/v1/chat/completions': { readConversation: readChat, writeStream: writeChatStream, writeAnswer: writeChatAnswer },
  '/v1/messages': { readConversation: readMessages, writeStream: writeMessageStream, writeAnswer: writeMessageAnswer },
  '/v1/responses': {
    readConversation: readResponseConversation,
    ...{ writeStream: writeResponseStream, writeAnswer: writeResponseAnswer },
  },
};

interface WriteOptions extends ModelForm {
  readonly maxOutputTokens: number;
  readonly stream: boolean;
}

interface UpstreamSide {
  writeRequest(conversation: Conversation, options: WriteOptions): Record<string, unknown>;
  readStream(callId: (n: number) => string): AnswerReader;
  readAnswer(answer: Readonly<Record<string, unknown>>, callId: (n: number) => string): readonly AnswerEvent[];
}

const UPSTREAMS: Readonly<Record<DialectName, UpstreamSide>> = {
  OpenAI: { writeRequest: writeChat, readStream: readChatStream, readAnswer: readChatAnswer },
  Anthropic: { writeRequest: writeMessages, readStream: readMessageStream, readAnswer: readMessageAnswer },
};

export type Translated =
  /** Without the name of the model. */
  | { readonly outcome: 'Body'; readonly body: Readonly<Record<string, unknown>> }
  | { readonly outcome: 'CannotCarry'; readonly fault: RequestFault };

/** `body`: accepted by the dialect of the operation. */
export function translateRequest(
  operation: ChatOperation,
  body: Body,
  to: DialectName,
  options: WriteOptions,
): Translated {
  try {
    const conversation = CLIENTS[operation].readConversation(body);
    return { outcome: 'Body', body: UPSTREAMS[to].writeRequest(conversation, options) };
  } catch (error) {
    if (error instanceof CannotCarry) return { outcome: 'CannotCarry', fault: error.fault };
    throw error;
  }
}

/** Follows a stream of an upstream of this dialect for a client of that operation. */
export function followTranslated(
  from: DialectName,
  operation: ChatOperation,
  about: AnswerAbout,
  costOf: ShowCost,
): StreamFollower {
  const reader = UPSTREAMS[from].readStream((n) => `call_${about.id}_${n}`);
  const writer = CLIENTS[operation].writeStream(about, costOf);
  const calls = followCalls();
  let begun = false;
  let outputBytes = 0;
  let bytesAtUsage = 0;
  let usage: Usage | undefined;
  let reasoningTokens = 0;
  return {
    frame(frame) {
      if (reader.state.is !== 'Open') return { out: undefined, outputBytes: 0 };
      const events = reader.frame(frame);
      let out = begun ? '' : writer.begin();
      begun = true;
      let bytes = 0;
      for (const event of events) {
        calls.check(event);
        bytes += bytesOfEvent(event);
        out += writer.event(event);
        if (event.type !== 'Usage') continue;
        ({ usage, reasoningTokens } = event);
        bytesAtUsage = outputBytes + bytes;
      }
      outputBytes += bytes;
      if (isComplete(reader))
        out += writer.end(shownUsage(usage, about, outputBytes), reasoningTokens, usage === undefined);
      return { out: out === '' ? undefined : out, outputBytes: bytes };
    },
    fail(error) {
      if (writer.fail === undefined) return undefined;
      const out = begun ? '' : writer.begin();
      begun = true;
      return out + writer.fail(error);
    },
    get usage() {
      return usage;
    },
    get state() {
      return reader.state;
    },
    get outputBytes() {
      return outputBytes;
    },
    get unreportedBytes() {
      return outputBytes - bytesAtUsage;
    },
  };
}

/** A client carries a call out that its answer ends with: arguments that are no JSON object were cut off on the way. Throws a BrokenStreamError. */
function followCalls(): { check(event: AnswerEvent): void } {
  let json: string | undefined;
  const checkLast = (isCut: boolean): void => {
    if (json === undefined || json.trim() === '') return;
    if (areTooDeep(json)) throw new BrokenStreamError('a call of a tool has arguments that nest too deep');
    if (!isCut && !isObject(parse(json)))
      throw new BrokenStreamError('a call of a tool has arguments that are no JSON object');
  };
  return {
    check(event) {
      if (event.type === 'ToolCall') {
        checkLast(false);
        json = '';
      } else if (event.type === 'Arguments') json = (json ?? '') + event.json;
      else if (event.type === 'Finish') checkLast(event.finish !== 'Tool');
    },
  };
}

/** The frame before may have completed it. */
function isComplete({ state }: AnswerReader): boolean {
  return state.is === 'Complete';
}

export interface TranslatedAnswer {
  readonly body: Record<string, unknown>;
  readonly usage: Usage | undefined;
  readonly outputBytes: number;
}

/** Of a whole answer that is no error. Throws a `BrokenStreamError` for one that is none of the dialect. */
export function translateAnswer(
  from: DialectName,
  operation: ChatOperation,
  answer: unknown,
  about: AnswerAbout,
): TranslatedAnswer {
  const events = UPSTREAMS[from].readAnswer(isObject(answer) ? answer : {}, (n) => `call_${about.id}_${n}`);
  const calls = followCalls();
  for (const event of events) calls.check(event);
  const counted = events.findLast((event) => event.type === 'Usage');
  const outputBytes = events.reduce((sum, event) => sum + bytesOfEvent(event), 0);
  const { usage, reasoningTokens = 0 } = counted ?? {};
  const body = CLIENTS[operation].writeAnswer(events, about, shownUsage(usage, about, outputBytes), reasoningTokens);
  return { body, usage, outputBytes };
}

/** What an upstream does not report is our count. */
function shownUsage(usage: Usage | undefined, about: AnswerAbout, outputBytes: number): Usage {
  const { estimate } = about;
  return usage === undefined ? estimatedUsage(estimate, outputBytes) : completeUsage(usage, estimate);
}
