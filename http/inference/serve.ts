/**
 * The door of the inference data plane: which call a path is, who calls, and the errors, each in the dialect of the client. Text
 * and sound are served by `serve-text.ts` and `audio/`.
 */
import { refuse, RefusalError } from '../../src/api/refusal.js';
import { type Dialect, isAudio } from '../../src/engines/inference/dialects/dialect.js';
import { DIALECT_BY_NAME, dialectFor } from '../../src/engines/inference/dialects/index.js';
import { INVOKE } from '../../actors/inference/service.js';
import { admit, admitAs } from '../auth/admit.js';
import type { Exchange } from '../exchange.js';
import { gate } from '../handle.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import type { ServerContext } from '../server-context.js';
import { serveSpeech } from './audio/speech.js';
import { serveTranscription } from './audio/transcription.js';
import { readCall, type InferenceCall } from './call.js';
import { refuseTwoKeys } from './credential.js';
import { answerInferenceError } from './errors.js';
import { outcomeOfStatus } from './metrics.js';
import { serveModels } from './models.js';
import { serveText } from './serve-text.js';

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
  const dialect = dialectOf(x, operation);
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
    else if (operation === '/v1/audio/speech') await serveSpeech(x, context, call, measured);
    else if (operation === '/v1/audio/transcriptions') await serveTranscription(x, context, call, measured);
    else await serveText(x, context, call, { operation, dialect, measured });
  } catch (error) {
    x.failedWith = answerInferenceError(x, error, dialect, context.log, context.clock());
    measured?.ended(outcomeOfStatus(x.failedWith));
  }
}

function dialectOf(x: Exchange, operation: InferenceCall['operation']): Dialect {
  if (operation === '/v1/models') return spokenBy(x);
  return isAudio(operation) ? DIALECT_BY_NAME.OpenAI : dialectFor(operation);
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
