/**
 * Serves one request of the inference data plane: who calls, what it asks for, whether the model can do it, limits and money, the upstream, the
 * answer. Prompts and answers pass through and are kept nowhere.
 *
 * A request leaves its place in flight once it is read: it waits for a model then, for minutes perhaps, and is counted among the streams
 * (`streams.ts`), which bounds those of a key and an org, and ends with its credential.
 */
import { refuse, RefusalError } from '../../src/api/refusal.js';
import type { Estimate } from '../../src/engines/inference/dialects/answer-event.js';
import { ESTIMATED_MEMBER } from '../../src/engines/inference/dialects/cost-member.js';
import type { Dialect, Operation } from '../../src/engines/inference/dialects/dialect.js';
import { DIALECT_BY_NAME, dialectFor } from '../../src/engines/inference/dialects/index.js';
import { isChat } from '../../src/engines/inference/dialects/translate.js';
import type { Forwarded, Way } from '../../src/engines/inference/router.js';
import { inputBound, type CountedRequest } from '../../src/engines/inference/tokens/count.js';
import { estimateTokens } from '../../src/engines/inference/tokens/estimate.js';
import { ZERO_USAGE } from '../../src/money/model-prices.js';
import { showUSD, ZERO } from '../../src/money/usd.js';
import type { Caller } from '../../actors/resource-service.js';
import { INVOKE, type AdmittedRequest, type Ask, type InferenceTarget } from '../../actors/inference/service.js';
import { admit, admitAs } from '../auth/admit.js';
import type { Exchange } from '../exchange.js';
import { gate } from '../handle.js';
import { replyJson, type Headers } from '../reply.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import type { ServerContext } from '../server-context.js';
import { checkAbilities, outputBound } from './abilities.js';
import { answerWhole } from './answer.js';
import { readCall, type InferenceCall } from './call.js';
import { refuseTwoKeys } from './credential.js';
import { answerHeaders, answerInferenceError, UpstreamRefusal } from './errors.js';
import { outcomeOfStatus, type MeasuredRequest } from './metrics.js';
import { serveModels } from './models.js';
import { readRequest, type ReadCall } from './read-request.js';
import { answerStream, type StreamedAnswer } from './stream.js';
import { waysOf } from './ways.js';

/** Of a client, for upstreams of its dialect. */
const PASSED_HEADERS = ['anthropic-version', 'anthropic-beta'] as const;
/** Made once, since an error costs more than the rest of an end. */
const GIVEN_UP = new DOMException('the request was given up', 'AbortError');
/** Where a Model does not say what an image takes. */
const IMAGE_TOKENS = 1_600;

/** The path lies below the base URL of a client of models, whether or not it is served. */
export function isInference(path: string): boolean {
  return path.startsWith('/v1/') || path.startsWith('/endpoints/') || WITHOUT_BASE.has(path);
}

/** What clients ask for whose base URL lacks its end. */
const WITHOUT_BASE: ReadonlySet<string> = new Set([
  ...['/chat/completions', '/completions', '/embeddings', '/responses', '/models', '/messages'],
]);

function fixOfBase(path: string): string {
  if (WITHOUT_BASE.has(path)) return `End the base URL in /v1: POST /v1${path}.`;
  if (path.includes('/v1/v1/')) return 'Leave /v1 out of the base URL: this client adds it.';
  return 'GET /openapi.json lists the paths of models, below /v1 and /endpoints/{project}/{name}/v1.';
}

/** Clients of models understand nothing but their dialect: what is not served too is refused in it. */
export async function answerModelCalls(x: Exchange, context: ServerContext, next: () => Promise<void>): Promise<void> {
  const call = readCall(x.path);
  if (call !== undefined) return serveInference(x, context, call);
  try {
    await next();
  } catch (error) {
    const isMissing = error instanceof RefusalError && error.refusal.code === 'NotFound';
    const told = isMissing ? new RefusalError({ ...error.refusal, fix: fixOfBase(x.path) }) : error;
    x.failedWith = answerInferenceError(x, told, spokenBy(x), context.log, context.clock());
  }
}

