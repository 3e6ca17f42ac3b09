/**
 * `POST /v1/audio/speech`: speaks a text. Billed by its characters, which are known before; a model that has a price for tokens alone has to be asked for
 * events (`stream_format: "sse"`), whose last one tells them. Sound goes to the client as it comes, and is kept nowhere.
 */
import { refuse } from '../../../src/api/refusal.js';
import { followAudio, type AudioEnd } from '../../../src/engines/inference/audio/follow.js';
import { readBody } from '../../../src/engines/inference/dialects/body.js';
import { estimateTokens } from '../../../src/engines/inference/tokens/estimate.js';
import { charactersCost, type Usage, ZERO_USAGE } from '../../../src/money/model-prices.js';
import { showUSD, type USD } from '../../../src/money/usd.js';
import type { AdmittedRequest, Ask, InferenceTarget } from '../../../actors/inference/service.js';
import type { Exchange } from '../../exchange.js';
import { writeHead, type Headers } from '../../reply.js';
import type { ServerContext } from '../../server-context.js';
import { Outflow } from '../../stream.js';
import { failed, readAll, type Opened } from '../answer.js';
import { answeredHeaders } from '../answered-headers.js';
import type { InferenceCall } from '../call.js';
import type { MeasuredRequest } from '../metrics.js';
import { answerStream } from '../stream.js';
import { goUnderWay, type UnderWay } from '../under-way.js';
import { audioWay, badField, faultOfSoundMember, findAudioModel, OPENAI, refusedField } from './audio-target.js';

const OPERATION = '/v1/audio/speech';
const MOST_BODY = 2 ** 20;
const MOST_CHARACTERS = 100_000;
/** Where the Model does not say how many tokens it gives. */
const MOST_OUTPUT = 32_768;
/**
 * Of sound, where nobody has told its tokens, since its client has left: so few that one who leaves saves nothing by it. By
 * `response_format`; the least of them where it is another.
 */
const BYTES_A_TOKEN: ReadonlyMap<unknown, number> = new Map([
  ...([
    ['pcm', 2_000],
    ['wav', 2_000],
    ['flac', 800],
    ['mp3', 400],
    [undefined, 400],
  ] as const),
]);
const LEAST_BYTES_A_TOKEN = 100;
/** More bytes than so many a character no format of speech takes; and for what stands around. */
const BYTES_A_CHARACTER = 64 * 1024;
const AROUND = 2 ** 20;

interface Asked {
  readonly body: Readonly<Record<string, unknown>>;
  readonly model: string;
  readonly input: string;
  /** In events. */
  readonly events: boolean;
}

export async function serveSpeech(
  x: Exchange,
  context: ServerContext,
  call: InferenceCall,
  measured: MeasuredRequest,
): Promise<void> {
  const { caller } = x;
  const { inference } = context;
  if (caller === undefined) throw refuse('Unauthorized', 'no API key was sent');
  let model = '';
  let understood: { readonly asked: Asked; readonly target: InferenceTarget; readonly ask: Ask };
  try {
    const asked = readAsked(x, await context.bodies.take(x, MOST_BODY));
    ({ model } = asked);
    const target = await findAudioModel(context, { caller, call, operation: OPERATION, model }, measured);
    understood = { asked, target, ask: askOf(target, asked) };
  } catch (error) {
    inference.refused(caller, { endpoint: call.endpoint, model });
    throw error;
  }
  const { asked, target, ask } = understood;
  const admitted = measured.admitted(await inference.admit(target, ask));
  const way = goUnderWay(x, context, target);
  try {
    const ways = audioWay(OPERATION, (as) => Buffer.from(JSON.stringify({ ...asked.body, model: as })));
    const forwarded = await inference.forward({
      ...{ model: target.model.name, ways, stream: asked.events, tenant: target.payer.org, fetches: false },
      ...{ headers: {}, signal: way.signal, readError: OPENAI.readError },
    });
    const opened = way.opened(forwarded);
    measured.opened(performance.now() - x.startedAt);
    const { class: upstreamClass } = opened;
    const headers = answeredHeaders(x, OPENAI, { target, admitted, upstreamClass, now: context.clock() });
    const answer = {
      opened,
      headers,
      admitted,
      ask,
      way,
      characters: charactersOf(asked.input),
      format: asked.body['response_format'],
    };
    measured.ended(asked.events ? await answerEvents(x, context, target, answer) : await answerSound(x, answer));
  } finally {
    way.end();
    admitted.end(undefined);
  }
}

/** As they are read: a sign outside of the first plane of Unicode is one, though its text has two units. */
function charactersOf(text: string): number {
  let pairs = 0;
  for (let at = 0; at < text.length; at += 1) if ((text.codePointAt(at) ?? 0) > 0xffff) pairs += 1;
  return text.length - pairs;
}

