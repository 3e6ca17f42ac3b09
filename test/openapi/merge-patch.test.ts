/** A merge patch names only what is to change: its schemas require nothing and let everything be taken out. */
import test from 'ava';
import { wholeDocument } from '../../http/openapi/document.js';
import { mergePatchOf } from '../../http/openapi/merge-patch.js';
import { isNode } from '../../http/openapi/schema.js';
import { API_GROUP } from '../../src/brand.js';
import { KINDS } from '../../src/kinds/index.js';
import { at } from '../http/support/json.js';

test('objects lose what they require and lists keep it, since a list is replaced whole', (t) => {
  const element = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } };
  const spec = {
    type: 'object',
    required: ['image'],
    properties: {
      image: { type: 'string', description: 'Said elsewhere.', default: 'a' },
      state: { type: 'string', enum: ['On', 'Off'] },
      env: { type: 'array', items: element },
      labels: { type: 'object', additionalProperties: { type: 'string' } },
      // A field whose name is a word of the schema language.
      required: { type: 'boolean' },
    },
  };
  t.deepEqual(mergePatchOf(spec), {
    type: 'object',
    properties: {
      image: { type: 'string', nullable: true },
      state: { type: 'string', enum: ['On', 'Off', null], nullable: true },
      env: { type: 'array', items: element, nullable: true },
      labels: { type: 'object', additionalProperties: { type: 'string', nullable: true }, nullable: true },
      required: { type: 'boolean', nullable: true },
    },
  });
});

/** Paths of objects below a patch that require something, or of fields that cannot be taken out. */
function stubborn(schema: unknown, path: string): readonly string[] {
  if (!isNode(schema)) return [];
  const { properties, additionalProperties, required } = schema;
  return [
    ...(required === undefined ? [] : [path]),
    ...stubborn(additionalProperties, `${path}{}`),
    ...Object.entries(isNode(properties) ? properties : {}).flatMap(([name, field]) => [
      ...(isNode(field) && typeof field['type'] === 'string' && field['nullable'] !== true ? [`${path}.${name}`] : []),
      ...stubborn(field, `${path}.${name}`),
    ]),
  ];
}

test('every kind that can be patched says so of the whole of its spec', (t) => {
  const document = wholeDocument({ title: 'test', version: '1', group: API_GROUP, kinds: KINDS });
  for (const kind of KINDS.filter(({ operations }) => operations.has('patch'))) {
    const spec = at(document, `components.schemas.${kind.kind}Patch.properties.spec`);
    t.true(isNode(spec), kind.kind);
    t.deepEqual(stubborn(spec, 'spec'), [], kind.kind);
  }
});
