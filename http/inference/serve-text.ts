/**
 * Serves one request for text: what it asks for, whether the model can do it, limits and money, the upstream, the answer. Prompts and answers pass
 * through and are kept nowhere.
 */
import { refuse } from '../../src/api/refusal.js';
import type { Estimate } from '../../src/engines/inference/dialects/answer-event.js';
import { ESTIMATED_MEMBER } from '../../src/engines/inference/dialects/cost-member.js';
import { type Dialect, isAudio, type Operation } from '../../src/engines/inference/dialects/dialect.js';
import { followTranslated, isChat } from '../../src/engines/inference/dialects/translate.js';
import type { Way } from '../../src/engines/inference/router.js';
import { inputBound, type CountedRequest } from '../../src/engines/inference/tokens/count.js';
import { estimateTokens } from '../../src/engines/inference/tokens/estimate.js';
import { ZERO_USAGE } from '../../src/money/model-prices.js';
import { showUSD, ZERO } from '../../src/money/usd.js';
import type { Caller } from '../../actors/resource-service.js';
import type { AdmittedRequest, Ask, InferenceTarget } from '../../actors/inference/service.js';
import type { Exchange } from '../exchange.js';
import { replyJson } from '../reply.js';
import type { ServerContext } from '../server-context.js';
import { checkAbilities, checkBetas, outputBound } from './abilities.js';
import { answerWhole, type Opened, type WholeAnswer } from './answer.js';
import { answeredHeaders } from './answered-headers.js';
import type { InferenceCall } from './call.js';
import type { MeasuredRequest } from './metrics.js';
import { readRequest, type ReadCall } from './read-request.js';
import { answerStream, type StreamedAnswer } from './stream.js';
import { goUnderWay } from './under-way.js';
import { waysOf } from './ways.js';

/** Of a client, for upstreams of its dialect. */
const PASSED_HEADERS = ['anthropic-version', 'anthropic-beta'] as const;
/** Where a Model does not say what an image takes. */
const IMAGE_TOKENS = 1_600;

interface Served {
  readonly operation: Operation;
  readonly dialect: Dialect;
  readonly measured: MeasuredRequest;
}

/** A request leaves its place in flight once it is read: it waits for a model then, for minutes perhaps (`under-way.ts`). */
export async function serveText(
  x: Exchange,
  context: ServerContext,
  call: InferenceCall,
  { operation, dialect, measured }: Served,
): Promise<void> {
  const { inference } = context;
  const { caller } = x;
  if (caller === undefined) throw refuse('Unauthorized', 'no API key was sent');
  const { read, target, bounds, ways } = await understand(x, context, { caller, call, operation, measured });
  const admission = inference.admit(target, bounds);
  const admitted = measured.admitted(admission instanceof Promise ? await admission : admission);
  try {
    if (ways.length === 0) return estimateCount(x, context, { dialect, target, bounds, admitted, measured });
    await forward(x, context, { dialect, read, target, bounds, ways, admitted, measured });
  } finally {
    // What was not charged by then has failed.
    admitted.end(undefined);
  }
}

interface Understood {
  readonly read: ReadCall;
  readonly target: InferenceTarget;
  readonly bounds: Bounds;
  readonly ways: readonly Way[];
}

/** What a request asks for, of which model. One that is refused here is an error of the endpoint that it names. */
async function understand(
  x: Exchange,
  context: ServerContext,
  { caller, call: { endpoint }, operation, measured }: Asking,
): Promise<Understood> {
  const { inference } = context;
  let model = '';
  try {
    const read = await readRequest(x, context, operation);
    const { request } = read;
    model = request.model;
    const found = inference.find(caller, { endpoint, model });
    const target = found instanceof Promise ? await found : found;
    measured.names(target.model.name);
    checkAbilities(target, request);
    checkBetas(target, x.header('anthropic-beta'));
    const bounds = boundsOf(target, read);
    return { read, target, bounds, ways: await waysOf(target, read, bounds.outputTokens) };
  } catch (error) {
    inference.refused(caller, { endpoint, model });
    throw error;
  }
}

interface Asking extends Omit<Served, 'dialect'> {
  readonly caller: Caller;
  readonly call: InferenceCall;
}

type Bounds = Ask;

function boundsOf(target: InferenceTarget, { request, bytes }: ReadCall): Bounds {
  const { imageTokenAllowance: imageTokens = IMAGE_TOKENS, contextTokens = Number.MAX_SAFE_INTEGER } =
    target.model.spec;
  const { countTokens } = target.routes ?? {};
  return {
    // What is more than the model takes at once is refused by its upstream, and costs nothing.
    inputTokens: Math.min(contextTokens * request.inputs, inputBound(request, bytes, { imageTokens, countTokens })),
    outputTokens: outputBound(target, request),
    longCache: request.longCache,
    free: request.operation === '/v1/messages/count_tokens',
  };
}

