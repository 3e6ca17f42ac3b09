/** Which model a request for sound names, whether it may be asked so, and in which way its upstreams are. */
import { refuse } from '../../../src/api/refusal.js';
import { fault } from '../../../src/engines/inference/dialects/body.js';
import type { AudioOperation, RequestFault } from '../../../src/engines/inference/dialects/dialect.js';
import { DIALECT_BY_NAME } from '../../../src/engines/inference/dialects/index.js';
import type { Way } from '../../../src/engines/inference/router.js';
import type { Caller } from '../../../actors/resource-service.js';
import type { InferenceTarget } from '../../../actors/inference/service.js';
import type { ServerContext } from '../../server-context.js';
import type { InferenceCall } from '../call.js';
import type { MeasuredRequest } from '../metrics.js';

export const OPENAI = DIALECT_BY_NAME.OpenAI;

export interface AudioAsk {
  readonly caller: Caller;
  readonly call: InferenceCall;
  readonly operation: AudioOperation;
  readonly model: string;
}

/** Throws (or rejects with) a refusal. */
export async function findAudioModel(
  { inference }: Pick<ServerContext, 'inference'>,
  { caller, call, operation, model }: AudioAsk,
  measured: MeasuredRequest,
): Promise<InferenceTarget> {
  const target = await inference.find(caller, { endpoint: call.endpoint, model });
  measured.names(target.model.name);
  const { spec, name } = target.model;
  const served = spec.operations ?? [];
  if (!served.includes(operation))
    throw notHere(`the model ${name} does not serve ${operation}`, `It serves ${served.join(', ')}.`);
  if (target.routes !== undefined && !target.routes.dialects.has('OpenAI'))
    throw notHere(
      `the model ${name} has no upstream of OpenAI's dialect, which alone has sound`,
      'Name another model.',
    );
  return target;
}

function notHere(message: string, fix: string): Error {
  return refuse('BadRequest', message, {
    fix,
    causes: [{ field: 'model', reason: 'FieldValueNotSupported', message }],
  });
}

export function audioWay(operation: AudioOperation, encode: Way['encode']): readonly Way[] {
  return [{ dialect: 'OpenAI', operation, encode }];
}

export function refusedField({ message, param = '' }: RequestFault): Error {
  return refuse('BadRequest', message, { causes: [{ field: param, reason: 'FieldValueInvalid', message }] });
}

export function badField(field: string, message: string): Error {
  return refusedField(fault(field, message));
}

/** Members that ask for other things than sound, or for other prices; and those that name where the sound is. */
const NOT_OF_SOUND: ReadonlySet<string> = new Set([
  ...['tools', 'messages', 'store', 'service_tier', 'n', 'best_of', 'max_tokens', 'max_completion_tokens'],
]);
const PLACES = /(^|_)(url|uri|urls|uris)$/;

/** Members that are texts, in which an address is a text as well. */
const TEXTS: ReadonlySet<string> = new Set(['input', 'prompt', 'instructions']);
const NO_ADDRESS = 'must not be an address: nothing is fetched for a request';

/** Why a request for sound may not have this member. A server would fetch an address from inside the operator's network. */
export function faultOfSoundMember(member: string, value: unknown): RequestFault | undefined {
  if (NOT_OF_SOUND.has(member)) return fault(member, 'is not of a request for sound. Remove it.');
  const isAddress = typeof value === 'string' && /^\s*[a-z][a-z0-9+.-]*:\/\//i.test(value);
  return PLACES.test(member) || (isAddress && !TEXTS.has(member)) ? fault(member, NO_ADDRESS) : undefined;
}
