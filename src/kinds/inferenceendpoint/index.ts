/** The declaration of InferenceEndpoint: a named access policy over one model of the catalog. */
import type { ApiObject } from '../../api/object.js';
import { BRAND, CATALOG_PROJECT } from '../../brand.js';
import {
  countColumn,
  EVERY_OPERATION,
  integerColumn,
  phaseColumn,
  reasonColumn,
  textColumn,
  wide,
} from '../declare.js';
import type { KindDefinition, Reference } from '../kind.js';
import { isDeprecated } from '../model/availability.js';
import type { ModelSpec } from '../model/schema.js';
import { capOf, inferenceEndpointMachine } from './machine.js';
import {
  inferenceEndpointSpec,
  inferenceEndpointStatus,
  type InferenceEndpointSpec,
  type InferenceEndpointStatus,
} from './schema.js';

type This = ApiObject<InferenceEndpointSpec, InferenceEndpointStatus>;

export const inferenceEndpointKind: KindDefinition = {
  kind: 'InferenceEndpoint',
  plural: 'inferenceendpoints',
  singular: 'inferenceendpoint',
  shortNames: ['ie'],
  categories: ['all'],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: EVERY_OPERATION,
  description:
    'A named access policy over one model of the catalog, with a base URL of its own, rate limits, allowed keys and a cap. It runs no compute.',
  schema: {
    spec: inferenceEndpointSpec,
    status: inferenceEndpointStatus,
    immutable: ['spec.deployment'],
    raiseOnly: ['spec.maxCostUSD'],
  },
  columns: [
    phaseColumn('endpoint'),
    textColumn('Model', 'Its model.', ({ spec }: This) => spec.model),
    countColumn('Requests', 'Requests in the last 24 hours.', ({ status }: This) => status.usage24h?.requests),
    textColumn(
      'Cost',
      'What was charged in the last 24 hours, in USD.',
      ({ status }: This) => status.usage24h?.costUSD,
    ),
    wide(
      countColumn(
        'Tokens',
        'Tokens in and out in the last 24 hours.',
        ({ status: { usage24h } }: This) => usage24h && usage24h.inputTokens + usage24h.outputTokens,
      ),
    ),
    wide(countColumn('Running', 'Requests that run now.', ({ status }: This) => status.usage24h?.openHolds)),
    wide(integerColumn('RPM', 'Requests per minute that it takes.', ({ spec }: This) => spec.limits?.rpm)),
    reasonColumn(),
  ],
  selectableFields: { 'spec.model': ({ spec }: This) => spec.model },
  initialStatus: ({ spec }: This): InferenceEndpointStatus => ({ phase: spec.state }),
  references: ({ spec }: This) => [
    modelReference(spec.model),
    ...(spec.allowedKeys ?? []).map((name, index) => ({
      ...{ field: `spec.allowedKeys[${index}]`, kind: 'APIKey', project: '', name },
    })),
  ],
  warnsOfReferences: true,
  atRemoval: ({ metadata }) => [capOf(metadata.uid, undefined)],
  machine: inferenceEndpointMachine,
};

function deprecationOf(spec: ModelSpec, now: number): string | undefined {
  if (spec.deprecationTime === undefined) return undefined;
  return isDeprecated(spec, now)
    ? `the model is served no more since ${spec.deprecationTime}: requests will be refused`
    : `the model will be served no more from ${spec.deprecationTime} on`;
}

/** A Model goes by its name, with or without the catalog before it, by its id and by its aliases. */
function modelReference(text: string): Reference {
  const prefix = `${BRAND}/`;
  const name = text.startsWith(prefix) ? text.slice(prefix.length) : text;
  return {
    ...{ field: 'spec.model', kind: 'Model', project: CATALOG_PROJECT, name },
    meant(found) {
      const { id, aliases = [] } = found.spec as ModelSpec;
      return id === text || aliases.includes(text);
    },
    warning: (found, now) => deprecationOf(found.spec as ModelSpec, now),
  };
}