interface Admitted {
  readonly dialect: Dialect;
  readonly read: ReadCall;
  readonly target: InferenceTarget;
  readonly bounds: Bounds;
  readonly ways: readonly Way[];
  readonly admitted: AdmittedRequest;
  readonly measured: MeasuredRequest;
}

/** Tokens of a conversation that no upstream counts: our count, which says that it is one. */
function estimateCount(
  x: Exchange,
  { clock }: Pick<ServerContext, 'clock'>,
  { dialect, target, bounds, admitted, measured }: Omit<Admitted, 'read' | 'ways'>,
): void {
  admitted.end(ZERO_USAGE);
  const headers = answeredHeaders(x, dialect, { target, admitted, upstreamClass: 'Embedded', now: clock() });
  headers[ESTIMATED_MEMBER] = 'true';
  headers['x-svc-cost-usd'] = showUSD(ZERO);
  replyJson(x, 200, { input_tokens: estimateOf(target, bounds).inputTokens, [ESTIMATED_MEMBER]: true }, headers);
  measured.ended('Done');
}

async function forward(
  x: Exchange,
  context: ServerContext,
  { dialect, read, target, bounds, ways, admitted, measured }: Admitted,
): Promise<void> {
  const { request } = read;
  const { inference, clock } = context;
  const way = goUnderWay(x, context, target);
  try {
    const forwarded = await inference.forward({
      ...{ model: target.model.name, ways, stream: request.stream },
      ...{
        tenant: target.payer.org,
        fetches: request.fetchedAt !== undefined,
        headers: passedHeaders(x),
        signal: way.signal,
        readError: dialect.readError,
      },
    });
    // An answer may take minutes.
    read.forget();
    // Not every server of this dialect counts, and clients count before they send.
    const isUncounted = forwarded.outcome === 'Failed' && forwarded.reason === 'Unavailable';
    if (isUncounted && request.operation === '/v1/messages/count_tokens')
      return estimateCount(x, context, { dialect, target, bounds, admitted, measured });
    const opened = way.opened(forwarded);
    measured.opened(performance.now() - x.startedAt);
    const { org } = target.payer;
    const { class: upstreamClass } = opened;
    const headers = answeredHeaders(x, dialect, { target, admitted, upstreamClass, now: clock() });
    const answer = {
      ...{ dialect, request, admitted, opened, org, headers, endedBy: way.endedBy },
      ...forClient(x, { request, target, bounds, opened, now: clock() }),
    };
    if (!request.stream) {
      await answerWhole(x, context, answer);
      measured.ended(x.res.destroyed && !x.res.writableFinished ? 'Left' : 'Done');
      return;
    }
    way.leaveToStream();
    const { project } = target;
    const { outputTokens } = bounds;
    const { client } = answer;
    const follow: StreamedAnswer['follow'] = (options) =>
      client === undefined
        ? dialect.follow(request, options)
        : followTranslated(opened.dialect, client.operation, client.about, options.costOf);
    measured.ended(await answerStream(x, context, { ...answer, follow, abort: way.abort, project, outputTokens }));
  } finally {
    way.end();
  }
}

interface ForClient {
  readonly request: CountedRequest;
  readonly target: InferenceTarget;
  readonly bounds: Bounds;
  readonly opened: Opened;
  /** ms. */
  readonly now: number;
}

/** What the answer is read by, and for whom it is translated, if so. */
function forClient(
  x: Exchange,
  { request, target, bounds, opened, now }: ForClient,
): Pick<WholeAnswer, 'estimate' | 'client' | 'asked'> {
  const estimate = estimateOf(target, bounds);
  const { operation, model, wantsUsage, asked = {} } = request;
  const { operation: answers } = opened;
  if (isAudio(answers)) throw new Error('text was asked for as sound');
  if (operation === answers || !isChat(operation)) return { estimate, asked: answers, client: undefined };
  const created = Math.floor(now / 1_000);
  const about = { id: x.requestId, model, created, wantsUsage, asked, estimate };
  return { estimate, asked: answers, client: { operation, about } };
}

/** What our own count says, never more than was held. */
function estimateOf({ routes }: InferenceTarget, { inputTokens, outputTokens }: Bounds): Estimate {
  // With a tokenizer the bound is a count; else it is bytes.
  const counted = routes?.countTokens === undefined ? estimateTokens(inputTokens) : inputTokens;
  return { inputTokens: counted, mostOutputTokens: outputTokens };
}

function passedHeaders(x: Exchange): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const name of PASSED_HEADERS) {
    const value = x.header(name);
    if (value !== undefined && value.length <= 1_024) headers[name] = value;
  }
  return headers;
}
