/** Discovery and OpenAPI: what clients read before they do anything. */
import test from 'ava';
import { API_GROUP } from '../../src/brand.js';
import { KINDS } from '../../src/kinds/index.js';
import { openTestApi } from './support/test-api.js';
import { at, json, list, text } from './support/json.js';

const AGGREGATED = (version: string): string =>
  `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;

test('discovery names every kind with its verbs, in the old shape and in the aggregated one', async (t) => {
  const api = await openTestApi(t);
  t.deepEqual(at(await json(api.call('/api')), 'versions'), ['v1']);
  t.is(at(await json(api.call('/apis')), 'groups.0.name'), API_GROUP);
  t.is(at(await json(api.call(`/apis/${API_GROUP}`)), 'preferredVersion.version'), 'v1');
  const core = list(await json(api.call('/api/v1')), 'resources').map((resource) => text(resource, 'name'));
  const own = list(await json(api.call(`/apis/${API_GROUP}/v1`)), 'resources').map((resource) =>
    text(resource, 'name'),
  );
  for (const kind of KINDS.filter(({ version }) => version === 'v1')) {
    t.true((kind.group === 'core' ? core : own).includes(kind.plural), kind.kind);
  }
  for (const version of ['v2', 'v2beta1']) {
    const answer = await api.call('/apis', { headers: { accept: `${AGGREGATED(version)},application/json` } });
    t.is(answer.headers.get('content-type'), AGGREGATED(version));
    const found = list(await json(answer), 'items.0.versions.0.resources').map((resource) =>
      text(resource, 'resource'),
    );
    t.true(found.includes('jobs'));
  }
  const job = list(await json(api.call(`/apis/${API_GROUP}/v1`)), 'resources').find(
    (resource) => at(resource, 'name') === 'jobs',
  );
  t.deepEqual(at(job, 'verbs'), ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']);
  t.is((await api.call('/apis/other.dev')).status, 404);
});

function references(node: unknown, found: Set<string>): Set<string> {
  if (Array.isArray(node)) for (const element of node) references(element, found);
  else if (typeof node === 'object' && node !== null) {
    for (const [key, value] of Object.entries(node)) {
      if (key === '$ref' && typeof value === 'string') found.add(value);
      else references(value, found);
    }
  }
  return found;
}

test('the OpenAPI documents are whole: every reference leads somewhere, every operation has its own id', async (t) => {
  const api = await openTestApi(t);
  const index = await json(api.call('/openapi/v3'));
  const paths = Object.values(Object(at(index, 'paths'))).map((entry) => text(entry, 'serverRelativeURL'));
  t.is(paths.length, 3); // core, v1 and v1beta1
  for (const path of ['/openapi.json', ...paths]) {
    const document = await json(api.call(path));
    t.is(at(document, 'openapi'), '3.0.3');
    for (const reference of references(document, new Set())) {
      t.truthy(at(document, reference.slice(2).replaceAll('/', '.')), `${path} ${reference}`);
    }
    const ids: string[] = [];
    for (const item of Object.values(Object(at(document, 'paths')))) {
      for (const operation of Object.values(Object(item))) {
        const id = at(operation, 'operationId');
        if (typeof id === 'string') ids.push(id);
      }
    }
    t.deepEqual(ids.length, new Set(ids).size, path);
  }
});

test('kubectl finds what it needs for apply: the kind on the patch, with fieldValidation', async (t) => {
  const api = await openTestApi(t);
  const document = await json(api.call(`/openapi/v3/apis/${API_GROUP}/v1`));
  const paths: object = Object(at(document, 'paths'));
  const patch = at(Reflect.get(paths, `/apis/${API_GROUP}/v1/namespaces/{namespace}/jobs/{name}`), 'patch');
  t.deepEqual(at(patch, 'x-kubernetes-group-version-kind'), { group: API_GROUP, version: 'v1', kind: 'Job' });
  t.true(list(patch, 'parameters').some((parameter) => at(parameter, 'name') === 'fieldValidation'));
  t.deepEqual(at(document, 'components.schemas.Job.x-kubernetes-group-version-kind.0.kind'), 'Job');
});

test('a document that has not changed is 304', async (t) => {
  const api = await openTestApi(t);
  const plain = { 'accept-encoding': 'identity' };
  const tag = (await api.call('/openapi.json', { headers: plain })).headers.get('etag') ?? '';
  const packed = await api.call('/openapi.json', { headers: { 'accept-encoding': 'gzip' } });
  t.is(packed.headers.get('content-encoding'), 'gzip');
  t.is(packed.headers.get('etag'), `W/${tag}`);
  for (const known of [tag, `W/${tag}`, `"other", ${tag}`]) {
    const again = await api.call('/openapi.json', { headers: { 'if-none-match': known } });
    t.is(again.status, 304, known);
    t.is(await again.text(), '');
  }
  t.is((await api.call('/openapi.json', { headers: { 'if-none-match': '"other"' } })).status, 200);
});

test('an address that names the hash may be kept for ever, one of another hash may not', async (t) => {
  const api = await openTestApi(t);
  const [part] = Object.values(Object(at(await json(api.call('/openapi/v3')), 'paths')));
  const address = text(part, 'serverRelativeURL');
  t.regex((await api.call(address)).headers.get('cache-control') ?? '', /immutable/);
  const older = await api.call(address.replace(/hash=\w+/, 'hash=ABC'));
  t.is(older.status, 200);
  t.regex(older.headers.get('cache-control') ?? '', /max-age=0/);
});
