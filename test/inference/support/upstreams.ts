/**
 * Upstreams of the tests' own, on one HTTP server: each has a path, `/NAME/v1`, and answers what its test says. It remembers what came. What
 * nobody has said anything about answers an empty list of models, so that probes find it, and 500 else.
 */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parsed } from '../../e2e/client.js';

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: unknown;
  /** Of its connection, before its answer had ended. */
  left: boolean;
}

export type Answering = (response: ServerResponse, request: Seen) => unknown;

export interface Upstreams {
  readonly url: string;
  /** From now on this upstream answers so. */
  on(name: string, answering: Answering): void;
  /** Requests but probes, in the order in which they came. */
  seen(name: string): readonly Seen[];
  close(): Promise<void>;
}

export async function openUpstreams(): Promise<Upstreams> {
  const answering = new Map<string, Answering>();
  const all = new Map<string, Seen[]>();
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      const name = path.split('/')[1] ?? '';
      const text = Buffer.concat(parts).toString();
      if (method === 'GET') return json(response, 200, { object: 'list', data: [] });
      const one: Seen = { method, path, headers, text, body: parsed(text), left: false };
      all.set(name, [...(all.get(name) ?? []), one]);
      response.on('close', () => {
        one.left = !response.writableFinished;
      });
      const answer = answering.get(name);
      if (answer === undefined) return json(response, 500, { error: { message: `nobody answers for ${name}` } });
      return void answer(response, one);
    });
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  // server.address() of a TCP server that listens.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    on: (name, answer) => void answering.set(name, answer),
    seen: (name) => all.get(name) ?? [],
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

export function json(response: ServerResponse, status: number, value: unknown, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
}

export interface Used {
  readonly input: number;
  readonly output: number;
}

/** A whole answer of a chat completion. */
export function chatAnswer(text: string, { input, output }: Used): object {
  return {
    ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'vendor' },
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
  };
}

/** A whole answer of a message. */
export function messageAnswer(text: string, { input, output }: Used): object {
  return {
    ...{
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'vendor',
      stop_reason: 'end_turn',
      stop_sequence: null,
    },
    content: [{ type: 'text', text }],
    usage: { input_tokens: input, output_tokens: output },
  };
}

export function streamHead(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
}

/** A chunk of a chat completion, as a frame. */
export function chunk(text: string, finish: 'stop' | null = null): string {
  const choice = { index: 0, delta: { role: 'assistant', content: text }, finish_reason: finish };
  return frame({ ...CHUNK, choices: [choice] });
}

export function usageChunk({ input, output }: Used): string {
  const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
  return frame({ ...CHUNK, choices: [], usage });
}

export const DONE = 'data: [DONE]\n\n';

const CHUNK = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'vendor' };

function frame(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

/** An event of a message's stream. */
export function event(type: string, members: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}

/** The beginning of a message's stream, with its first block of text opened. */
export function messageBegin(input: number): string {
  const usage = { input_tokens: input, output_tokens: 1 };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'vendor', content: [], usage };
  return (
    event('message_start', { message: { ...message, stop_reason: null, stop_sequence: null } }) +
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })
  );
}

export function textDelta(text: string): string {
  return event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } });
}

export function messageEnd(output: number): string {
  const delta = { stop_reason: 'end_turn', stop_sequence: null };
  return (
    event('content_block_stop', { index: 0 }) +
    event('message_delta', { delta, usage: { output_tokens: output } }) +
    event('message_stop')
  );
}
