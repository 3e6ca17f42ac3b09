/** Puts the OpenAPI documents together: the whole interface, and one per group version as Kubernetes' clients want them. Pure. */
import type { KindDefinition } from '../../src/kinds/kind.js';
import { kindsOf } from '../discovery/legacy.js';
import { EVENT } from './answers.js';
import { kindSchemas, sharedSchemas } from './components.js';
import { fixedPaths } from './fixed-paths.js';
import { kindPaths } from './operations.js';
import type { Node } from './schema.js';
import { WEBHOOK_DELIVERY } from './webhook-delivery.js';

export interface DocumentFacts {
  readonly title: string;
  readonly version: string;
  readonly group: string;
  readonly kinds: readonly KindDefinition[];
}

const SECURITY: Node = {
  securitySchemes: {
    key: { type: 'http', scheme: 'bearer', description: 'An API key, or a token of a ServiceAccount.' },
  },
};

/** A document under way. Turning schemas takes a few ms for each kind, so it lets other requests go on after each. */
export type Making = Generator<undefined, Node, undefined>;

function* making(
  facts: DocumentFacts,
  kinds: readonly KindDefinition[],
  more: () => { readonly paths: Record<string, Node>; readonly schemas: Record<string, Node> },
): Making {
  const schemas: Node = sharedSchemas();
  const paths: Node = {};
  for (const kind of kinds) {
    yield;
    Object.assign(schemas, kindSchemas(facts.group, kind));
    Object.assign(paths, kindPaths(facts.group, kind));
  }
  yield;
  const beside = more();
  Object.assign(schemas, beside.schemas);
  Object.assign(paths, beside.paths);
  return {
    openapi: '3.0.3',
    info: {
      title: facts.title,
      version: facts.version,
      description: 'Declarative API in the style of Kubernetes: every object has metadata, a spec and a status.',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    security: [{ key: [] }],
    paths: Object.fromEntries(Object.entries(paths).toSorted(([a], [b]) => (a < b ? -1 : 1))),
    components: {
      schemas: Object.fromEntries(Object.entries(schemas).toSorted(([a], [b]) => (a < b ? -1 : 1))),
      ...SECURITY,
    },
  };
}

/** `/openapi.json`: everything. */
export function makingWhole(facts: DocumentFacts): Making {
  return making(facts, facts.kinds, () => ({
    paths: fixedPaths(facts.group, facts.kinds),
    schemas: { Event: EVENT, WebhookDelivery: WEBHOOK_DELIVERY },
  }));
}

/** `/openapi/v3/…`: the kinds of one group version. */
export function makingGroupVersion(facts: DocumentFacts, group: 'core' | 'api', version: string): Making {
  return making(facts, kindsOf(facts.kinds, group, version), () => ({ paths: {}, schemas: {} }));
}

export function wholeDocument(facts: DocumentFacts): Node {
  return finished(makingWhole(facts));
}

export function groupVersionDocument(facts: DocumentFacts, group: 'core' | 'api', version: string): Node {
  return finished(makingGroupVersion(facts, group, version));
}

function finished(under: Making): Node {
  for (;;) {
    const step = under.next();
    if (step.done === true) return step.value;
  }
}
