/**
 * The description of routes of the inference data plane that are not served yet, on the shared base and on the base of each
 * InferenceEndpoint. Source: decisions, "Inference data plane".
 */
import { BYTES, OBJECT, path } from '../../openapi/route.js';
import { json } from './bodies.js';
import type { AbsoluteRoute } from './declared.js';

/** Path, id, what it does, and what a body is when it is not JSON. */
type Call = readonly [path: string, id: string, summary: string, multipart?: true];

const CALLS: readonly Call[] = [
  ['audio/transcriptions', 'createTranscription', 'Write down speech (OpenAI)', true],
  ['audio/speech', 'createSpeech', 'Speak a text (OpenAI)'],
];

function inference(base: string, suffix: string, names: AbsoluteRoute['parameters']): readonly AbsoluteRoute[] {
  return CALLS.map(([at, id, summary, multipart]) => ({
    at: `${base}/${at}`,
    method: 'POST',
    id: `${id}${suffix}`,
    tag: 'Inference',
    summary,
    scope: 'inference:invoke',
    ...(names === undefined ? {} : { parameters: names }),
    body: multipart ? { required: true, content: { 'multipart/form-data': { schema: OBJECT } } } : json(OBJECT),
    answer:
      at === 'audio/speech'
        ? { type: 'audio/mpeg', schema: BYTES, description: 'The sound.' }
        : { schema: OBJECT, description: "In the caller's dialect." },
  }));
}

export const ABSOLUTE_ROUTES: readonly AbsoluteRoute[] = [
  ...inference('/v1', '', undefined),
  ...inference('/endpoints/{project}/{name}/v1', 'OfInferenceEndpoint', [
    path('project', 'Project of the InferenceEndpoint.'),
    path('name', 'Name of the InferenceEndpoint.'),
  ]),
];
