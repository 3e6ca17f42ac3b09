/** Every list and map that a client may write has a bound, and what is beyond it is refused before its elements are read. */
import test from 'ava';
import { z } from 'zod';
import { metadataInput } from '../../src/api/metadata.js';
import { zMap } from '../../src/api/schema.js';
import { compileShape } from '../../src/api/shape.js';
import { tooMany } from '../../src/api/sizes.js';
import { KINDS } from '../../src/kinds/index.js';
import { readMetadata, readSpec } from '../../src/kinds/write/validate.js';

/** Members of metadata that a client may send back as it read them: nothing looks inside. */
const IGNORED = /^metadata\.(?:uid|selfLink|generation|\w+Timestamp|deletionGracePeriodSeconds|managedFields)$/;

interface Def {
  readonly type: string;
  readonly [member: string]: unknown;
}

function defOf(schema: unknown): Def {
  return (schema as { readonly def: Def }).def;
}

/** Paths of lists and maps that may have any number of elements, and of free JSON that nothing bounds. */
function boundless(schema: unknown, path: string): string[] {
  const def = defOf(schema);
  const checks = (def['checks'] ?? []) as readonly { readonly _zod: { readonly def: { readonly check: string } } }[];
  switch (def.type) {
    case 'array': {
      // oxlint-disable-next-line no-underscore-dangle -- zod's own name
      const bound = checks.some((check) => check._zod.def.check === 'max_length');
      return [...(bound ? [] : [`${path}[]`]), ...boundless(def['element'], `${path}[]`)];
    }
    case 'record': {
      const bound = typeof z.globalRegistry.get(schema as z.ZodType)?.['maxProperties'] === 'number';
      // Values of free JSON are bounded by the bytes of the whole map.
      const free = defOf(def['valueType']).type === 'unknown' && checks.length > 1;
      return [...(bound ? [] : [`${path}{}`]), ...(free ? [] : boundless(def['valueType'], `${path}{}`))];
    }
    case 'object':
      return Object.entries(def['shape'] as object).flatMap(([key, member]) => boundless(member, `${path}.${key}`));
    case 'union':
      return (def['options'] as readonly unknown[]).flatMap((option) => boundless(option, path));
    case 'pipe':
      return [...boundless(def['in'], path), ...boundless(def['out'], path)];
    case 'lazy':
      throw new Error(`${path}: a schema that contains itself has no bound of depth here`);
    case 'unknown':
    case 'any':
      return checks.length > 0 ? [] : [path];
    default:
      return def['innerType'] === undefined ? [] : boundless(def['innerType'], path);
  }
}

test('every list, map and free value that a client may write has a bound', (t) => {
  t.deepEqual(
    KINDS.flatMap((kind) => boundless(kind.schema.spec, kind.kind)),
    [],
  );
  t.deepEqual(
    boundless(metadataInput, 'metadata').filter((path) => !IGNORED.test(path)),
    [],
  );
});

test('what is too long is refused with one cause, and none of its elements is read', (t) => {
  let read = 0;
  const element = new Proxy({}, { get: () => ((read += 1), 1), ownKeys: () => ((read += 1), []) });
  const shape = compileShape(
    z.object({
      list: z.array(z.object({ a: z.string() })).max(3),
      map: zMap(z.string(), z.string(), 2).optional(),
      nested: z.array(z.object({ names: z.array(z.string()).max(2) })).max(3),
      either: z.union([z.string(), z.array(z.string()).max(1)]),
    }),
  );
  t.deepEqual(
    tooMany(
      shape,
      {
        list: Array.from({ length: 100_000 }, () => element),
        nested: [{ names: ['a', 'b', 'c'] }],
        map: { a: '1', b: '2', c: '3' },
        either: ['a', 'b'],
      },
      'spec',
    ),
    [
      ['spec.list', '100000: must have at most 3 items'],
      ['spec.nested[0].names', '3: must have at most 2 items'],
      ['spec.map', 'must have at most 2 items'],
      ['spec.either', '2: must have at most 1 item'],
    ].map(([field, rule]) => ({ field, reason: 'FieldValueTooMany', message: `Too many: ${rule}` })),
  );
  t.is(read, 0);
  t.deepEqual(tooMany(shape, { list: [{}, {}, {}], map: { a: '1', b: '2' }, either: 'text', nested: null }), []);
});

test('60,000 variables and 150,000 labels are refused, as are more than 256 KiB of labels and annotations together', (t) => {
  const job = KINDS.find((kind) => kind.kind === 'Job');
  if (job === undefined) return t.fail();
  const complaints = { causes: [], unknown: [] };
  const env = Array.from({ length: 60_000 }, (_, i) => ({ name: `A${i}`, value: '' }));
  t.is(readSpec(job, { command: ['true'], env }, complaints), undefined);
  const map = (count: number, value: string) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, value]));
  t.is(readMetadata({ labels: map(150_000, '') }, complaints), undefined);
  const half = { labels: map(1000, 'v'.repeat(60)), annotations: { a: 'x'.repeat(200 * 1024) } };
  t.is(readMetadata(half, complaints), undefined);
  t.deepEqual(
    complaints.causes.map(({ field, reason }) => [field, reason]),
    [
      ['spec.env', 'FieldValueTooMany'],
      ['metadata.labels', 'FieldValueTooMany'],
      ['metadata.annotations', 'FieldValueTooLong'],
    ],
  );
  t.truthy(readMetadata({ ...half, labels: undefined }, complaints));
});
