/**
 * `POST /v1/audio/transcriptions`: writes down a recording. It comes as a form, goes into a file without a name piece by piece, and from there to
 * the upstream, so that it is never whole in memory, and the fields may come behind it. Billed by seconds, or by tokens, as the model's price says.
 */
import { refuse } from '../../../src/api/refusal.js';
import { followAudio } from '../../../src/engines/inference/audio/follow.js';
import { HEAD_BYTES, secondsOf, type Seconds } from '../../../src/engines/inference/audio/seconds.js';
import { audioUseOf, NO_AUDIO_USE, type AudioUse } from '../../../src/engines/inference/audio/usage.js';
import { faultOfMember } from '../../../src/engines/inference/dialects/body.js';
import { estimateTokens } from '../../../src/engines/inference/tokens/estimate.js';
import { secondsCost, ZERO_USAGE } from '../../../src/money/model-prices.js';
import { showUSD, type USD } from '../../../src/money/usd.js';
import { INVOKE, type AdmittedRequest, type Ask, type InferenceTarget } from '../../../actors/inference/service.js';
import type { SpooledFile } from '../../../actors/inference/spool.js';
import type { Caller } from '../../../actors/resource-service.js';
import type { Exchange } from '../../exchange.js';
import { reply, type Headers } from '../../reply.js';
import type { ServerContext } from '../../server-context.js';
import { failed, readAll, type Opened } from '../answer.js';
import { answeredHeaders } from '../answered-headers.js';
import type { InferenceCall } from '../call.js';
import type { MeasuredRequest } from '../metrics.js';
import { answerStream } from '../stream.js';
import { goUnderWay, type UnderWay } from '../under-way.js';
import { audioWay, badField, findAudioModel, OPENAI, refusedField } from './audio-target.js';
import { readForm, type Form } from './form.js';
import { formBody } from './form-body.js';

const OPERATION = '/v1/audio/transcriptions';
/** Tokens of a second of sound, at most and as a rule, where a model is billed by them. */
const TOKENS_A_SECOND = { most: 50, usual: 10 } as const;
/** Where the Model does not say how many tokens it gives. */
const MOST_OUTPUT = 16_384;
/** Of a longer answer only its beginning and its end are looked at: it would hold the event loop. */
const PARSED = 2 ** 20;
const LOOKED_AT = 4_096;

interface Asked {
  readonly form: Form;
  readonly model: string;
  readonly stream: boolean;
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
  const file = await inference.spool(caller.org);
  try {
    const { asked, target, ask } = await understand(x, context, { caller, call, file, measured });
    const admitted = measured.admitted(await inference.admit(target, ask));
    const way = goUnderWay(x, context, target);
    try {
      const { form, stream } = asked;
      const ways = audioWay(OPERATION, (as) => formBody(named(form, as), () => file.read()));
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
    const stream = fieldOf(form, 'stream') === 'true';
    return { asked: { form, model, stream, seconds }, target, ask: askOf(target, seconds) };
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
  return fields.findLast(([field]) => field === name)?.[1];
}

function modelOf(form: Form): string {
  const model = fieldOf(form, 'model') ?? '';
  if (model === '' || model.length > 200) throw badField('model', 'must be the name of a model');
  return model;
}

function checkFields({ fields, file }: Form): void {
  if (file.field !== 'file') throw badField('file', 'must be the name of the field with the sound');
  if (file.bytes === 0) throw badField('file', 'must not be empty');
  for (const [name] of fields) {
    const found = name === 'model' || name === 'stream' ? undefined : faultOfMember(name.replace(/\[\]$/, ''));
    if (found !== undefined) throw refusedField(found);
  }
}

/** With the model as this upstream calls it, once. */
function named({ fields, file }: Form, model: string): Form {
  return { file, fields: [['model', model], ...fields.filter(([name]) => name !== 'model')] };
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

/** By what is reported, else by our count. */
function charge(
  { admitted, ask, target: { price }, asked: { seconds } }: Writing,
  used: AudioUse,
  outputBytes: number,
): USD {
  if (ask.costUSD !== undefined)
    return admitted.charge(secondsCost(price, used.seconds ?? seconds.estimate) ?? ask.costUSD);
  const counted = {
    ...ZERO_USAGE,
    inputTokens: Math.min(ask.inputTokens, Math.ceil((used.seconds ?? seconds.estimate) * TOKENS_A_SECOND.usual)),
    outputTokens: Math.min(ask.outputTokens, estimateTokens(outputBytes)),
  };
  return admitted.end(used.tokens ?? counted);
}

async function answerText(x: Exchange, answer: Writing): Promise<void> {
  const { opened, headers, way } = answer;
  let bytes: Buffer;
  try {
    bytes = await readAll(opened);
  } catch {
    const why = way.endedBy();
    opened.ended(x.res.destroyed || why !== undefined ? 'Left' : 'Broken');
    throw why === undefined ? failed(undefined) : refuse(why.code, why.message, why);
  }
  const type = opened.headers['content-type'] ?? 'application/json';
  const said = /json/i.test(type) ? readSaid(bytes) : { used: NO_AUDIO_USE, value: undefined };
  const error = said.value === undefined ? undefined : OPENAI.readError(said.value);
  opened.ended(error === undefined ? 'Whole' : 'Broken');
  if (error !== undefined) throw failed(error);
  headers['content-type'] = type;
  headers['x-svc-cost-usd'] = showUSD(charge(answer, said.used, bytes.length));
  reply(x, 200, bytes, headers);
}

function readSaid(bytes: Buffer): { readonly used: AudioUse; readonly value: unknown } {
  if (bytes.length <= PARSED) {
    const value = parsed(bytes.toString('utf8'));
    return { used: audioUseOf(value), value };
  }
  const ends = `${bytes.toString('utf8', 0, LOOKED_AT)} ${bytes.toString('utf8', bytes.length - LOOKED_AT)}`;
  const usage = /"usage"\s*:\s*(\{[^{}]*\})/.exec(ends)?.[1];
  const duration = /"duration"\s*:\s*"?([\d.]+)/.exec(ends)?.[1];
  return { used: audioUseOf({ usage: parsed(usage ?? ''), duration }), value: undefined };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function answerEvents(x: Exchange, context: ServerContext, answer: Writing): Promise<'Done' | 'Left' | 'Broken'> {
  const { opened, headers, admitted, ask, way, target } = answer;
  const follower = followAudio();
  const charged: AdmittedRequest = {
    ...admitted,
    progress: () => undefined,
    end: (usage) =>
      usage === undefined ? admitted.end(undefined) : charge(answer, follower.used, follower.outputBytes),
  };
  way.leaveToStream();
  return answerStream(x, context, {
    ...{ dialect: OPENAI, opened, admitted: charged, headers, endedBy: way.endedBy, abort: way.abort },
    ...{ org: target.payer.org, project: target.project, outputTokens: ask.outputTokens, follow: () => follower },
    estimate: { inputTokens: ask.inputTokens, mostOutputTokens: ask.outputTokens },
  });
}
