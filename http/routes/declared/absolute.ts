/**
 * The description of routes outside the API group: the inference data plane, on the shared base and on the base of
 * each InferenceEndpoint. Source: decisions, "Inference data plane".
 */
import { BYTES, list, OBJECT, path } from '../../openapi/route.js';
import { json } from './bodies.js';
import type { AbsoluteRoute, Method } from './declared.js';

/** Method, path, id, what it does, and what a body is when it is not JSON. */
type Call = readonly [method: Method, path: string, id: string, summary: string, multipart?: true];

const CALLS: readonly Call[] = [
  ['GET', 'models', 'listModelsToCall', 'List the models that can be called'],
  ['POST', 'chat/completions', 'createChatCompletion', 'Answer a chat (OpenAI)'],
  ['POST', 'completions', 'createCompletion', 'Complete a text (OpenAI)'],
  ['POST', 'embeddings', 'createEmbeddings', 'Embed texts (OpenAI)'],
  ['POST', 'responses', 'createResponse', 'Answer (OpenAI responses)'],
  ['POST', 'audio/transcriptions', 'createTranscription', 'Write down speech (OpenAI)', true],
  ['POST', 'audio/speech', 'createSpeech', 'Speak a text (OpenAI)'],
  ['POST', 'messages', 'createMessage', 'Answer a conversation (Anthropic)'],
  ['POST', 'messages/count_tokens', 'countTokens', 'Count the tokens of a conversation (Anthropic)'],
];

function inference(base: string, suffix: string, names: AbsoluteRoute['parameters']): readonly AbsoluteRoute[] {
  return CALLS.map(([method, at, id, summary, multipart]) => ({
    at: `${base}/${at}`,
    method,
    id: `${id}${suffix}`,
    tag: 'Inference',
    summary,
    scope: 'inference:invoke',
    ...(names === undefined ? {} : { parameters: names }),
    ...(method === 'GET'
      ? {}
      : {
          body: multipart ? { required: true, content: { 'multipart/form-data': { schema: OBJECT } } } : json(OBJECT),
        }),
    answer:
      at === 'audio/speech'
        ? { type: 'audio/mpeg', schema: BYTES, description: 'The sound.' }
        : { schema: method === 'GET' ? list(OBJECT) : OBJECT, description: "In the caller's dialect." },
  }));
}

export const ABSOLUTE_ROUTES: readonly AbsoluteRoute[] = [
  ...inference('/v1', '', undefined),
  ...inference('/endpoints/{project}/{name}/v1', 'OfInferenceEndpoint', [
    path('project', 'Project of the InferenceEndpoint.'),
    path('name', 'Name of the InferenceEndpoint.'),
  ]),
];
