/** The answer of Model `echo` to a body: status, headers, frames, and how they are to be paced. Pure. */
import { createHash } from 'node:crypto';
import { DIALECT_OF, type Operation } from '../dialects/dialect.js';
import { anthropicError, anthropicStream, anthropicWhole } from './anthropic.js';
import { MOST_TOKENS, type Directive } from './directive.js';
import { MOST_VALUES, OF_A_HASH } from './embedding.js';
import { sse, type EchoFrame, type EchoIdentity } from './frame.js';
import { openaiError, openaiStream, openaiWhole } from './openai.js';
import { readEcho, type EchoRequest } from './request.js';

export interface EchoReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly frames: Iterable<EchoFrame>;
  readonly pace: Pick<Directive, 'delay' | 'rate' | 'stallAfter' | 'breakAfter'>;
}

/** Tokens of a frame, where nothing has to be told apart. */
const GROUP = 8;
/** Of the body, for its id. */
const HASHED = 4_096;

/** Of a body, in bytes. It is read on the event loop, and its texts would be more than the context of the model. */
const MOST_BODY = 256 * 1024;

/** `now` in ms. */
export function replyTo(operation: Operation, body: Buffer, now: number): EchoReply {
  const hash = createHash('sha1').update(body.subarray(0, HASHED)).update(String(body.length));
  const id = `echo${hash.digest('hex').slice(0, 20)}`;
  const dialect = DIALECT_OF[operation];
  const error = (status: number, message: string, param?: string): unknown =>
    dialect === 'OpenAI' ? openaiError(status, message, param) : anthropicError(status, message, id);
  const headers = (directive: Directive, type = 'application/json'): Record<string, string> => ({
    'content-type': type,
    [dialect === 'OpenAI' ? 'x-request-id' : 'request-id']: `req_${id}`,
    ...(directive.retryAfter !== undefined && { 'retry-after': String(directive.retryAfter) }),
  });
  const whole = (status: number, value: unknown, directive: Directive = {}): EchoReply => ({
    status,
    headers: headers(directive),
    frames: inHalves(JSON.stringify(value), directive),
    pace: directive,
  });

  if (body.length > MOST_BODY) return whole(413, error(413, `Model echo reads at most ${MOST_BODY} bytes`));
  const read = readEcho(operation, parse(body));
  if (read.outcome === 'Refused') return whole(400, error(400, read.message, read.param));
  const { request } = read;
  const { directive, stream } = request;
  if (directive.fail !== undefined) {
    return whole(
      directive.fail,
      error(directive.fail, `the @echo directive asked for status ${directive.fail}`),
      directive,
    );
  }
  if (
    operation === '/v1/embeddings' &&
    request.prompts.length * Math.max(request.dimensions, OF_A_HASH) > MOST_VALUES
  ) {
    const fix = 'send fewer inputs, or smaller dimensions';
    return whole(
      400,
      error(400, `inputs times dimensions (at least ${OF_A_HASH}) may be at most ${MOST_VALUES}; ${fix}`, 'input'),
    );
  }
  if (request.answers * request.prompts.length * Math.min(request.most, mostAnswer(request)) > MOST_TOKENS) {
    return whole(400, error(400, `all answers together may have at most ${MOST_TOKENS} tokens; ask for fewer`, 'n'));
  }
  if (directive.error200 === true) {
    const failed = error(500, 'the @echo directive asked for an error');
    if (!stream) return whole(200, failed, directive);
    const frame = dialect === 'OpenAI' ? sse(failed) : sse(failed, 0, 'error');
    return { status: 200, headers: headers(directive, 'text/event-stream'), frames: [frame], pace: directive };
  }
  const oneByOne =
    directive.rate !== undefined || directive.stallAfter !== undefined || directive.breakAfter !== undefined;
  const identity: EchoIdentity = { id, created: Math.floor(now / 1000), group: oneByOne ? 1 : GROUP };
  if (!stream || operation === '/v1/messages/count_tokens') {
    return whole(
      200,
      dialect === 'OpenAI' ? openaiWhole(request, identity) : anthropicWhole(request, identity),
      directive,
    );
  }
  const frames = dialect === 'OpenAI' ? openaiStream(request, identity) : anthropicStream(request, identity);
  return { status: 200, headers: headers(directive, 'text/event-stream'), frames, pace: directive };
}

/** At most so many tokens has one answer: no token is shorter than a character. */
function mostAnswer({ directive, prompts, schema, forcedTool, operation }: EchoRequest): number {
  if (operation === '/v1/embeddings') return 0;
  if (directive.tokens !== undefined) return directive.tokens;
  if (directive.json !== undefined || (directive.tool ?? forcedTool ?? schema) !== undefined) return MOST_TOKENS / 128;
  return directive.text?.length ?? Math.max(...prompts.map((prompt) => prompt.length));
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** One that is to stall or break does so in its middle. */
function inHalves(json: string, { stallAfter, breakAfter }: Directive): readonly EchoFrame[] {
  if (stallAfter === undefined && breakAfter === undefined) return [{ text: json, tokens: 0 }];
  const middle = Math.floor(json.length / 2);
  return [
    { text: json.slice(0, middle), tokens: MOST_TOKENS },
    { text: json.slice(middle), tokens: 0 },
  ];
}
