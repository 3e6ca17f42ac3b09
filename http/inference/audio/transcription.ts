/**
 * `POST /v1/audio/transcriptions`: writes down a recording. It comes as a form, goes into a file without a name piece by piece, and from there to
 * the upstream, so that it is never whole in memory, and the fields may come behind it. Billed by seconds, or by tokens, as the model's price says.
 */
import { refuse, RefusalError } from '../../../src/api/refusal.js';
import { followAudio } from '../../../src/engines/inference/audio/follow.js';
import { HEAD_BYTES, secondsOf, type Seconds } from '../../../src/engines/inference/audio/seconds.js';
import { readTranscript } from '../../../src/engines/inference/audio/transcript.js';
import type { AudioUse } from '../../../src/engines/inference/audio/usage.js';
import { faultOfMember } from '../../../src/engines/inference/dialects/body.js';
import { estimateTokens } from '../../../src/engines/inference/tokens/estimate.js';
import { secondsCost, type Usage, ZERO_USAGE } from '../../../src/money/model-prices.js';
import { showUSD, type USD } from '../../../src/money/usd.js';
import {
  forbidden,
  INVOKE,
  type AdmittedRequest,
  type Ask,
  type InferenceTarget,
} from '../../../actors/inference/service.js';
import type { SpooledFile } from '../../../actors/inference/spool.js';
import type { Caller } from '../../../actors/resource-service.js';
import type { Exchange } from '../../exchange.js';
import { reply, type Headers } from '../../reply.js';
import type { ServerContext } from '../../server-context.js';
import { failed, isPast, pastBound, readAll, type Opened } from '../answer.js';
import { answeredHeaders } from '../answered-headers.js';
import type { InferenceCall } from '../call.js';
import type { MeasuredRequest } from '../metrics.js';
import { answerStream } from '../stream.js';
import { goUnderWay, type UnderWay } from '../under-way.js';
import { audioWay, badField, faultOfSoundMember, findAudioModel, OPENAI, refusedField } from './audio-target.js';
import { readForm, type Form } from './form.js';
import { formBody } from './form-body.js';

const OPERATION = '/v1/audio/transcriptions';
/** Tokens of a second of sound, at most and as a rule, where a model is billed by them. */
const TOKENS_A_SECOND = { most: 50, usual: 10 } as const;
/** Where the Model does not say how many tokens it gives. */
const MOST_OUTPUT = 16_384;
/** A client that leaves pays for the whole recording, which its upstream has taken: its length comes at the end. */
const READ_ON = { ms: 30_000, bytes: 2 ** 20 };

interface Asked {
  readonly form: Form;
  readonly model: string;
  readonly stream: boolean;
  /** The text alone is wanted. The upstream is asked for JSON, which tells the length too. */
  readonly plain: boolean;
  readonly seconds: Seconds;
}

export async function serveTranscription(
  x: Exchange,
  context: ServerContext,
  call: InferenceCall,
  measured: MeasuredRequest,
): Promise<void> {
  const { caller } = x;
  const { inference } = context;
  if (caller === undefined) throw refuse('Unauthorized', 'no API key was sent');
  if (!mayAnywhere(caller)) throw forbidden(caller, '');
  const file = await inference.spool(caller.org);
  try {
    const { asked, target, ask } = await understand(x, context, { caller, call, file, measured });
    const admitted = measured.admitted(await inference.admit(target, ask));
    const way = goUnderWay(x, context, target);
    try {
      const { stream } = asked;
      const ways = audioWay(OPERATION, (as) => formBody(named(asked, as), () => file.read()));
      const forwarded = await inference.forward({
        ...{ model: target.model.name, ways, stream, tenant: target.payer.org, fetches: false },
        ...{ headers: {}, signal: way.signal, readError: OPENAI.readError },
      });
      const opened = way.opened(forwarded);
      measured.opened(performance.now() - x.startedAt);
      const { class: upstreamClass } = opened;
      const headers = answeredHeaders(x, OPENAI, { target, admitted, upstreamClass, now: context.clock() });
      const answer = { opened, headers, admitted, ask, way, target, asked };
      if (stream) measured.ended(await answerEvents(x, context, answer));
      else {
        await answerText(x, answer);
        measured.ended(x.res.destroyed && !x.res.writableFinished ? 'Left' : 'Done');
      }
    } finally {
      way.end();
      admitted.end(undefined);
    }
  } finally {
    await file.close();
  }
}

