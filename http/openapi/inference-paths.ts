/** The description of the inference data plane, on the shared base and on the base of each InferenceEndpoint. Pure. */
import { json } from '../routes/declared/bodies.js';
import { BOOLEAN, BYTES, INTEGER, OBJECT, path, query, route } from './route.js';
import type { Node } from './schema.js';

const SAID =
  "In the dialect of the route; so are errors. `stream: true` answers with server-sent events. Scope inference:invoke; the key is a bearer key, or stands in `x-api-key` as Anthropic's clients send it. Headers of the answer: `x-svc-cost-usd` (of a stream: in the last chunk with usage), `x-svc-upstream-class`, `x-svc-endpoint-generation`, and the rate limits in the form of the dialect.";

/** Path, id and what it does. */
const CALLS: readonly (readonly [path: string, id: string, summary: string])[] = [
  ['chat/completions', 'createChatCompletion', 'Answer a chat (OpenAI)'],
  ['completions', 'createCompletion', 'Complete a text (OpenAI)'],
  ['embeddings', 'createEmbeddings', 'Embed texts (OpenAI)'],
  ['responses', 'createResponse', 'Answer a conversation, without state (OpenAI responses)'],
  ['messages', 'createMessage', 'Answer a conversation (Anthropic)'],
  ['messages/count_tokens', 'countTokens', 'Count the tokens of a conversation (Anthropic); costs nothing'],
];

const LIST: Node = {
  type: 'object',
  required: ['data'],
  properties: { object: { type: 'string' }, data: { type: 'array', items: OBJECT } },
};

function inference(base: string, suffix: string, names: readonly Node[]): Record<string, Node> {
  const paths: Record<string, Node> = {
    [`${base}/models`]: {
      get: route({
        id: `listModelsToCall${suffix}`,
        tag: 'Inference',
        summary: 'List the models that can be called',
        description: "In the shape of Anthropic's list for clients that send `anthropic-version`, else in OpenAI's.",
        parameters: [
          ...names,
          query('available', 'true: only those that something serves now.', BOOLEAN),
          query('limit', "Of Anthropic's list: models of one page, 1 to 1000, 20 where absent.", INTEGER),
          query('after_id', "Of Anthropic's list: those behind this model."),
          query('before_id', "Of Anthropic's list: those before this model."),
        ],
        answer: { schema: LIST, description: 'All models of the catalog, each with `available`.' },
      }),
    },
    [`${base}/models/{model}`]: {
      get: route({
        id: `readModelToCall${suffix}`,
        tag: 'Inference',
        summary: 'Read one of them',
        parameters: [...names, path('model', 'Name, id or alias; slashes as they are, or encoded.')],
        answer: { schema: OBJECT, description: 'The model.' },
      }),
    },
  };
  for (const [at, id, summary] of CALLS) {
    paths[`${base}/${at}`] = {
      post: route({
        ...{ id: `${id}${suffix}`, tag: 'Inference', summary, description: SAID, body: json(OBJECT) },
        ...(names.length > 0 ? { parameters: names } : {}),
        answer: { schema: OBJECT, description: 'The answer of the model.' },
      }),
    };
  }
  return paths;
}

const FORM: Node = {
  required: true,
  content: {
    'multipart/form-data': {
      schema: {
        type: 'object',
        required: ['file', 'model'],
        properties: {
          file: { type: 'string', format: 'binary', description: 'The recording, at most 100 MiB.' },
          model: { type: 'string', description: 'Name, id or alias of a Model, or endpoint/<name>.' },
          stream: { type: 'string', description: '`true`: the text comes as server-sent events.' },
        },
        additionalProperties: true,
      },
    },
  },
};

/** Sound. */
function audio(base: string, suffix: string, names: readonly Node[]): Record<string, Node> {
  const parameters = names.length > 0 ? { parameters: names } : {};
  return {
    [`${base}/audio/transcriptions`]: {
      post: route({
        ...{
          id: `createTranscription${suffix}`,
          tag: 'Inference',
          summary: 'Write down speech (OpenAI)',
          ...parameters,
        },
        description:
          "The recording goes to the model's upstream piece by piece, and is kept nowhere. Billed by seconds or tokens, as the Model's pricing says. Scope inference:invoke.",
        body: FORM,
        answer: { schema: OBJECT, description: 'The text, in the format that `response_format` asks for.' },
      }),
    },
    [`${base}/audio/speech`]: {
      post: route({
        ...{ id: `createSpeech${suffix}`, tag: 'Inference', summary: 'Speak a text (OpenAI)', ...parameters },
        description:
          'Billed by characters; a Model that is billed by tokens is asked with `stream_format: "sse"`. Scope inference:invoke.',
        body: json(OBJECT),
        answer: { type: 'audio/mpeg', schema: BYTES, description: 'The sound as it comes, or server-sent events.' },
      }),
    },
  };
}

const OF_ENDPOINT = '/endpoints/{project}/{name}/v1';
const NAMES: readonly Node[] = [
  path('project', 'Project of the InferenceEndpoint.'),
  path('name', 'Name of the InferenceEndpoint.'),
];

export function inferencePaths(): Record<string, Node> {
  return {
    ...inference('/v1', '', []),
    ...audio('/v1', '', []),
    ...inference(OF_ENDPOINT, 'OfInferenceEndpoint', NAMES),
    ...audio(OF_ENDPOINT, 'OfInferenceEndpoint', NAMES),
  };
}
