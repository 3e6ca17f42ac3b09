/** The generic routes over a real server: what a client sees of objects. */
import test from 'ava';
import { API_GROUP } from '../../src/brand.js';
import { openDoor } from './support/door.js';

const SECRETS = `/apis/${API_GROUP}/v1/namespaces/default/secrets`;
const body = (name: string, spec: object = {}): string =>
  JSON.stringify({ apiVersion: `${API_GROUP}/v1`, kind: 'Secret', metadata: { name }, spec });
const post = (name: string, spec?: object): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: body(name, spec),
});

test('an object is created, read, changed and deleted, and each answer carries its version as ETag', async (t) => {
  const door = await openDoor(t);
  const created = await door.call(SECRETS, post('a'));
  t.is(created.status, 201);
  const object = (await created.json()) as { metadata: { resourceVersion: string; namespace: string } };
  t.is(created.headers.get('etag'), `"${object.metadata.resourceVersion}"`);
  t.is(object.metadata.namespace, 'default');

  for (let i = 0; i < 2; i++) {
    const read = await door.call(`${SECRETS}/a`);
    t.is(read.status, 200);
    t.is(read.headers.get('etag'), created.headers.get('etag'));
    t.truthy(read.headers.get('x-request-id'));
    t.deepEqual(await read.json(), object);
  }

  const patched = await door.call(`${SECRETS}/a`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/merge-patch+json', 'if-match': created.headers.get('etag') ?? '' },
    body: '{"metadata":{"labels":{"x":"y"}}}',
  });
  t.is(patched.status, 200);
  t.not(patched.headers.get('etag'), created.headers.get('etag'));

  t.is((await door.call(`${SECRETS}/a`, { method: 'DELETE' })).status, 200);
  const gone = await door.call(`${SECRETS}/a`);
  t.is(gone.status, 404);
  const status = (await gone.json()) as Record<string, unknown>;
  t.like(status, { kind: 'Status', reason: 'NotFound', code: 404 });
  t.truthy(status['requestId']);
  t.deepEqual(door.logged, []);
});