interface Coming {
  readonly caller: Caller;
  readonly call: InferenceCall;
  readonly file: SpooledFile;
  readonly measured: MeasuredRequest;
}

async function understand(
  x: Exchange,
  context: ServerContext,
  { caller, call, file, measured }: Coming,
): Promise<{ readonly asked: Asked; readonly target: InferenceTarget; readonly ask: Ask }> {
  let model = '';
  // While it comes, it counts among the streams.
  const leave = context.streams.add(x, { allows: mayAnywhere, end: () => undefined });
  try {
    const form = await readForm(x, (chunk) => file.write(chunk));
    model = modelOf(form);
    checkFields(form);
    const seconds = secondsOf(await file.head(HEAD_BYTES), form.file.bytes);
    const target = await findAudioModel(context, { caller, call, operation: OPERATION, model }, measured);
    const stream = readStream(fieldOf(form, 'stream'));
    const plain = fieldOf(form, 'response_format') === 'text';
    return { asked: { form, model, stream, plain, seconds }, target, ask: askOf(target, seconds) };
  } catch (error) {
    context.inference.refused(caller, { endpoint: call.endpoint, model });
    throw error;
  } finally {
    leave();
  }
}

/** Which project it is for is known when its fields have come. */
function mayAnywhere(caller: Caller): boolean {
  return caller.projects === undefined
    ? caller.may(INVOKE, '')
    : caller.projects.some((one) => caller.may(INVOKE, one));
}

function fieldOf({ fields }: Form, name: string): string | undefined {
  return fields.find(([field]) => field === name)?.[1];
}

/** Servers read other words as true as well, and then a stream would come where none is awaited. */
function readStream(value: string | undefined): boolean {
  if (value === undefined || value === 'false') return false;
  if (value !== 'true') throw badField('stream', 'must be "true" or "false"');
  return true;
}

function modelOf(form: Form): string {
  const model = fieldOf(form, 'model') ?? '';
  if (model === '' || model.length > 200) throw badField('model', 'must be the name of a model');
  return model;
}

function checkFields({ fields, file }: Form): void {
  if (file.field !== 'file') throw badField('file', 'must be the name of the field with the sound');
  if (file.bytes === 0) throw badField('file', 'must not be empty');
  for (const [name, value] of fields) {
    // Lists and members of objects, as clients write them: `include[]`, `chunking_strategy[type]`.
    const member = name.replace(/\[[a-z_]*\]$/, '');
    const found =
      name === 'model' || name === 'stream' ? undefined : (faultOfSoundMember(member, value) ?? faultOfMember(member));
    if (found !== undefined) throw refusedField(found);
  }
}

/** With the model as this upstream calls it. */
function named({ form: { fields, file }, plain }: Asked, model: string): Form {
  const asked = plain ? fields.filter(([name]) => name !== 'response_format') : fields;
  const others = asked.filter(([name]) => name !== 'model');
  return { file, fields: [['model', model], ...others, ...(plain ? [['response_format', 'json'] as const] : [])] };
}

function askOf({ price, model: { spec } }: InferenceTarget, { bound }: Seconds): Ask {
  return {
    inputTokens: Math.ceil(bound * TOKENS_A_SECOND.most),
    outputTokens: spec.maxOutputTokens ?? MOST_OUTPUT,
    ...{ longCache: false, free: false, costUSD: secondsCost(price, bound) },
  };
}

interface Writing {
  readonly opened: Opened;
  readonly headers: Headers;
  readonly admitted: AdmittedRequest;
  readonly ask: Ask;
  readonly way: UnderWay;
  readonly target: InferenceTarget;
  readonly asked: Asked;
}

