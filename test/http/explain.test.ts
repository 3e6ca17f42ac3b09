/** `kubectl explain` answers for any field of any kind: each has a sentence in the OpenAPI document. */
import test from 'ava';
import { wholeDocument } from '../../http/openapi/document.js';
import { isNode, type Node } from '../../http/openapi/schema.js';
import { API_GROUP } from '../../src/brand.js';
import { KINDS } from '../../src/kinds/index.js';
import { at } from './support/json.js';

/** Paths of fields without a sentence, below one schema. */
function speechless(schema: unknown, path: string, found: string[]): void {
  if (!isNode(schema)) return;
  for (const word of ['allOf', 'oneOf', 'anyOf']) {
    const options: unknown = schema[word];
    if (Array.isArray(options)) for (const option of options) speechless(option, path, found);
  }
  for (const [name, field] of Object.entries(isNode(schema['properties']) ? schema['properties'] : {})) {
    if (isNode(field) && typeof field['description'] !== 'string') found.push(`${path}.${name}`);
    speechless(field, `${path}.${name}`, found);
  }
  speechless(schema['items'], `${path}[]`, found);
  speechless(schema['additionalProperties'], `${path}{}`, found);
}

const document: Node = wholeDocument({ title: 'test', version: '1', group: API_GROUP, kinds: KINDS });

for (const { kind } of KINDS) {
  test(`every field of ${kind} has a sentence`, (t) => {
    const found: string[] = [];
    for (const part of ['Spec', 'Status']) {
      const schema = at(document, `components.schemas.${kind}${part}`);
      t.truthy(schema);
      speechless(schema, `${kind}.${part.toLowerCase()}`, found);
    }
    t.deepEqual(found, []);
  });
}
