/** Reads a whole answer of an upstream, charges it, and hands it on as it came. */
import { refuse, RefusalError, type Refusal } from '../../src/api/refusal.js';
import { completeUsage, estimatedUsage, type Estimate } from '../../src/engines/inference/dialects/answer-event.js';
import type {
  Dialect,
  RequestSummary,
  TextOperation,
  UpstreamError,
} from '../../src/engines/inference/dialects/dialect.js';
import type { Forwarded } from '../../src/engines/inference/router.js';
import type { Usage } from '../../src/money/model-prices.js';
import { showUSD } from '../../src/money/usd.js';
import type { AdmittedRequest } from '../../actors/inference/service.js';
import type { Exchange } from '../exchange.js';
import { JSON_TYPE, reply, type Headers } from '../reply.js';
import type { ServerContext } from '../server-context.js';
import { readAnswer, type AnswerFor, type ReadAnswer } from './read-large-answer.js';

/** Largest answer in bytes that is not streamed. */
const MOST_ANSWER = 32 * 2 ** 20;
const NEVER = new AbortController().signal;
const BUSY = 'the model has answered, but too many large answers wait to be read';

export type Opened = Extract<Forwarded, { outcome: 'Answered' }>;

export interface WholeAnswer {
  readonly dialect: Dialect;
  readonly request: RequestSummary;
  readonly opened: Opened;
  readonly admitted: AdmittedRequest;
  readonly headers: Headers;
  /** Why the upstream was given up from outside: the key is no longer good, or what pays is being deleted. */
  endedBy(): Refusal | undefined;
  readonly org: string;
  /** Of our count, where the upstream reports nothing. */
  readonly estimate: Estimate;
  /** What was asked of the upstream. */
  readonly asked: TextOperation;
  /** For whom it is translated; absent: the upstream speaks the client's dialect. */
  readonly client: AnswerFor['client'];
}

export async function answerWhole(
  x: Exchange,
  { largeBodies }: Pick<ServerContext, 'largeBodies'>,
  { org, request, opened, admitted, headers, endedBy, estimate, asked, client }: WholeAnswer,
): Promise<void> {
  const { operation } = request;
  let bytes: Buffer;
  try {
    bytes = await readAll(opened);
  } catch {
    const why = endedBy();
    opened.ended(x.res.destroyed || why !== undefined ? 'Left' : 'Broken');
    throw why === undefined ? failed(undefined) : new RefusalError(why);
  }
  let read: ReadAnswer | undefined;
  if (largeBodies.isLarge(bytes)) {
    // To its end though the client has left: it pays. The thread bounds the wait.
    const reading = largeBodies.readAnswer(org, { answerTo: asked, client, bytes }, NEVER);
    const large = await reading.catch(() => undefined);
    if (large === undefined) {
      // No fault of the upstream.
      opened.ended('Left');
      throw refuse('Unavailable', `${BUSY}; send the request again`, { retryAfterSeconds: 1 });
    }
    if (large.outcome === 'Answer') [read, bytes] = [large, Buffer.from(large.bytes.buffer)];
  } else read = readAnswer({ answerTo: asked, client }, bytes);
  opened.ended(read !== undefined && read.error === undefined ? 'Whole' : 'Broken');
  if (read === undefined || read.error !== undefined) throw failed(read?.error);
  // A client that has left pays for what was produced for it. A count of tokens has used none, and is no error.
  const used = usedBy(read, estimate);
  const charged = admitted.end(operation === '/v1/messages/count_tokens' ? read.usage : used);
  x.res.setHeader('x-svc-cost-usd', showUSD(charged));
  // As of a stream: what it made beyond what was held is the service's, and goes to nobody.
  if (isPast(used.outputTokens, estimate.mostOutputTokens)) throw pastBound();
  headers['content-type'] = JSON_TYPE;
  reply(x, 200, read.translated ?? bytes, headers);
}

/** What the upstream reports as usage, else our own count. A report of 0 output tokens beside a text counts as no report, in a stream as well. */
function usedBy({ usage, outputBytes }: ReadAnswer, estimate: Estimate): Usage {
  const counted = estimatedUsage(estimate, outputBytes);
  if (usage === undefined) return counted;
  const told = completeUsage(usage, estimate);
  return told.outputTokens === 0 && outputBytes > 0 ? { ...told, outputTokens: counted.outputTokens } : told;
}

/** Throws a RangeError for one that is too large. */
export async function readAll({ body }: Pick<Opened, 'body'>): Promise<Buffer> {
  let first: Buffer | undefined;
  let chunks: Buffer[] | undefined;
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MOST_ANSWER) throw new RangeError('the answer is too large');
    if (first === undefined) first = chunk;
    else (chunks ??= [first]).push(chunk);
  }
  return chunks === undefined ? (first ?? Buffer.alloc(0)) : Buffer.concat(chunks, size);
}

/** Servers count what ends an answer, or do not. */
const TOKENS_OF_GRACE = 16;

/** Whether so many tokens are more than were held. */
export function isPast(tokens: number, held: number): boolean {
  return tokens > held + TOKENS_OF_GRACE;
}

/** An upstream generates more than it was told to. */
export function pastBound(): RefusalError {
  return refuse(
    'BudgetExceeded',
    'the upstream has generated more than the request was admitted for: the answer is cut',
    {
      retryAfterSeconds: 'Never',
      fix: 'Send a larger max_tokens.',
    },
  );
}

/** What an upstream says of itself in an answer that began well. */
export function failed(error: UpstreamError | undefined): Error {
  const why = error === undefined ? 'its answer broke off' : error.message;
  return refuse('Unavailable', `the model's upstream failed: ${why}`, { retryAfterSeconds: 1 });
}
