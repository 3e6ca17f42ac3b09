/** Whether a model can do what a request asks of it: the route, streams, tools, images. What it cannot is refused by the field's name. Pure. */
import { refuse } from '../../src/api/refusal.js';
import type { Feature, RequestSummary } from '../../src/engines/inference/dialects/dialect.js';
import { DIALECT_OF, DIALECTS, type DialectName } from '../../src/engines/inference/dialects/dialect.js';
import { CHATS, isChat } from '../../src/engines/inference/dialects/translate.js';
import type { ModelSpec } from '../../src/kinds/model/schema.js';
import type { InferenceTarget } from '../../actors/inference/service.js';

/** Where neither the request nor the Model says how much. */
const MOST_OUTPUT = 32_768;

const CAPABILITY: Readonly<Record<Exclude<Feature, 'Images'>, 'tools' | 'jsonSchema' | 'reasoning'>> = {
  Tools: 'tools',
  JSONSchema: 'jsonSchema',
  Reasoning: 'reasoning',
};

const WHAT: Readonly<Record<Feature, string>> = {
  Images: 'take images',
  Tools: 'call tools',
  JSONSchema: 'hold its answers to a JSON schema',
  Reasoning: 'reason before it answers',
};

/** Throws a refusal. */
export function checkAbilities({ model, routes, price }: InferenceTarget, request: RequestSummary): void {
  const { operation, features, stream, longCache } = request;
  const { spec, name } = model;
  const dialect = DIALECT_OF[operation];
  const no = (field: string, message: string, fix: string): Error =>
    refuse('BadRequest', `the model ${name} ${message}`, {
      fix,
      causes: [{ field, reason: 'FieldValueNotSupported', message }],
    });
  const isCount = operation === '/v1/messages/count_tokens';
  const served = spec.operations ?? [];
  // What answers in a conversation does so for every client of one, and counts its tokens.
  const named: readonly string[] = isChat(operation) || isCount ? CHATS : [operation];
  if (spec.operations !== undefined && !named.some((one) => served.includes(one)) && !served.includes(operation))
    throw no('model', `does not serve ${operation}`, `It serves ${served.join(', ')}.`);
  if (routes !== undefined && !isChat(operation) && !isCount && !routes.dialects.has(dialect)) {
    const spoken = [...routes.dialects].join(', ');
    throw no(
      'model',
      `speaks the dialect of ${spoken} here, not that of ${dialect}`,
      `Call it by a client of ${spoken}.`,
    );
  }
  if (stream && spec.capabilities?.streaming === false)
    throw no('stream', 'does not stream its answers', 'Leave "stream" out.');
  for (const [feature, field] of features)
    if (!can(spec, feature))
      throw no(field, `does not ${WHAT[feature]}`, `Leave ${field} out, or choose another model.`);
  const asked: readonly DialectName[] = isChat(operation) ? DIALECTS : [dialect];
  if (request.fetchedAt !== undefined && routes !== undefined && !asked.some((one) => routes.fetching.has(one)))
    throw no(
      request.fetchedAt,
      'is served where nothing is fetched from an address that a request names',
      'Send the data themselves: a data: URL, or base64.',
    );
  const noPrice = price.longCacheWritePerMillionTokensUSD === undefined;
  if (longCache && noPrice && price.cacheWritePerMillionTokensUSD !== undefined)
    throw no('cache_control', 'has no price for caches of an hour', 'Leave "ttl" out: caches last five minutes then.');
}

const MILLION = 1_000_000;

/** `betas`: the header anthropic-beta. Throws a refusal for those under which a vendor takes more at once than the Model has, or asks another price. */
export function checkBetas({ model: { spec, name } }: InferenceTarget, betas: string | undefined): void {
  // However a server may take them apart.
  const dearer = (betas ?? '')
    .toLowerCase()
    .split(/[^a-z0-9._-]+/)
    .find(
      (beta) => beta.startsWith('fast-mode') || (beta.startsWith('context-1m') && (spec.contextTokens ?? 0) < MILLION),
    );
  if (dearer === undefined) return;
  throw refuse(
    'BadRequest',
    `the model ${name} is not served with the beta ${dearer.slice(0, 64)}: models have one price here`,
    {
      fix: `Leave ${dearer.slice(0, 64)} out of the header anthropic-beta.`,
      causes: [{ field: 'anthropic-beta', reason: 'FieldValueNotSupported', message: 'changes the price' }],
    },
  );
}

/** A Model that says nothing of capabilities is taken at its upstream's word. */
function can({ capabilities, modalities }: ModelSpec, feature: Feature): boolean {
  if (feature === 'Images') return modalities?.input?.includes('Image') ?? true;
  return capabilities === undefined || capabilities[CAPABILITY[feature]] === true;
}

/** Most tokens that all answers of the request may have together. Throws a refusal when it asks for more than the model gives. */
export function outputBound({ model: { spec, name } }: InferenceTarget, request: RequestSummary): number {
  const { maxOutputTokens: asked, maxOutputMember: field, answers } = request;
  if (answers === 0) return 0;
  const most = spec.maxOutputTokens ?? spec.contextTokens ?? MOST_OUTPUT;
  if (asked !== undefined && asked > most) {
    const message = `must be at most ${most}, which the model ${name} gives`;
    throw refuse('BadRequest', `${field} ${message}`, {
      causes: [{ field, reason: 'FieldValueInvalid', message }],
      fix: `Send ${field} of at most ${most}.`,
    });
  }
  return (asked ?? most) * answers;
}
