/**
 * The upstream of the gateway measurements: an HTTP server of OpenAI's dialect in a process of its own, whose models say by their name how
 * they answer: `fast` after a quarter of a millisecond, `late` after twenty, `slow-N` streams N tokens a second. Started by `program.ts`.
 *
 * Timers of Node have whole milliseconds. A quarter of one is waited for by turns of the event loop that sleep for at most 50 µs each: other
 * requests go on between them, and the core is left to what is measured. Answers so come after 0.25 to 0.4 ms.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { z } from 'zod';
import { serveProgram } from './child.js';

/** In each token of a stream, once, and nowhere else: who reads counts these bytes and parses nothing. */
const MARK = '~';
const FAST_MS = 0.25;
const LATE_MS = 20;
/** Of a turn that has nothing to answer. */
const SLEEP_MS = 0.05;
const PROMPT_TOKENS = 20;
const COMPLETION_TOKENS = 8;
const MOST_TOKENS = 100_000;
/** Of models that do not name a rate. */
const TOKENS_PER_SECOND = 1_000;
/** I10: a larger body is refused, and a reader who leaves so much of a stream lying is left. */
const MOST_BODY = 1024 * 1024;
const MOST_UNSENT = 1024 * 1024;

const chat = z.object({
  model: z.string(),
  stream: z.boolean().optional(),
  max_tokens: z.int().min(1).max(MOST_TOKENS).default(COMPLETION_TOKENS),
  stream_options: z.object({ include_usage: z.boolean().optional() }).nullish(),
});
type Chat = z.infer<typeof chat>;

const MODELS = JSON.stringify({
  object: 'list',
  data: ['fast', 'late', 'slow-50', 'slow-5'].map((id) => ({ id, object: 'model', created: 0, owned_by: 'bench' })),
});

function usageOf(completion: number): object {
  return { prompt_tokens: PROMPT_TOKENS, completion_tokens: completion, total_tokens: PROMPT_TOKENS + completion };
}

function wholeAnswer({ model, max_tokens: most }: Chat): string {
  const message = { role: 'assistant', content: 'Eight words are enough to measure a gateway.' };
  return JSON.stringify({
    ...{ id: 'chatcmpl-bench', object: 'chat.completion', created: 0, model },
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: usageOf(Math.min(COMPLETION_TOKENS, most)),
  });
}

// ── answers after a quarter of a millisecond ──

interface Due {
  readonly at: number;
  answer(): void;
}

/** In the order in which they are due. I10: one for each request, of which each connection has one. */
const soon: Due[] = [];
const cell = new Int32Array(new SharedArrayBuffer(4));

function answerSoon(answer: () => void): void {
  soon.push({ at: performance.now() + FAST_MS, answer });
  if (soon.length === 1) setImmediate(turn);
}

function turn(): void {
  const now = performance.now();
  let first = soon[0];
  if (first !== undefined && first.at > now) Atomics.wait(cell, 0, 0, Math.min(SLEEP_MS, first.at - now));
  while (first !== undefined && first.at <= now) {
    first.answer();
    soon.shift();
    first = soon[0];
  }
  if (first !== undefined) setImmediate(turn);
}

// ── streams ──

function frame(content: object): string {
  return `data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 0, ...content })}\n\n`;
}

/** Each token when it is due, as a frame of its own; late ones are made up for at once. */
function stream(response: ServerResponse, asked: Chat): void {
  const { model, max_tokens: count } = asked;
  const perSecond = Number(/^slow-(\d+)$/.exec(model)?.[1] ?? TOKENS_PER_SECOND);
  const delta = (content: object, reason: string | null = null): string =>
    frame({ model, choices: [{ index: 0, delta: content, finish_reason: reason }] });
  const token = delta({ content: `word${MARK} ` });
  const began = performance.now();
  let sent = 0;
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.write(delta({ role: 'assistant', content: '' }));
  more();

  function more(): void {
    if (response.destroyed) return;
    if (response.writableLength > MOST_UNSENT) {
      response.destroy();
      return;
    }
    const due = Math.min(count, Math.floor(((performance.now() - began) / 1_000) * perSecond) + 1);
    if (due > sent) response.write(token.repeat(due - sent));
    sent = due;
    if (sent < count) {
      setTimeout(more, Math.max(1, began + (sent * 1_000) / perSecond - performance.now()));
      return;
    }
    response.write(delta({}, 'stop'));
    if (asked.stream_options?.include_usage === true) {
      response.write(frame({ model, choices: [], usage: usageOf(count) }));
    }
    response.end('data: [DONE]\n\n');
  }
}

// ── HTTP ──

function send(response: ServerResponse, status: number, body: string): void {
  if (response.destroyed) return;
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

function refuse(response: ServerResponse, status: number, message: string): void {
  send(
    response,
    status,
    JSON.stringify({ error: { message, type: 'invalid_request_error', code: null, param: null } }),
  );
}

function complete(response: ServerResponse, body: string): void {
  let asked: Chat;
  try {
    asked = chat.parse(JSON.parse(body));
  } catch {
    refuse(response, 400, 'the body is no request for a chat completion');
    return;
  }
  if (asked.stream === true) {
    stream(response, asked);
    return;
  }
  const answer = wholeAnswer(asked);
  if (asked.model === 'late') setTimeout(send, LATE_MS, response, 200, answer);
  else answerSoon(() => send(response, 200, answer));
}

function handle(request: IncomingMessage, response: ServerResponse): void {
  const parts: Buffer[] = [];
  let size = 0;
  request.on('data', (part: Buffer) => {
    size += part.length;
    if (size > MOST_BODY) request.destroy();
    else parts.push(part);
  });
  request.on('error', () => undefined);
  request.on('end', () => {
    const { method, url } = request;
    if (method === 'GET' && url === '/v1/models') send(response, 200, MODELS);
    else if (method === 'POST' && url === '/v1/chat/completions')
      complete(response, Buffer.concat(parts).toString('utf8'));
    else refuse(response, 404, 'there is nothing here');
  });
}

serveProgram(() => createServer(handle));