/** Anthropic's clients say so. */
function spokenBy(x: Exchange): Dialect {
  return DIALECT_BY_NAME[x.header('anthropic-version') === undefined ? 'OpenAI' : 'Anthropic'];
}

async function serveInference(x: Exchange, context: ServerContext, call: InferenceCall): Promise<void> {
  x.resource = 'inference';
  x.verb = call.operation.slice('/v1/'.length);
  const { operation } = call;
  const isModels = operation === '/v1/models';
  const dialect = operation === '/v1/models' ? spokenBy(x) : dialectFor(operation);
  const measured = operation === '/v1/models' ? undefined : context.inferenceMetrics.begin(operation);
  try {
    gate(x, context);
    refuseTwoKeys(x.req);
    const method = isModels ? 'GET' : 'POST';
    const identity = context.authenticator.known(x.req.headers.authorization);
    if (identity === undefined) await admit(x, context, x.req.headers.authorization);
    else admitAs(x, context, identity);
    if (x.method !== method) throw methodNotAllowed(x, [method]);
    if (operation === '/v1/models' || measured === undefined) await listModels(x, context, call);
    else await serveOperation(x, context, call, { operation, dialect, measured });
  } catch (error) {
    x.failedWith = answerInferenceError(x, error, dialect, context.log, context.clock());
    measured?.ended(outcomeOfStatus(x.failedWith));
  }
}

async function listModels(x: Exchange, { inference }: ServerContext, call: InferenceCall): Promise<void> {
  const { caller } = x;
  if (caller === undefined) throw refuse('Unauthorized', 'no API key was sent');
  if (call.endpoint === undefined) {
    const anywhere =
      caller.projects === undefined ? caller.may(INVOKE, '') : caller.projects.some((one) => caller.may(INVOKE, one));
    if (!anywhere) throw refuse('Forbidden', `${caller.name} needs the scope ${INVOKE}`);
    serveModels(x, inference, call, undefined);
    return;
  }
  const { name } = call.endpoint;
  const target = await inference.find(caller, { endpoint: call.endpoint, model: name });
  serveModels(x, inference, call, target.model.name);
}

interface Served {
  readonly operation: Operation;
  readonly dialect: Dialect;
  readonly measured: MeasuredRequest;
}

