/** The registry: every kind is complete and none collides, because everything generic is driven by it. */
import test from 'ava';
import { ORG_PLURALS, PROJECT_PLURALS } from '../../src/api/access/plurals.js';
import { isScope, scopeOf } from '../../src/api/access/scope.js';
import { isCatalogImage } from '../../src/kinds/image/catalog.js';
import { KINDS, kindByName, kindByPlural } from '../../src/kinds/index.js';
import { localOfferingSpec } from '../../src/kinds/offering/local.js';
import { offeringKind } from '../../src/kinds/offering/index.js';

test('kinds, plurals and short names are unique, so that kubectl finds one', (t) => {
  const names = KINDS.flatMap((kind) => [kind.plural, kind.singular, ...kind.shortNames]);
  t.is(new Set(names).size, names.length);
  t.is(new Set(KINDS.map((kind) => kind.kind)).size, KINDS.length);
});

test('every kind is found by its name and its plural', (t) => {
  for (const kind of KINDS) {
    t.is(kindByName(kind.kind), kind);
    t.is(kindByPlural(kind.group, kind.plural), kind);
  }
  t.is(kindByName('Nothing'), undefined);
  t.is(kindByPlural('api', 'namespaces'), undefined);
  t.is(kindByPlural('core', 'jobs'), undefined);
  t.is(kindByPlural('api', '__proto__'), undefined);
});

for (const kind of KINDS) {
  test(`${kind.kind} is declared in the list of plurals, at its level, with scopes that exist`, (t) => {
    const plurals: readonly string[] = kind.scope === 'org' ? ORG_PLURALS : PROJECT_PLURALS;
    t.true(plurals.includes(kind.plural));
    t.true(isScope(scopeOf(kind.plural, 'write')));
    for (const action of kind.actions ?? []) t.true(isScope(action.scope), action.path);
  });

  test(`${kind.kind} describes itself and its columns`, (t) => {
    t.regex(kind.description, /\.$/);
    for (const column of kind.columns) t.regex(column.description, /\.$/, column.name);
  });

  test(`${kind.kind} shows every column of an object that has nothing but what it must`, (t) => {
    const object = {
      apiVersion: 'v1',
      kind: kind.kind,
      metadata: { name: 'one', uid: 'u', generation: 1, creationTimestamp: '2026-01-02T03:04:05Z' },
      spec: kind.schema.spec.safeParse({}).data ?? {},
      status: {},
    };
    const born = { ...object, status: kind.initialStatus(object) };
    for (const column of kind.columns) t.notThrows(() => column.cell(born), column.name);
    for (const read of Object.values(kind.selectableFields)) t.notThrows(() => read(born));
  });
}

test('catalog images have full names', (t) => {
  t.true(isCatalogImage('svc/agent-tools'));
  for (const name of [
    'agent-tools',
    'svc/',
    'svc/nothing',
    'docker.io/svc/agent-tools',
    'svc/agent-tools:latest',
    '__proto__',
  ]) {
    t.false(isCatalogImage(name), name);
  }
});

test("this machine's capacity is a valid Offering", (t) => {
  const spec = localOfferingSpec({ milliCpu: 1500, memory: 8 * 2 ** 30, disk: 10 * 2 ** 30 });
  t.deepEqual(offeringKind.schema.spec.parse(spec), spec);
  t.like(spec, { host: { cpu: '1500m', memory: '8Gi', disk: '10Gi' } });
});
