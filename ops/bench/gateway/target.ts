/** What requests for chat completions are sent to: the upstream itself, a proxy before it, or Troupe; and the bytes of such requests. */
import type { Program } from './program.js';

/** As the upstream calls them (`upstream.ts`). */
export const MODELS = ['fast', 'late', 'slow-50', 'slow-5'] as const;
export type Model = (typeof MODELS)[number];

export interface Chat {
  readonly model: Model;
  /** The answer has so many tokens, or eight if it is whole and may have more. */
  readonly maxTokens: number;
  readonly stream?: boolean;
}

export interface Target extends Pick<Program, 'port' | 'processorSeconds' | 'residentMiB'> {
  readonly name: string;
  /** To be sent in turn: where there are several keys or routes, load is spread over them. At least one. */
  requests(chat: Chat): readonly Buffer[];
}

/** About 400 bytes: an instruction and a question. */
const MESSAGES = [
  {
    role: 'system',
    content:
      'You are an assistant of a hardware shop. Answer in one short sentence, name no prices, and say so when you do not know.',
  },
  {
    role: 'user',
    content:
      'A customer wants to hang a mirror of twelve kilograms on a wall of plasterboard. Which anchors hold it for years?',
  },
];

/** `model`: as the target calls it. */
export function chatBody({ maxTokens, stream }: Chat, model: string): string {
  return JSON.stringify({ model, max_tokens: maxTokens, ...(stream === true ? { stream } : {}), messages: MESSAGES });
}

/** A target that takes OpenAI's requests as they are. */
export function plainTarget(name: string, program: Program, headers: Readonly<Record<string, string>> = {}): Target {
  const { port, processorSeconds, residentMiB } = program;
  return {
    ...{ name, port, processorSeconds, residentMiB },
    requests(chat) {
      const body = chatBody(chat, chat.model);
      const own = Object.entries(headers).map(([header, value]) => `${header}: ${value}\r\n`);
      const head =
        'POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer none\r\n' +
        `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${own.join('')}\r\n`;
      return [Buffer.from(head + body)];
    },
  };
}

/** The n-th request of a row of them. */
export function inTurn(requests: readonly Buffer[]): (n: number) => Buffer {
  return (n) => {
    const request = requests[n % requests.length];
    if (request === undefined) throw new RangeError('there are no requests');
    return request;
  };
}
