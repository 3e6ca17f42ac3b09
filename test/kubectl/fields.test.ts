/** Each field of each kind by kubectl's own rule and, for the deepest, by kubectl; and what is in each category. */
import test from 'ava';
import { groupVersionDocument } from '../../http/openapi/document.js';
import { isNode, schemaOf, type Node } from '../../http/openapi/schema.js';
import { API_GROUP } from '../../src/brand.js';
import { metadataSchema } from '../../src/api/metadata.js';
import { KINDS } from '../../src/kinds/index.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import { kubectlWith, missingKubectl } from '../e2e/kubectl.js';
import { shareRunning } from '../e2e/running.js';
import { amount } from '../support/extent.js';
import { explain } from './rule.js';

const missing = missingKubectl();
const kube = missing === undefined ? test.serial : test.serial.skip;
const title = (name: string): string => (missing === undefined ? name : `${name} (${missing})`);

const ALTERNATIVES = ['allOf', 'oneOf', 'anyOf'] as const;
/** Any JSON may stand here: there is no type to tell. */
const ANY = new Set(['description', 'default', 'nullable', 'x-immutable']);

interface Field {
  readonly path: readonly string[];
  readonly any: boolean;
}

/** Every named field below a schema, whatever lists, maps and alternatives it hides in. */
function fieldsOf(schema: unknown, above: readonly string[]): readonly Field[] {
  if (!isNode(schema)) return [];
  const { items, additionalProperties, properties } = schema;
  const options = ALTERNATIVES.flatMap((word) => (Array.isArray(schema[word]) ? schema[word] : []));
  return [
    ...[items, additionalProperties, ...options].flatMap((below) => fieldsOf(below, above)),
    ...Object.entries(isNode(properties) ? properties : {}).flatMap(([name, field]) => {
      const path = [...above, name];
      const any = isNode(field) && Object.keys(field).every((key) => ANY.has(key));
      return [{ path, any }, ...fieldsOf(field, path)];
    }),
  ];
}

function everyField(kind: KindDefinition): readonly Field[] {
  const top = ['apiVersion', 'kind', 'metadata', 'spec', 'status'].map((name) => ({ path: [name], any: false }));
  return [
    ...top,
    ...fieldsOf(schemaOf(metadataSchema), ['metadata']),
    ...fieldsOf(schemaOf(kind.schema.spec), ['spec']),
    ...fieldsOf(schemaOf(kind.schema.status), ['status']),
  ];
}

/** Fields of each kind that kubectl itself is asked about. */
const EXPLAINED = amount('EXPLAINED_FIELDS', 1, 2);

/** What `kubectl get <category>` shows. `all` is the work itself, not what it is made of. */
const CATEGORIES: Readonly<Record<string, readonly string[]>> = {
  all: [
    'agentgroups',
    'agentruns',
    'apps',
    'functions',
    'inferenceendpoints',
    'jobs',
    'pipelines',
    'sandboxes',
    'sweeps',
    'trainingjobs',
    'workspaces',
  ],
  access: ['apikeys', 'members', 'serviceaccounts'],
  billing: ['budgets', 'creditgrants', 'topups'],
  catalog: ['environments', 'images', 'models', 'offerings', 'trainingruntimes'],
  fleet: ['cloudaccounts', 'enrollmenttokens', 'nodes', 'poolactions', 'pools'],
};

const FACTS = { title: 'test', version: '1', group: API_GROUP, kinds: KINDS };
const documents = new Map<string, Node>();

function documentOf({ group, version }: KindDefinition): Node {
  const key = `${group}/${version}`;
  const document = documents.get(key) ?? groupVersionDocument(FACTS, group, version);
  documents.set(key, document);
  return document;
}

for (const kind of KINDS) {
  test(`explain finds every field of ${kind.kind}, with its type and a sentence`, (t) => {
    const resource = { group: kind.group === 'core' ? '' : API_GROUP, version: kind.version, plural: kind.plural };
    const lacking: string[] = [];
    const fields = everyField(kind);
    for (const { path, any } of fields) {
      const said = explain(documentOf(kind), resource, path);
      if (said === undefined) lacking.push(`${path.join('.')}: not found`);
      else if (said.description === '') lacking.push(`${path.join('.')}: no description`);
      else if (said.type === '' && !any) lacking.push(`${path.join('.')}: no type`);
    }
    t.deepEqual(lacking, []);
    t.true(fields.length > 20);
  });
}

/** The deepest fields, longest paths first. */
function deepest(kind: KindDefinition, most: number): readonly (readonly string[])[] {
  const paths = everyField(kind)
    .filter(({ path: [top] }) => top === 'spec' || top === 'status')
    .map(({ path }) => path);
  return paths.toSorted((a, b) => b.length - a.length).slice(0, most);
}

kube(title('the deepest fields, api-resources and the categories are as the kinds declare them'), async (t) => {
  t.timeout(240_000);
  const service = await shareRunning(t, { env: { TROUPE_COMPUTE: 'off' } });
  const kubectl = kubectlWith(service.kubeconfig);
  const good = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await kubectl.run(args);
    t.is(code, 0, `kubectl ${args.join(' ')}: ${stderr}`);
    return stdout;
  };

  const resources = await good('api-resources', '-o', 'wide', '--no-headers');
  for (const { kind, plural, scope, version, group, shortNames, categories } of KINDS) {
    const apiVersion = group === 'core' ? version : `${API_GROUP}/${version}`;
    const row = resources.split('\n').find((line) => line.startsWith(`${plural} `));
    t.truthy(row, plural);
    for (const word of [apiVersion, String(scope === 'project'), kind]) t.true(row?.split(/\s+/).includes(word), row);
    for (const word of [shortNames.join(','), categories.join(',')]) t.true(row?.includes(word), row);
  }

  for (const kind of KINDS) {
    const api = kind.group === 'core' ? kind.version : `${API_GROUP}/${kind.version}`;
    for (const path of deepest(kind, EXPLAINED)) {
      const said = await good('explain', `--api-version=${api}`, [kind.plural, ...path].join('.'));
      t.regex(said, new RegExp(`^FIELD: ${path.at(-1)} <.+>$`, 'm'), path.join('.'));
      t.notRegex(said, /<empty>/, path.join('.'));
    }
  }
  t.true((await good('explain', 'jobs', '--recursive')).includes('secretKeyRef'));

  const asked = new Map(
    await Promise.all(
      [...new Set(KINDS.flatMap(({ categories }) => categories))].map(async (category) => {
        const listed = await good('api-resources', '--categories', category, '-o', 'name');
        await good('get', category, '-A');
        return [category, listed.split('\n').filter((line) => line !== '')] as const;
      }),
    ),
  );
  for (const [category, plurals] of Object.entries(CATEGORIES)) {
    const names = plurals.map((plural) => `${plural}.${API_GROUP}`);
    t.deepEqual(asked.get(category)?.toSorted(), names.toSorted(), category);
    asked.delete(category);
  }
  t.deepEqual([...asked.keys()], [], 'categories that nobody has said the kinds of');
});
