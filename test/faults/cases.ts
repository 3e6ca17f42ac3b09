/** The table of requests that are wrong, and what each is answered. */
import { API_VERSION, objectOf, path, type Ask } from '../e2e/client.js';

/** Nobody else writes there. */
export const PROJECT = 'malformed';
export const COLLECTION = path('serviceaccounts', PROJECT);
export const SECRETS = path('secrets', PROJECT);
export const JOBS = path('jobs', PROJECT);

export interface Case {
  readonly name: string;
  readonly method?: string;
  readonly to?: string;
  readonly ask?: Ask;
  readonly status: number | readonly number[];
  readonly reason?: string;
}

const body = (object: unknown): Ask => ({ body: object });
const raw = (text: string | Uint8Array, contentType = 'application/json'): Ask => ({ raw: text, contentType });
const account = (name: string, spec: unknown = {}, metadata: object = {}): unknown =>
  objectOf('ServiceAccount', name, spec, metadata);
const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

export const CASES: readonly Case[] = [
  { name: 'no body', status: 400, reason: 'BadRequest', ask: raw('') },
  { name: 'half a JSON body', status: 400, reason: 'BadRequest', ask: raw('{"kind":"ServiceAccount"') },
  { name: 'a JSON array', status: 400, reason: 'BadRequest', ask: body([]) },
  { name: 'a JSON string', status: 400, reason: 'BadRequest', ask: body('x') },
  { name: 'JSON null', status: 400, reason: 'BadRequest', ask: raw('null') },
  {
    name: 'bytes that are no UTF-8',
    status: 400,
    reason: 'BadRequest',
    ask: raw(Buffer.from([0x7b, 0xff, 0xfe, 0x7d])),
  },
  { name: 'a body nested 100,000 deep', status: [400, 422], ask: raw(nested(100_000)) },
  {
    name: 'a spec nested 5,000 deep',
    status: [201, 400, 422],
    ask: raw(
      `{"apiVersion":"${API_VERSION}","kind":"ServiceAccount","metadata":{"name":"deep"},"spec":{"x":${nested(5000)}}}`,
    ),
  },
  { name: 'YAML that is no YAML', status: 400, reason: 'BadRequest', ask: raw('a: [b\n: c', 'application/yaml') },
  {
    name: 'a YAML bomb',
    status: [400, 422, 413],
    ask: raw(
      `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghij'
        .split('')
        .map((l, i) => `${l}: &${l} [${Array(9).fill(`*${'abcdefghi'[i]}`).join()}]`)
        .join('\n')}`,
      'application/yaml',
    ),
  },
  { name: 'text/plain', status: 415, reason: 'UnsupportedMediaType', ask: raw('{}', 'text/plain') },
  {
    name: 'a body of 4 MiB',
    status: 413,
    reason: 'RequestEntityTooLarge',
    ask: raw(`{"spec":{"description":"${'x'.repeat(4 * 2 ** 20)}"}}`),
  },
  { name: 'a wrong kind', status: [400, 422], ask: body({ ...objectOf('Job', 'x', {}) }) },
  {
    name: 'a wrong apiVersion',
    status: [400, 422],
    ask: body({ apiVersion: 'apps/v1', kind: 'ServiceAccount', metadata: { name: 'x' } }),
  },
  { name: 'no name', status: [400, 422], ask: body({ apiVersion: API_VERSION, kind: 'ServiceAccount', metadata: {} }) },
  {
    name: 'metadata that is a number',
    status: [400, 422],
    ask: body({ apiVersion: API_VERSION, kind: 'ServiceAccount', metadata: 5 }),
  },
  {
    name: 'a name that is a number',
    status: [400, 422],
    ask: body({ apiVersion: API_VERSION, kind: 'ServiceAccount', metadata: { name: 5 } }),
  },
  { name: 'a name of 254 characters', status: 422, reason: 'Invalid', ask: body(account('x'.repeat(254))) },
  { name: 'a name with a slash', status: 422, reason: 'Invalid', ask: body(account('a/b')) },
  { name: 'a name with ..', status: 422, reason: 'Invalid', ask: body(account('../../etc/passwd')) },
  { name: 'a name in capitals', status: 422, reason: 'Invalid', ask: body(account('UPPER')) },
  { name: 'a name with NUL', status: [400, 422], ask: body(account('a\0b')) },
  { name: 'another project in the body', status: [400, 422], ask: body(account('x', {}, { namespace: 'other' })) },
  { name: 'spec of a wrong type', status: 422, reason: 'Invalid', ask: body(account('x', 'text')) },
  {
    name: 'a field of a wrong type',
    status: 422,
    reason: 'Invalid',
    ask: body(account('x', { description: { a: 1 } })),
  },
  {
    name: 'a list where a text should be',
    status: 422,
    reason: 'Invalid',
    ask: body(account('x', { description: ['a'] })),
  },
  { name: 'scopes that are none', status: 422, reason: 'Invalid', ask: body(account('x', { scopes: ['jobs:fly'] })) },
  {
    name: 'a label value of 64 characters',
    status: 422,
    reason: 'Invalid',
    ask: body(account('x', {}, { labels: { a: 'x'.repeat(64) } })),
  },
  { name: 'a label that is a number', status: [400, 422], ask: body(account('x', {}, { labels: { a: 5 } })) },
  {
    name: 'annotations of 300 KiB',
    status: 422,
    reason: 'Invalid',
    ask: body(account('x', {}, { annotations: { a: 'x'.repeat(300 * 1024) } })),
  },
  {
    name: 'an owner without a uid',
    status: 422,
    reason: 'Invalid',
    ask: body(account('x', {}, { ownerReferences: [{ kind: 'Job' }] })),
  },
  { name: 'a NUL in a text', status: [201, 400, 422], ask: body(account('with-nul', { description: 'a\0b' })) },
  {
    name: 'a lone surrogate in a text',
    status: [400, 422],
    ask: raw(
      `{"apiVersion":"${API_VERSION}","kind":"ServiceAccount","metadata":{"name":"lone"},"spec":{"description":"\\ud800"}}`,
    ),
  },
  {
    name: 'a lone surrogate in a key',
    status: [400, 422],
    ask: raw(
      `{"apiVersion":"${API_VERSION}","kind":"ServiceAccount","metadata":{"name":"lone","annotations":{"\\udfff":"x"}}}`,
    ),
  },
  {
    name: 'an unknown field under Strict',
    to: `${COLLECTION}?fieldValidation=Strict`,
    status: 422,
    reason: 'Invalid',
    ask: body(account('x', { nothing: 1 })),
  },
  {
    name: '__proto__ under Strict',
    to: `${COLLECTION}?fieldValidation=Strict`,
    status: [400, 422],
    ask: raw(
      `{"apiVersion":"${API_VERSION}","kind":"ServiceAccount","metadata":{"name":"x"},"spec":{"__proto__":{"scopes":["*:*"]}}}`,
    ),
  },
  {
    name: 'a member twice under Strict',
    to: `${COLLECTION}?fieldValidation=Strict`,
    status: [400, 422],
    ask: raw(
      `{"apiVersion":"${API_VERSION}","kind":"ServiceAccount","metadata":{"name":"x"},"spec":{"description":"a","description":"b"}}`,
    ),
  },
  {
    name: 'an unknown fieldValidation',
    to: `${COLLECTION}?fieldValidation=Perhaps`,
    status: [400, 422],
    ask: body(account('x')),
  },
  { name: 'an unknown dryRun', to: `${COLLECTION}?dryRun=Some`, status: [400, 422], ask: body(account('x')) },
  {
    name: 'an unknown project',
    to: path('serviceaccounts', 'nowhere'),
    status: 404,
    reason: 'NotFound',
    ask: body(account('x')),
  },
  {
    name: 'a project name that is none',
    to: path('serviceaccounts', 'NO..WHERE'),
    status: [400, 404, 422],
    ask: body(account('x')),
  },
  {
    name: 'the catalog project',
    to: path('serviceaccounts', 'svc'),
    status: 405,
    reason: 'MethodNotAllowed',
    ask: body(account('x')),
  },
  {
    name: 'an Idempotency-Key of 10,000 characters',
    status: [201, 400, 422],
    ask: { body: account('long-key'), headers: { 'idempotency-key': 'k'.repeat(10_000) } },
  },

  { name: 'an absent kind', method: 'GET', to: path('dragons', 'default'), status: 404, reason: 'NotFound' },
  { name: 'an absent group', method: 'GET', to: '/apis/nothing.example/v1/jobs', status: 404, reason: 'NotFound' },
  { name: 'an absent version', method: 'GET', to: '/apis/svc.dev/v9/jobs', status: 404, reason: 'NotFound' },
  {
    name: 'a plural that every object has',
    method: 'GET',
    to: path('constructor', 'default'),
    status: 404,
    reason: 'NotFound',
  },
  { name: '__proto__ for a plural', method: 'GET', to: path('__proto__', 'default'), status: 404, reason: 'NotFound' },
  { name: 'an absent object', method: 'GET', to: `${COLLECTION}/absent`, status: 404, reason: 'NotFound' },
  { name: 'an encoded slash in a name', method: 'GET', to: `${COLLECTION}/..%2f..%2fetc%2fpasswd`, status: [400, 404] },
  { name: 'a broken escape in a name', method: 'GET', to: `${COLLECTION}/%zz`, status: [400, 404] },
  { name: 'an encoded NUL in a name', method: 'GET', to: `${COLLECTION}/a%00b`, status: [400, 404] },
  {
    name: 'a name of 20,000 characters',
    method: 'GET',
    to: `${COLLECTION}/${'x'.repeat(15_000)}`,
    status: [400, 404, 414, 431],
  },
  {
    name: 'a bad label selector',
    method: 'GET',
    to: `${COLLECTION}?labelSelector=a%20in%20(`,
    status: 400,
    reason: 'BadRequest',
  },
  {
    name: 'a field selector that is not offered',
    method: 'GET',
    to: `${COLLECTION}?fieldSelector=spec.nothing%3D1`,
    status: 400,
    reason: 'BadRequest',
  },
  { name: 'a negative limit', method: 'GET', to: `${COLLECTION}?limit=-1`, status: 400, reason: 'BadRequest' },
  {
    name: 'a limit that is no number',
    method: 'GET',
    to: `${COLLECTION}?limit=many`,
    status: 400,
    reason: 'BadRequest',
  },
  {
    name: 'a continue token of somebody else',
    method: 'GET',
    to: `${COLLECTION}?limit=1&continue=nonsense`,
    status: [400, 410],
  },
  {
    name: 'a version that is no number',
    method: 'GET',
    to: `${COLLECTION}?resourceVersion=x`,
    status: [400, 422],
  },
  {
    name: 'a watch from a version that is no number',
    method: 'GET',
    to: `${COLLECTION}?watch=true&resourceVersion=x`,
    status: [400, 422],
  },
  {
    name: 'a timeout that is no number',
    method: 'GET',
    to: `${COLLECTION}?watch=true&timeoutSeconds=x`,
    status: 400,
    reason: 'BadRequest',
  },
  { name: 'a method that is not there', method: 'POST', to: `${COLLECTION}/there`, status: [404, 405], ask: body({}) },
  {
    name: 'a write to a read-only kind',
    method: 'POST',
    to: path('offerings', ''),
    status: 405,
    reason: 'MethodNotAllowed',
    ask: body(objectOf('Offering', 'x', {})),
  },

  {
    name: 'a PUT with an old version',
    method: 'PUT',
    to: `${COLLECTION}/there`,
    status: 409,
    reason: 'Conflict',
    ask: body(account('there', {}, { resourceVersion: '1' })),
  },
  {
    name: 'a PUT with another name',
    method: 'PUT',
    to: `${COLLECTION}/there`,
    status: [400, 422],
    ask: body(account('elsewhere')),
  },
  {
    name: 'a PUT to an absent object',
    method: 'PUT',
    to: `${COLLECTION}/absent`,
    status: 404,
    reason: 'NotFound',
    ask: body(account('absent')),
  },
  {
    name: 'an If-Match that is not current',
    method: 'PUT',
    to: `${COLLECTION}/there`,
    status: 412,
    reason: 'PreconditionFailed',
    ask: { body: account('there'), headers: { 'if-match': '"1"' } },
  },
  {
    name: 'a strategic merge patch',
    method: 'PATCH',
    to: `${COLLECTION}/there`,
    status: 415,
    reason: 'UnsupportedMediaType',
    ask: raw('{}', 'application/strategic-merge-patch+json'),
  },
  {
    name: 'a patch without a content type',
    method: 'PATCH',
    to: `${COLLECTION}/there`,
    status: 415,
    reason: 'UnsupportedMediaType',
    ask: raw('{}', 'application/json'),
  },
  {
    name: 'a merge patch that is a list',
    method: 'PATCH',
    to: `${COLLECTION}/there`,
    status: [400, 422],
    ask: raw('[1]', 'application/merge-patch+json'),
  },
  {
    name: 'a JSON patch that is no list',
    method: 'PATCH',
    to: `${COLLECTION}/there`,
    status: [400, 422],
    ask: raw('{}', 'application/json-patch+json'),
  },
  {
    name: 'a JSON patch of what is not there',
    method: 'PATCH',
    to: `${COLLECTION}/there`,
    status: [400, 409, 422],
    ask: raw('[{"op":"remove","path":"/spec/nothing"}]', 'application/json-patch+json'),
  },
  {
    name: 'a JSON patch with a failing test',
    method: 'PATCH',
    to: `${COLLECTION}/there`,
    status: [400, 409, 422],
    ask: raw('[{"op":"test","path":"/spec/description","value":"x"}]', 'application/json-patch+json'),
  },
  {
    name: 'a JSON patch through __proto__',
    method: 'PATCH',
    to: `${COLLECTION}/there`,
    status: [200, 400, 422],
    ask: raw('[{"op":"add","path":"/__proto__/polluted","value":1}]', 'application/json-patch+json'),
  },
  {
    name: 'a merge patch of the name',
    method: 'PATCH',
    to: `${COLLECTION}/there`,
    status: [400, 422],
    ask: raw('{"metadata":{"name":"other"}}', 'application/merge-patch+json'),
  },
  {
    name: 'a merge patch that takes the metadata away',
    method: 'PATCH',
    to: `${COLLECTION}/there`,
    status: [200, 400, 422],
    ask: raw('{"metadata":null}', 'application/merge-patch+json'),
  },
  {
    name: 'a delete with a wrong uid',
    method: 'DELETE',
    to: `${COLLECTION}/there`,
    status: 409,
    reason: 'Conflict',
    ask: body({ preconditions: { uid: 'another' } }),
  },
  {
    name: 'a delete with nonsense for options',
    method: 'DELETE',
    to: `${COLLECTION}/there`,
    status: [400, 422],
    ask: raw('nonsense'),
  },
  {
    name: 'a delete of an absent object',
    method: 'DELETE',
    to: `${COLLECTION}/absent`,
    status: 404,
    reason: 'NotFound',
  },

  {
    name: 'a Secret with data that is no base64',
    to: SECRETS,
    status: 422,
    reason: 'Invalid',
    ask: body(objectOf('Secret', 'x', { data: { A: 'hunter2!' } })),
  },
  {
    name: 'a Secret whose values are a text',
    to: SECRETS,
    status: 422,
    reason: 'Invalid',
    ask: body(objectOf('Secret', 'x', { stringData: 'hunter2!' })),
  },
  {
    name: 'a Secret with a value that is a number',
    to: SECRETS,
    status: 422,
    reason: 'Invalid',
    ask: body(objectOf('Secret', 'x', { stringData: { A: 12345678 } })),
  },
  {
    name: 'a Secret with a key that climbs',
    to: SECRETS,
    status: 422,
    reason: 'Invalid',
    ask: body(objectOf('Secret', 'x', { stringData: { '../../etc/cron.d/x': 'hunter2!' } })),
  },
  {
    name: 'a Secret of more than 1 MiB',
    to: SECRETS,
    status: 422,
    reason: 'Invalid',
    ask: body(objectOf('Secret', 'x', { stringData: { A: 'x'.repeat(1_100_000) } })),
  },
  {
    name: 'a Job with a catalog image that is not there',
    to: JOBS,
    status: 422,
    reason: 'Invalid',
    ask: body(objectOf('Job', 'x', { image: 'svc/nothing', command: ['true'] })),
  },
  {
    name: 'a Job with an image of another registry, which comes later',
    to: JOBS,
    status: 501,
    reason: 'Unsupported',
    ask: body(objectOf('Job', 'x', { image: 'docker.io/library/debian', command: ['true'] })),
  },
  {
    name: 'a Job with 10,001 completions',
    to: JOBS,
    status: 422,
    reason: 'Invalid',
    ask: body(objectOf('Job', 'x', { command: ['true'], completions: 10_001 })),
  },
  {
    name: 'a Job with a field of a later release',
    to: JOBS,
    status: 501,
    reason: 'Unsupported',
    ask: body(objectOf('Job', 'x', { command: ['true'], volumes: [{ volume: 'v', mountPath: '/data' }] })),
  },
  {
    name: 'a Job with a reserved variable',
    to: JOBS,
    status: 422,
    reason: 'Invalid',
    ask: body(objectOf('Job', 'x', { command: ['true'], env: [{ name: 'SVC_INDEX', value: '1' }] })),
  },

  { name: 'no key', method: 'GET', status: 401, reason: 'Unauthorized', ask: { key: null } },
  { name: 'a wrong key', method: 'GET', status: 401, reason: 'Unauthorized', ask: { key: `svc_${'A'.repeat(43)}` } },
  {
    name: 'a key with strange characters',
    method: 'GET',
    status: 401,
    reason: 'Unauthorized',
    ask: { key: 'a b "c"' },
  },
  {
    name: 'another scheme',
    method: 'GET',
    status: 401,
    reason: 'Unauthorized',
    ask: { key: null, headers: { authorization: 'Basic YTpi' } },
  },
];
