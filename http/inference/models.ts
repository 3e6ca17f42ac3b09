/** `GET /v1/models` and `/v1/models/{id}`, in the shape of the client's dialect: Anthropic's clients send `anthropic-version`. */
import { refuse } from '../../src/api/refusal.js';
import type { InferenceService } from '../../actors/inference/service.js';
import type { Exchange } from '../exchange.js';
import { replyJson } from '../reply.js';
import type { InferenceCall } from './call.js';

/** Of Anthropic's list. */
const USUAL_PAGE = 20;
const MOST_PAGE = 1_000;

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
    throw badQuery('available', 'must be true or false');
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
  const { page, hasMore } = pageOf(data, x.query);
  const [first, last] = [page[0]?.id ?? null, page.at(-1)?.id ?? null];
  replyJson(x, 200, { data: page, has_more: hasMore, first_id: first, last_id: last });
}

/** Anthropic's list comes in pages, by ids: `limit`, and `after_id` or `before_id`. `has_more`: in the direction that was asked for. */
function pageOf<One extends { readonly id: string }>(
  all: readonly One[],
  query: Exchange['query'],
): { readonly page: readonly One[]; readonly hasMore: boolean } {
  const limit = Number(query.get('limit') ?? USUAL_PAGE);
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST_PAGE)
    throw badQuery('limit', `must be a whole number from 1 to ${MOST_PAGE}`);
  const at = (name: 'after_id' | 'before_id'): number | undefined => {
    const id = query.get(name);
    if (id === null) return undefined;
    const found = all.findIndex((one) => one.id === id);
    if (found < 0) throw badQuery(name, 'must be the id of a model in the list');
    return found;
  };
  const [after, before] = [at('after_id'), at('before_id')];
  if (after === undefined && before !== undefined) {
    const from = Math.max(0, before - limit);
    return { page: all.slice(from, before), hasMore: from > 0 };
  }
  const rest = all.slice(after === undefined ? 0 : after + 1, before);
  return { page: rest.slice(0, limit), hasMore: rest.length > limit };
}

function badQuery(field: string, message: string): Error {
  return refuse('BadRequest', `${field} ${message}`, { causes: [{ field, reason: 'FieldValueInvalid', message }] });
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