interface Priced {
  readonly costUSD: USD;
  /** Undefined: it is billed by seconds. */
  readonly usage: Usage | undefined;
  /** It tells of more than it was admitted for. */
  readonly isPast: boolean;
}

/** By what is reported, else by our count. */
function priced(
  { admitted, ask, target: { price }, asked: { seconds } }: Writing,
  used: AudioUse,
  outputBytes: number,
): Priced {
  if (ask.costUSD !== undefined) {
    const costUSD = secondsCost(price, used.seconds ?? seconds.estimate) ?? ask.costUSD;
    const isMore = costUSD.billionths > ask.costUSD.billionths;
    return { costUSD: isMore ? ask.costUSD : costUSD, usage: undefined, isPast: isMore };
  }
  const counted = {
    ...ZERO_USAGE,
    inputTokens: Math.min(ask.inputTokens, Math.ceil((used.seconds ?? seconds.estimate) * TOKENS_A_SECOND.usual)),
    outputTokens: Math.min(ask.outputTokens, estimateTokens(outputBytes)),
  };
  const { tokens = counted } = used;
  const isPastTokens = tokens.inputTokens > ask.inputTokens || isPast(tokens.outputTokens, ask.outputTokens);
  // None for a text that is there is no report.
  const outputTokens = tokens.outputTokens === 0 ? counted.outputTokens : tokens.outputTokens;
  const usage = { ...tokens, outputTokens };
  return { costUSD: admitted.priceOf(usage), usage, isPast: isPastTokens };
}

/** What it has cost: never more than was held. */
function charge({ admitted }: Writing, { costUSD, usage }: Priced): USD {
  return usage === undefined ? admitted.charge(costUSD) : admitted.end(usage);
}

async function answerText(x: Exchange, answer: Writing): Promise<void> {
  const { opened, headers, way, asked } = answer;
  let bytes: Buffer;
  try {
    bytes = await readAll(opened);
  } catch {
    const why = way.endedBy();
    opened.ended(x.res.destroyed || why !== undefined ? 'Left' : 'Broken');
    throw why === undefined ? failed(undefined, opened) : new RefusalError(why);
  }
  const type = opened.headers['content-type'] ?? 'application/json';
  const said = readTranscript(bytes, /json/i.test(type), OPENAI.readError);
  opened.ended(said.outcome === 'Said' ? 'Whole' : 'Broken');
  if (said.outcome === 'Failed') throw failed(said.error, opened);
  const price = priced(answer, said.used, said.textBytes);
  x.res.setHeader('x-svc-cost-usd', showUSD(charge(answer, price)));
  // As of a chat: what it made beyond what was held is the service's, and goes to nobody.
  if (price.isPast)
    throw pastBound('Ask the operator of the service: the upstream has reported more than the recording can hold.');
  const isText = asked.plain && said.text !== undefined;
  headers['content-type'] = isText ? 'text/plain; charset=utf-8' : type;
  reply(x, 200, isText ? `${said.text}\n` : bytes, headers);
}

async function answerEvents(x: Exchange, context: ServerContext, answer: Writing): Promise<'Done' | 'Left' | 'Broken'> {
  const { opened, headers, admitted, ask, way, target } = answer;
  const follower = followAudio(({ used, outputBytes }) => showUSD(priced(answer, used, outputBytes).costUSD));
  const charged: AdmittedRequest = {
    ...admitted,
    progress: () => admitted.progress(priced(answer, follower.used, follower.outputBytes).costUSD),
    end: (usage) =>
      usage === undefined
        ? admitted.end(undefined)
        : charge(answer, priced(answer, follower.used, follower.outputBytes)),
  };
  way.leaveToStream();
  return answerStream(x, context, {
    ...{ dialect: OPENAI, opened, admitted: charged, headers, endedBy: way.endedBy, abort: way.abort },
    ...{ org: target.payer.org, project: target.project, outputTokens: ask.outputTokens, follow: () => follower },
    ...{ estimate: { inputTokens: ask.inputTokens, mostOutputTokens: ask.outputTokens }, readOn: READ_ON },
  });
}
