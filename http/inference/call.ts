/** Which inference call a path and method are: the shared base `/v1`, and the base of each InferenceEndpoint. */
import {
  AUDIO,
  type AudioOperation,
  OPERATIONS,
  type Operation,
} from '../../src/engines/inference/dialects/dialect.js';

export interface InferenceCall {
  readonly operation: Operation | AudioOperation | '/v1/models';
  /** For `GET /v1/models/{id}`. */
  readonly model?: string | undefined;
  readonly endpoint: { readonly project: string; readonly name: string } | undefined;
}

const ENDPOINTS = '/endpoints/';
const MODELS = '/v1/models';
const SERVED: ReadonlySet<string> = new Set<string>([...OPERATIONS, ...AUDIO, MODELS]);
/** A DNS name; what is none names no object. */
const NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

/** Undefined: the path is none of them (or not served yet). */
export function readCall(path: string): InferenceCall | undefined {
  if (path.startsWith('/v1/')) return callOf(path, undefined);
  if (!path.startsWith(ENDPOINTS)) return undefined;
  const [project = '', name = '', ...rest] = path.slice(ENDPOINTS.length).split('/');
  if (!NAME.test(project) || !NAME.test(name)) return undefined;
  return callOf(`/${rest.join('/')}`, { project, name });
}

function callOf(path: string, endpoint: InferenceCall['endpoint']): InferenceCall | undefined {
  if (SERVED.has(path)) return { operation: path as InferenceCall['operation'], endpoint };
  if (!path.startsWith(`${MODELS}/`)) return undefined;
  try {
    // Ids hold slashes.
    return { operation: MODELS, model: decodeURIComponent(path.slice(MODELS.length + 1)), endpoint };
  } catch {
    return { operation: MODELS, model: '', endpoint };
  }
}