function readAsked(x: Exchange, bytes: Buffer): Asked {
  const type = (x.header('content-type') ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json')
    throw refuse('UnsupportedMediaType', `the content type "${(type ?? '').slice(0, 64)}" is not supported here`, {
      fix: 'Send JSON, with the header Content-Type: application/json.',
    });
  let given: unknown;
  try {
    given = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw refuse('BadRequest', 'the body is not JSON', { fix: 'Send one JSON object.' });
  }
  const read = readBody(given);
  if (read.outcome === 'Refused') throw refusedField(read);
  const { body, model } = read;
  const { input, stream_format: format } = body;
  if (typeof input !== 'string' || input === '' || charactersOf(input) > MOST_CHARACTERS)
    throw badField('input', `must be a text of 1 to ${MOST_CHARACTERS} characters`);
  if (format !== undefined && format !== 'audio' && format !== 'sse')
    throw badField('stream_format', 'must be "audio" or "sse"');
  for (const [member, value] of Object.entries(body)) {
    const found = faultOfSoundMember(member, value);
    if (found !== undefined) throw refusedField(found);
  }
  return { body, model, input, events: format === 'sse' };
}

function askOf({ price, model: { spec, name } }: InferenceTarget, { body, input, events }: Asked): Ask {
  const costUSD = charactersCost(price, charactersOf(input));
  const instructions = typeof body['instructions'] === 'string' ? body['instructions'] : '';
  const isByTokens = costUSD === undefined && price.outputPerMillionTokensUSD !== undefined;
  if (isByTokens && !events)
    throw badField('stream_format', `must be "sse": ${name} is billed by tokens, which its events alone tell`);
  return {
    inputTokens: Buffer.byteLength(input) + Buffer.byteLength(instructions) + 64,
    outputTokens: spec.maxOutputTokens ?? MOST_OUTPUT,
    ...{ longCache: false, free: false, costUSD },
  };
}

interface Speaking {
  readonly opened: Opened;
  readonly headers: Headers;
  readonly admitted: AdmittedRequest;
  readonly ask: Ask;
  readonly way: UnderWay;
  readonly characters: number;
  readonly format: unknown;
}

/** Its cost is known before. Who leaves pays it, and who has got some of a sound that breaks off: the text was given to be spoken. */
async function answerSound(
  x: Exchange,
  { opened, headers, admitted, ask, way, characters }: Speaking,
): Promise<'Done' | 'Left' | 'Broken'> {
  const type = opened.headers['content-type'] ?? 'application/octet-stream';
  // A page or a fault, and no sound.
  if (/^(application\/json|text\/)/i.test(type)) {
    const said = await readAll(opened).catch(() => Buffer.alloc(0));
    opened.ended('Broken');
    throw failed(OPENAI.readError(parsed(said)), opened);
  }
  const cost: USD | undefined = ask.costUSD;
  const charge = (): void => void (cost === undefined ? admitted.end(ZERO_USAGE) : admitted.charge(cost));
  headers['content-type'] = type;
  if (cost !== undefined) headers['x-svc-cost-usd'] = showUSD(cost);
  const out = new Outflow(x.res);
  const most = AROUND + characters * BYTES_A_CHARACTER;
  let left = most;
  writeHead(x, 200, headers);
  try {
    for await (const chunk of opened.body) {
      if (left === most && cost !== undefined) admitted.progress(cost);
      left -= chunk.length;
      if (left < 0) throw new Error('it is longer than any speech');
      if (!out.write(chunk)) await out.drained();
      if (out.closed) break;
    }
  } catch {
    const isLeft = out.closed || way.endedBy() !== undefined;
    opened.ended(isLeft ? 'Left' : 'Broken');
    if (isLeft || left < most) charge();
    x.res.destroy();
    return isLeft ? 'Left' : 'Broken';
  }
  charge();
  opened.ended(out.closed ? 'Left' : 'Whole');
  if (out.closed) return 'Left';
  x.res.end();
  return 'Done';
}

async function answerEvents(
  x: Exchange,
  context: ServerContext,
  { project, payer: { org } }: InferenceTarget,
  { opened, headers, admitted, ask, way, format }: Speaking,
): Promise<'Done' | 'Left' | 'Broken'> {
  const bytesAToken = BYTES_A_TOKEN.get(format) ?? LEAST_BYTES_A_TOKEN;
  const { costUSD } = ask;
  /** By what is reported, else by our count. */
  const usageOf = ({ used, soundBytes }: Pick<AudioEnd, 'used' | 'soundBytes'>): Usage => {
    const outputTokens = Math.min(ask.outputTokens, Math.ceil(soundBytes / bytesAToken));
    const counted = { ...ZERO_USAGE, inputTokens: estimateTokens(ask.inputTokens), outputTokens };
    const { tokens = counted } = used;
    // None for sound that is there is no report.
    return tokens.outputTokens === 0 ? { ...tokens, outputTokens } : tokens;
  };
  const follower = followAudio((end) => showUSD(costUSD ?? admitted.priceOf(usageOf(end))));
  const charged: AdmittedRequest = {
    ...admitted,
    progress: () => admitted.progress(costUSD ?? admitted.priceOf(usageOf(follower))),
    end(usage) {
      if (usage === undefined) return admitted.end(undefined);
      return costUSD === undefined ? admitted.end(usageOf(follower)) : admitted.charge(costUSD);
    },
  };
  way.leaveToStream();
  return answerStream(x, context, {
    ...{ dialect: OPENAI, opened, admitted: charged, headers, endedBy: way.endedBy, org, project, abort: way.abort },
    estimate: { inputTokens: ask.inputTokens, mostOutputTokens: ask.outputTokens },
    outputTokens: ask.outputTokens,
    follow: () => follower,
  });
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}
