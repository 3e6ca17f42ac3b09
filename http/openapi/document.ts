/** Owns putting documents together: the whole interface, and one per group version as Kubernetes' clients want them. Pure. */
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

function document(
  facts: DocumentFacts,
  kinds: readonly KindDefinition[],
  morePaths: Record<string, Node>,
  moreSchemas: Record<string, Node>,
): Node {
  const known = kinds.map((kind) => kindSchemas(facts.group, kind));
  const schemas = Object.assign(sharedSchemas(), ...known, moreSchemas) as Node;
  const paths = Object.assign({}, ...kinds.map((kind) => kindPaths(facts.group, kind)), morePaths) as Node;
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
export function wholeDocument(facts: DocumentFacts): Node {
  return document(facts, facts.kinds, fixedPaths(facts.group, facts.kinds), {
    Event: EVENT,
    WebhookDelivery: WEBHOOK_DELIVERY,
  });
}

/** `/openapi/v3/…`: the kinds of one group version. */
export function groupVersionDocument(facts: DocumentFacts, group: 'core' | 'api', version: string): Node {
  return document(facts, kindsOf(facts.kinds, group, version), {}, {});
}