async function serveOperation(
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

/** Tokens of a conversation whose model no upstream of Anthropic's dialect serves: our count, which says that it is one. */
function estimateCount(
  x: Exchange,
  { clock }: Pick<ServerContext, 'clock'>,
  { dialect, target, bounds, admitted, measured }: Omit<Admitted, 'read' | 'ways'>,
): void {
  admitted.end(ZERO_USAGE);
  const headers = headersOf(x, dialect, target, admitted, 'Embedded', clock());
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
  const { inference, streams, clock } = context;
  const giveUp = new AbortController();
  const abort = (): void => giveUp.abort(GIVEN_UP);
  // One signal for the client and for all else that ends the request: two of them cost as much as reading it.
  x.res.once('close', abort);
  if (x.res.destroyed) abort();
  let revoked: RefusalError | undefined;
  let unfollow = (): void => undefined;
  const leave = streams.add(x, {
    allows: (caller) => caller.may(INVOKE, target.project),
    revoke(refusal) {
      revoked ??= refusal;
      abort();
    },
    end: () => undefined,
    cut() {
      revoked ??= refuse('Unavailable', 'the service is shutting down', { retryAfterSeconds: 2 });
      abort();
    },
  });
  try {
    unfollow = inference.follow(target, () => {
      revoked ??= refuse('NotFound', 'what pays for this request is being deleted');
      abort();
    });
    const forwarded = await inference.forward({
      ...{ model: target.model.name, ways, stream: request.stream },
      ...{
        tenant: target.payer.org,
        fetches: request.fetchedAt !== undefined,
        headers: passedHeaders(x),
        signal: giveUp.signal,
        readError: dialect.readError,
      },
    });
    // An answer may take minutes.
    read.forget();
    if (revoked !== undefined) throw revoked;
    if (forwarded.outcome !== 'Answered') throw refusalOf(forwarded);
    measured.opened(performance.now() - x.startedAt);
    const answer = {
      ...{
        dialect,
        request,
        admitted,
        opened: forwarded,
        org: target.payer.org,
        headers: headersOf(x, dialect, target, admitted, forwarded.class, clock()),
      },
      endedBy: () => revoked?.refusal,
      ...forClient(x, { request, target, bounds, forwarded, now: clock() }),
    };
    if (!request.stream) {
      await answerWhole(x, context, answer);
      measured.ended(x.res.destroyed && !x.res.writableFinished ? 'Left' : 'Done');
      return;
    }
    // It registers itself anew, with what it needs to end a stream that has begun, and follows its client by itself.
    leave();
    x.res.off('close', abort);
    const { project } = target;
    const { outputTokens } = bounds;
    measured.ended(await answerStream(x, context, { ...answer, abort, project, outputTokens }));
  } finally {
    unfollow();
    leave();
    x.res.off('close', abort);
  }
}

interface ForClient {
  readonly request: CountedRequest;
  readonly target: InferenceTarget;
  readonly bounds: Bounds;
  readonly forwarded: Extract<Forwarded, { outcome: 'Answered' }>;
  /** ms. */
  readonly now: number;
}

/** What the answer is read by, and for whom it is translated, if so. */
function forClient(
  x: Exchange,
  { request, target, bounds, forwarded, now }: ForClient,
): Pick<StreamedAnswer, 'estimate' | 'client'> {
  const estimate = estimateOf(target, bounds);
  const { operation, model, wantsUsage, asked = {} } = request;
  if (operation === forwarded.operation || !isChat(operation)) return { estimate, client: undefined };
  const created = Math.floor(now / 1_000);
  return { estimate, client: { operation, about: { id: x.requestId, model, created, wantsUsage, asked, estimate } } };
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

function headersOf(
  x: Exchange,
  dialect: Dialect,
  { endpoint }: InferenceTarget,
  { limits }: AdmittedRequest,
  upstreamClass: string,
  now: number,
): Headers {
  const headers = answerHeaders(x, dialect, limits, now);
  headers['x-svc-upstream-class'] = upstreamClass;
  if (endpoint !== undefined) headers['x-svc-endpoint-generation'] = String(endpoint.generation);
  return headers;
}

function refusalOf(forwarded: Exclude<Forwarded, { outcome: 'Answered' }>): Error {
  if (forwarded.outcome === 'Refused') {
    const { status, error } = forwarded;
    const code = status === 413 ? 'RequestEntityTooLarge' : 'BadRequest';
    return new UpstreamRefusal(status, {
      code,
      message: error.message,
      causes: [{ field: error.param ?? '', reason: 'FieldValueInvalid', message: error.message }],
      fix: "The model's upstream says so: correct the request.",
    });
  }
  const retryAfterSeconds = forwarded.retryAfterSeconds ?? 1;
  switch (forwarded.reason) {
    case 'Overloaded':
      return refuse('CapacityUnavailable', "the model's upstreams take no more requests now", {
        retryAfterSeconds,
        fix: 'Try again a little later, or use another model.',
      });
    case 'TimedOut':
      return refuse('Unavailable', "the model's upstream did not answer in time", { retryAfterSeconds });
    case 'Aborted':
    case 'Unavailable':
      return refuse('Unavailable', 'no upstream of the model answers', {
        retryAfterSeconds,
        fix: 'Try again a little later, or use another model: GET /v1/models?available=true lists those that answer.',
      });
  }
}
