/** `GET /v1/models` and `/v1/models/{id}`, in the shape of the client's dialect: Anthropic's clients send `anthropic-version`. */
import { refuse } from '../../src/api/refusal.js';
import type { InferenceService } from '../../actors/inference/service.js';
import type { Exchange } from '../exchange.js';
import { replyJson } from '../reply.js';
import type { InferenceCall } from './call.js';

type Listed = ReturnType<InferenceService['models']>[number];

/** `only`: name of the Model that the InferenceEndpoint of the path serves. */
export function serveModels(
  x: Exchange,
  service: InferenceService,
  call: InferenceCall,
  only: string | undefined,
): void {
  const available = x.query.get('available');
  if (available !== null && available !== 'true' && available !== 'false')
    throw refuse('BadRequest', 'available must be true or false', {
      causes: [{ field: 'available', reason: 'FieldValueInvalid', message: 'must be true or false' }],
    });
  const all = service
    .models()
    .filter(({ model }) => only === undefined || model.name === only)
    .toSorted((a, b) => (a.model.name < b.model.name ? -1 : 1));
  const anthropic = x.header('anthropic-version') !== undefined;
  const show: (listed: Listed) => { readonly id: string } = anthropic ? anthropicModel : openaiModel;
  if (call.model !== undefined) {
    const found = all.find(({ model }) => namesOf(model).includes(call.model ?? ''));
    if (found === undefined)
      throw refuse('NotFound', 'there is no such model', { fix: 'GET /v1/models lists the models.' });
    replyJson(x, 200, show(found));
    return;
  }
  const data = (available === 'true' ? all.filter((one) => one.available) : all).map(show);
  if (!anthropic) return replyJson(x, 200, { object: 'list', data });
  const ids = data.map(({ id }) => id);
  replyJson(x, 200, { data, has_more: false, first_id: ids[0] ?? null, last_id: ids.at(-1) ?? null });
}

function namesOf({ name, spec }: Listed['model']): readonly string[] {
  return [name, `svc/${name}`, ...(spec.id === undefined ? [] : [spec.id]), ...(spec.aliases ?? [])];
}

function openaiModel({ model, available }: Listed) {
  const created = Math.floor(Date.parse(model.created) / 1_000);
  return { id: model.name, object: 'model', created, owned_by: model.spec.family ?? 'svc', available };
}

function anthropicModel({ model, available }: Listed) {
  return {
    ...{ type: 'model', id: model.name, display_name: model.spec.displayName ?? model.name, available },
    created_at: model.created,
  };
}
