/** Keys, tokens, members and orgs as their holders see them: what a key may do, when that ends, and what stays unseen. */
import test from 'ava';
import {
  API_VERSION,
  client as clientWith,
  listAt,
  objectOf,
  path,
  textAt,
  valueAt,
  type Client,
} from '../e2e/client.js';
import { shareRunning, type Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';

const KEYS = path('apikeys', '');
const MEMBERS = path('members', '');
const ACCOUNTS = path('serviceaccounts', 'default');

let service: Running;
let owner: Client;
test.before(async () => {
  service = await shareRunning(undefined, { env: { TROUPE_COMPUTE: 'off' } });
  owner = service.client();
});
test.after.always(async () => service?.close());

let count = 0;
/** A key made by `by` (the bootstrap Owner), with this spec. */
async function keyOf(spec: object, by: Client = owner): Promise<Client> {
  count += 1;
  const made = await by.post(KEYS, objectOf('APIKey', `key-${count}`, spec));
  if (made.status !== 201) throw new Error(`${made.status} ${made.text}`);
  return clientWith(service.url, textAt(made.body, 'status', 'key'));
}

async function memberWith(role: string, projects?: readonly string[]): Promise<{ name: string; key: Client }> {
  count += 1;
  const name = `member-${count}`;
  const made = await owner.post(MEMBERS, objectOf('Member', name, { email: `${name}@example.org`, role, projects }));
  if (made.status !== 201) throw new Error(`${made.status} ${made.text}`);
  return { name, key: await keyOf({ member: name }) };
}

test('the value of a key is shown once and never again', async (t) => {
  const made = await owner.post(KEYS, objectOf('APIKey', 'shown-once', {}));
  const value = textAt(made.body, 'status', 'key');
  t.regex(value, /^svc_[A-Za-z0-9_-]{43}$/);
  for (const route of [`${KEYS}/shown-once`, KEYS, `${KEYS}?watch=true&timeoutSeconds=1`]) {
    t.false((await owner.get(route)).text.includes(value), route);
  }
  const rehearsed = await owner.post(`${KEYS}?dryRun=All`, objectOf('APIKey', 'rehearsed', {}));
  t.is(textAt(rehearsed.body, 'status', 'key'), '', 'a dry run makes no key');
});

test('a repeated create with the same Idempotency-Key shows the same key', async (t) => {
  const headers = { 'idempotency-key': 'same-key' };
  const body = objectOf('APIKey', 'repeated', {});
  const first = await owner.post(KEYS, body, headers);
  const second = await owner.post(KEYS, body, headers);
  t.is(second.status, 201, second.text);
  t.is(second.headers.get('idempotency-replayed'), 'true');
  t.is(textAt(second.body, 'status', 'key'), textAt(first.body, 'status', 'key'));
  const other = await owner.post(KEYS, objectOf('APIKey', 'another', {}), headers);
  t.is(textAt(other.body, 'reason'), 'IdempotencyKeyReused');
});

test('a key does what its scopes say, in its projects, and is Forbidden the rest', async (t) => {
  t.is(
    (await owner.post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } }))
      .status,
    201,
  );
  const key = await keyOf({ scopes: ['serviceaccounts:*', 'jobs:read'], projects: ['default'] });
  t.is((await key.get(ACCOUNTS)).status, 200);
  t.is((await key.post(ACCOUNTS, objectOf('ServiceAccount', 'of-the-key', {}))).status, 201);
  t.is((await key.get(path('jobs', 'default'))).status, 200);
  t.is((await key.get(path('offerings', ''))).status, 403, 'offerings:read is not among its scopes');
  for (const [method, to] of [
    ['POST', path('jobs', 'default')],
    ['GET', path('secrets', 'default')],
    ['GET', path('serviceaccounts', 'other')],
    ['POST', path('serviceaccounts', 'other')],
    ['GET', MEMBERS],
    ['POST', KEYS],
    ['GET', '/ops/v1/supervisors'],
  ] as const) {
    const answer = await key.ask(method, to, method === 'POST' ? { body: objectOf('ServiceAccount', 'x', {}) } : {});
    t.is(answer.status, 403, `${method} ${to}: ${answer.text}`);
    t.is(textAt(answer.body, 'reason'), 'Forbidden');
  }
  const written = await key.post(path('serviceaccounts', 'svc'), objectOf('ServiceAccount', 'x', {}));
  t.is(written.status, 405, 'nobody writes into the catalog');
  const everywhere = await key.get(path('serviceaccounts', '').replace('//', '/'));
  t.is(everywhere.status, 200);
  t.false(everywhere.text.includes('"namespace":"other"'));
});

/** Less than the time after which every open stream is looked at anyway. */
const AT_ONCE_MS = 10_000;

/** A watch, and the wait for its end. */
async function openWatch({ key }: Client): Promise<() => Promise<boolean>> {
  const url = new URL(`${ACCOUNTS}?watch=true&timeoutSeconds=300`, service.url);
  const answer = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  if (answer.status !== 200) throw new Error(`the watch answered ${answer.status}`);
  let over = false;
  void answer
    .text()
    .catch(() => undefined)
    .then(() => (over = true));
  return () => until('the watch ends', () => over, AT_ONCE_MS);
}

test('a key that is deleted is Unauthorized at once', async (t) => {
  const made = await owner.post(KEYS, objectOf('APIKey', 'short-lived', {}));
  const key = clientWith(service.url, textAt(made.body, 'status', 'key'));
  t.is((await key.get(ACCOUNTS)).status, 200);
  const ends = await openWatch(key);
  t.is((await owner.remove(`${KEYS}/short-lived`)).status, 200);
  t.true(await ends(), 'what is open ends with it');
  t.is((await key.get(ACCOUNTS)).status, 401);
});

test('a key ends at its expirationTime', async (t) => {
  // Late enough that it is used and watched with before, also on a busy machine.
  const expirationTime = new Date(Math.ceil(Date.now() / 1000) * 1000 + 10_000).toISOString().replace('.000Z', 'Z');
  const key = await keyOf({ expirationTime });
  t.is((await key.get(ACCOUNTS)).status, 200);
  const ends = await openWatch(key);
  await until('it is refused', async () => (await key.get(ACCOUNTS)).status === 401, 60_000);
  t.true(Date.now() >= Date.parse(expirationTime));
  t.true(await ends(), 'what is open ends with it');
});

test('nothing that is made with a key that ends goes on after it', async (t) => {
  const expirationTime = new Date(Math.ceil(Date.now() / 1000) * 1000 + 600_000).toISOString().replace('.000Z', 'Z');
  const key = await keyOf({ expirationTime });
  for (const spec of [{}, { expirationTime: new Date(Date.now() + 3_600_000).toISOString() }]) {
    const refused = await key.post(KEYS, objectOf('APIKey', 'outlives', spec));
    t.is(refused.status, 422, refused.text);
    t.is(textAt(listAt(refused.body, 'details', 'causes')[0], 'field'), 'spec.expirationTime');
    t.true(textAt(refused.body, 'fix').includes(expirationTime), refused.text);
  }
  const child = await keyOf({ expirationTime }, key);
  t.is((await child.post(KEYS, objectOf('APIKey', 'outlives', {}))).status, 422, 'nor what its child makes');
  const token = await key.post(`${ACCOUNTS}/default/tokens`, { expiresIn: '1h' });
  t.is(token.status, 422, token.text);
  t.is(textAt(listAt(token.body, 'details', 'causes')[0], 'field'), 'expiresIn');
  t.is((await key.post(`${ACCOUNTS}/default/tokens`, { expiresIn: '5m' })).status, 201);
  const operating = await keyOf({ expirationTime, scopes: ['operator:*'] });
  t.is((await operating.post('/ops/v1/orgs/bootstrap/keys', {})).status, 403);
});

test('a key acts within the role its member has now', async (t) => {
  const { name, key } = await memberWith('Developer');
  t.is((await key.post(ACCOUNTS, objectOf('ServiceAccount', 'by-developer', {}))).status, 201);
  t.is((await key.get(MEMBERS)).status, 403);
  t.is((await owner.merge(`${MEMBERS}/${name}`, { spec: { role: 'Viewer' } })).status, 200);
  t.is((await key.post(ACCOUNTS, objectOf('ServiceAccount', 'by-viewer', {}))).status, 403);
  t.is((await key.get(MEMBERS)).status, 200);
  const ends = await openWatch(key);
  t.is((await owner.remove(`${MEMBERS}/${name}`)).status, 200);
  t.true([401, 403].includes((await key.get(MEMBERS)).status), 'the key of a member who is gone is worth nothing');
  t.true(await ends(), 'what is open ends with it');
});

test('what a credential rests on ends it when its deletion begins, however long a finalizer holds it', async (t) => {
  const held = { finalizers: ['example.org/held'] };
  const ends = async (key: Client, to: string, status: number): Promise<void> => {
    t.is((await key.get(ACCOUNTS)).status, 200, to);
    const over = await openWatch(key);
    t.is((await owner.merge(to, { metadata: held })).status, 200, to);
    t.is((await owner.remove(to)).status, 200, to);
    t.is((await key.get(ACCOUNTS)).status, status, to);
    t.true(await over(), `what is open ends with ${to}`);
    t.truthy(textAt((await owner.get(to)).body, 'metadata', 'deletionTimestamp'), 'it is still there');
    t.is((await owner.merge(to, { metadata: { finalizers: null } })).status, 200, to);
    t.is((await owner.get(to)).status, 404, to);
  };
  const ada = await memberWith('Developer');
  await ends(ada.key, `${MEMBERS}/${ada.name}`, 403);
  const [maker, other] = [await memberWith('Admin'), await memberWith('Developer')];
  await ends(await keyOf({ member: other.name }, maker.key), `${MEMBERS}/${maker.name}`, 403);
  t.is((await other.key.get(ACCOUNTS)).status, 200, 'what rests on others goes on');
  const robot = { scopes: ['serviceaccounts:read'] };
  for (const name of ['held-token', 'held-key']) {
    t.is((await owner.post(ACCOUNTS, objectOf('ServiceAccount', name, robot))).status, 201);
  }
  const issued = await owner.post(`${ACCOUNTS}/held-token/tokens`, { expiresIn: '10m' });
  await ends(clientWith(service.url, textAt(issued.body, 'status', 'token')), `${ACCOUNTS}/held-token`, 401);
  const key = await keyOf({ serviceAccount: { project: 'default', name: 'held-key' } });
  await ends(key, `${ACCOUNTS}/held-key`, 403);
});

test('a key takes no finalizer, since nothing could remove it again', async (t) => {
  const made = await owner.post(KEYS, objectOf('APIKey', 'held', {}, { finalizers: ['example.org/held'] }));
  t.is(made.status, 422, made.text);
  t.is(textAt(listAt(made.body, 'details', 'causes')[0], 'field'), 'metadata.finalizers');
  t.regex(textAt(made.body, 'fix'), /without metadata\.finalizers/);
});

test('an Admin makes no Owner, and no key of his is an operator', async (t) => {
  const { key } = await memberWith('Admin');
  t.is((await key.post(MEMBERS, objectOf('Member', 'usurper', { email: 'u@example.org', role: 'Owner' }))).status, 403);
  t.is(
    (await key.post(MEMBERS, objectOf('Member', 'colleague', { email: 'c@example.org', role: 'Admin' }))).status,
    201,
  );
  t.is((await key.post(KEYS, objectOf('APIKey', 'operating', { scopes: ['operator:*'] }))).status, 403);
  t.is((await key.get('/ops/v1/supervisors')).status, 403);
});

test('a key for another member is made and deleted only by who may do as much as that member, and ends with its maker', async (t) => {
  const admin = await memberWith('Admin');
  const other = await memberWith('Admin');
  const made = await admin.key.post(KEYS, objectOf('APIKey', 'of-the-owner', { member: 'owner' }));
  t.is(made.status, 403, made.text);
  const own = await owner.post(KEYS, objectOf('APIKey', 'owners-own', {}));
  t.is(own.status, 201, own.text);
  t.is((await admin.key.remove(`${KEYS}/owners-own`)).status, 403);
  t.is((await owner.get(`${KEYS}/owners-own`)).status, 200);
  // One for an equal is his to make; it and the keys that it makes end with him.
  const lent = await keyOf({ member: other.name }, admin.key);
  const chained = await keyOf({}, lent);
  t.is((await chained.get(MEMBERS)).status, 200);
  t.is((await owner.merge(`${MEMBERS}/${admin.name}`, { spec: { role: 'Viewer' } })).status, 200);
  t.is((await lent.get(MEMBERS)).status, 200, 'a Viewer reads');
  t.is((await lent.post(ACCOUNTS, objectOf('ServiceAccount', 'by-lent', {}))).status, 403, 'and writes nothing');
  t.is((await owner.remove(`${MEMBERS}/${admin.name}`)).status, 200);
  t.is((await lent.get(MEMBERS)).status, 403);
  t.is((await chained.get(MEMBERS)).status, 403);
  t.is((await other.key.get(MEMBERS)).status, 200, 'keys that others made for him go on');
  t.is((await owner.remove(`${KEYS}/owners-own`)).status, 200);
});

test('the last Owner and the last key of an Owner stay, and an operator makes a way back in', async (t) => {
  const org = await owner.post('/ops/v1/orgs', { name: 'lonely' });
  const key = clientWith(service.url, textAt(org.body, 'key'));
  const first = `owner-${textAt(org.body, 'org').slice(2)}`;
  const refused = async (answer: Promise<{ readonly status: number; readonly text: string }>): Promise<void> => {
    const { status, text } = await answer;
    t.is(status, 403, text);
    t.regex(text, /without an Owner/);
  };
  await refused(key.remove(`${KEYS}/${first}`));
  await refused(key.remove(`${MEMBERS}/owner`));
  await refused(key.merge(`${MEMBERS}/owner`, { spec: { role: 'Admin' } }));
  await refused(key.merge(`${MEMBERS}/owner`, { spec: { projects: ['default'] } }));
  // A second Owner without a key, with one that expires, with one of fewer scopes: none is a way in.
  t.is((await key.post(MEMBERS, objectOf('Member', 'ada', { email: 'a@example.org', role: 'Owner' }))).status, 201);
  await refused(key.remove(`${MEMBERS}/owner`));
  await keyOf({ member: 'ada', expirationTime: new Date(Date.now() + 3_600_000).toISOString() }, key);
  await keyOf({ member: 'ada', scopes: ['*:read'] }, key);
  await refused(key.remove(`${MEMBERS}/owner`));
  const lent = await keyOf({ member: 'ada' }, key);
  await refused(key.remove(`${MEMBERS}/owner`));
  t.is((await key.remove(`${KEYS}/${first}`)).status, 200, 'another key of an Owner is left');
  const adas = await owner.post('/ops/v1/orgs/lonely/keys', {});
  t.is(adas.status, 201, adas.text);
  const back = clientWith(service.url, textAt(adas.body, 'key'));
  t.is((await back.get(MEMBERS)).status, 200);
  t.is((await lent.remove(`${KEYS}/none`)).status, 404);
  t.is((await back.post('/ops/v1/orgs/lonely/keys', {})).status, 403, 'an Owner elsewhere is no operator');
  t.is((await owner.post('/ops/v1/orgs/nobody/keys', {})).status, 404);
  const keyed = { 'idempotency-key': 'way-back' };
  const once = await owner.post('/ops/v1/orgs/lonely/keys', {}, keyed);
  t.deepEqual((await owner.post('/ops/v1/orgs/lonely/keys', {}, keyed)).body, once.body);
});

test('an Owner whose deletion has begun is no Owner who stays', async (t) => {
  const org = await owner.post('/ops/v1/orgs', { name: 'parting' });
  const key = clientWith(service.url, textAt(org.body, 'key'));
  const held = { finalizers: ['example.org/held'] };
  const ada = objectOf('Member', 'ada', { email: 'a@example.org', role: 'Owner' }, held);
  t.is((await key.post(MEMBERS, ada)).status, 201);
  const adas = await keyOf({}, await keyOf({ member: 'ada' }, key)); // bound to no other Owner
  t.is((await key.remove(`${MEMBERS}/ada`)).status, 200);
  t.is((await adas.get(MEMBERS)).status, 403);
  for (const to of [`${MEMBERS}/owner`, `${KEYS}/owner-${textAt(org.body, 'org').slice(2)}`]) {
    const refused = await key.remove(to);
    t.is(refused.status, 403, refused.text);
    t.regex(refused.text, /without an Owner/);
  }
});

test('a collection of which one may not be deleted is refused whole, with its names, and so is its dry run', async (t) => {
  const org = await owner.post('/ops/v1/orgs', { name: 'whole' });
  const key = clientWith(service.url, textAt(org.body, 'key'));
  const ownerKey = `owner-${textAt(org.body, 'org').slice(2)}`;
  t.is((await key.post(MEMBERS, objectOf('Member', 'ada', { email: 'a@example.org', role: 'Viewer' }))).status, 201);
  await keyOf({ member: 'ada' }, key);
  await keyOf({}, key); // with this one each whole key may go by itself, and not all together
  for (const query of ['?dryRun=All', '']) {
    const keys = await key.remove(`${KEYS}${query}`);
    t.is(keys.status, 403, keys.text);
    t.regex(keys.text, /without an Owner/);
    t.true(keys.text.includes(ownerKey), keys.text);
    const members = await key.remove(`${MEMBERS}${query}`);
    t.is(members.status, 403, members.text);
    t.true(members.text.includes('\\"owner\\"'), members.text);
  }
  t.is(listAt((await key.get(KEYS)).body, 'items').length, 3);
  t.is(listAt((await key.get(MEMBERS)).body, 'items').length, 2);
  const rest = await key.remove(`${KEYS}?fieldSelector=metadata.name!%3D${ownerKey}`);
  t.is(rest.status, 200, rest.text);
  t.is(listAt(rest.body, 'items').length, 2);
  t.is((await key.remove(`${MEMBERS}?fieldSelector=spec.role%3DViewer`)).status, 200);
  t.is(listAt((await key.get(MEMBERS)).body, 'items').length, 1);
});

test('projects are deleted one by one', async (t) => {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'stays' } };
  t.is((await owner.post('/api/v1/namespaces', namespace)).status, 201);
  const answer = await owner.remove('/api/v1/namespaces');
  t.is(answer.status, 405, answer.text);
  t.is(textAt((await owner.get('/api/v1/namespaces/stays')).body, 'status', 'phase'), 'Active');
  const [entry] = listAt((await owner.get('/api/v1')).body, 'resources');
  t.false(listAt(entry, 'verbs').includes('deletecollection'));
  t.is(valueAt((await owner.get('/openapi.json')).body, 'paths', '/api/v1/namespaces', 'delete'), undefined);
});

test('two Owners who remove each other at the same time do not both succeed', async (t) => {
  const org = await owner.post('/ops/v1/orgs', { name: 'duel' });
  const key = clientWith(service.url, textAt(org.body, 'key'));
  t.is((await key.post(MEMBERS, objectOf('Member', 'ada', { email: 'a@example.org', role: 'Owner' }))).status, 201);
  // The first key of hers ends with the Owner who made it; what she makes with it is her own.
  const adas = await keyOf({}, await keyOf({ member: 'ada' }, key));
  const removed = await Promise.all([adas.remove(`${MEMBERS}/owner`), key.remove(`${MEMBERS}/ada`)]);
  t.is(removed.filter(({ status }) => status === 200).length, 1, removed.map(({ text }) => text).join());
});

test("a ServiceAccount's token acts with the account's scopes, in its project, and ends with it", async (t) => {
  const spec = { scopes: ['serviceaccounts:read', 'operator:*'] };
  const made = await owner.post(ACCOUNTS, objectOf('ServiceAccount', 'robot', spec));
  t.is(made.status, 201, made.text);
  const issued = await owner.post(`${ACCOUNTS}/robot/tokens`, { expiresIn: '10m' });
  t.is(issued.status, 201, issued.text);
  t.regex(textAt(issued.body, 'status', 'expirationTime'), /Z$/);
  const token = clientWith(service.url, textAt(issued.body, 'status', 'token'));
  t.is((await token.get(ACCOUNTS)).status, 200);
  t.is((await token.post(ACCOUNTS, objectOf('ServiceAccount', 'x', {}))).status, 403);
  t.is((await token.get(path('serviceaccounts', 'other'))).status, 403);
  t.false((await owner.get(`${ACCOUNTS}/robot`)).text.includes(token.key));
  t.is((await owner.merge(`${ACCOUNTS}/robot`, { spec: { scopes: [] } })).status, 200);
  t.is((await token.get(ACCOUNTS)).status, 403, 'the scopes of now count');
  t.is((await owner.remove(`${ACCOUNTS}/robot`)).status, 200);
  t.is((await token.get(ACCOUNTS)).status, 401);
  for (const expiresIn of ['1s', 'for ever', 5]) {
    t.is((await owner.post(`${ACCOUNTS}/default/tokens`, { expiresIn })).status, 422, String(expiresIn));
  }
});

test('a blob is there for the project that it was put into, and for no other', async (t) => {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'apart' } };
  t.is((await owner.post('/api/v1/namespaces', namespace)).status, 201);
  const upload = { raw: Buffer.from('of default'), contentType: 'application/octet-stream' };
  const made = await owner.ask('POST', path('blobs', 'default'), upload);
  t.is(made.status, 201, made.text);
  const digest = textAt(made.body, 'digest');
  const held = await keyOf({ projects: ['apart'] });
  t.is((await owner.get(`${path('blobs', 'default')}/${digest}`)).text, 'of default');
  for (const [key, project, status] of [
    [held, 'default', 403],
    [held, 'apart', 404],
    [owner, 'apart', 404],
  ] as const) {
    t.is((await key.get(`${path('blobs', project)}/${digest}`)).status, status, project);
  }
  t.is((await held.ask('POST', path('blobs', 'apart'), upload)).status, 201, 'as if nobody had it');
  t.is((await held.get(`${path('blobs', 'apart')}/${digest}`)).status, 200);
  const nowhere = await owner.ask('POST', path('blobs', 'nowhere'), upload);
  t.is(nowhere.status, 404, nowhere.text);
  t.is(textAt(nowhere.body, 'message'), 'project "nowhere" does not exist');
});

test("another org's objects are NotFound, by name, by list and by watch", async (t) => {
  const keyed = { 'idempotency-key': 'neighbours' };
  const org = await owner.post('/ops/v1/orgs', { name: 'neighbours' }, keyed);
  t.is(org.status, 201, org.text);
  const value = textAt(org.body, 'key');
  const again = await owner.post('/ops/v1/orgs', { name: 'neighbours' }, keyed);
  t.deepEqual([again.status, again.headers.get('idempotency-replayed'), again.text], [201, 'true', org.text]);
  t.is((await owner.post('/ops/v1/orgs', { name: 'others' }, keyed)).status, 422);
  t.is((await owner.post('/ops/v1/orgs', { name: 'neighbours' })).status, 409);
  const stranger = clientWith(service.url, value);
  t.is((await owner.post(ACCOUNTS, objectOf('ServiceAccount', 'of-ours', {}))).status, 201);
  t.is((await stranger.get(ACCOUNTS)).status, 200);
  for (const [method, to] of [
    ['GET', `${ACCOUNTS}/of-ours`],
    ['DELETE', `${ACCOUNTS}/of-ours`],
    ['GET', `${KEYS}/shown-once`],
    ['GET', '/api/v1/namespaces/other'],
  ] as const) {
    const answer = await stranger.ask(method, to);
    t.is(answer.status, 404, `${method} ${to}: ${answer.text}`);
  }
  t.false((await stranger.get(ACCOUNTS)).text.includes('of-ours'));
  t.false((await stranger.get(`${ACCOUNTS}?watch=true&timeoutSeconds=1`)).text.includes('of-ours'));
  t.is((await stranger.post(ACCOUNTS, objectOf('ServiceAccount', 'of-ours', {}))).status, 201, 'names do not collide');
  t.is((await stranger.get('/ops/v1/supervisors')).status, 403, 'an Owner elsewhere is no operator');
  t.is((await stranger.post(KEYS, objectOf('APIKey', 'op', { scopes: ['operator:*'] }))).status, 403);
  t.is((await stranger.get(path('offerings', ''))).status, 200, 'the catalog is for all');
});

test('references that do not exist are Invalid with one cause each', async (t) => {
  const answer = await owner.post(KEYS, objectOf('APIKey', 'dangling', { projects: ['default', 'nowhere'] }));
  t.is(answer.status, 422, answer.text);
  t.true(answer.text.includes('spec.projects[1]'));
  t.false(answer.text.includes('spec.projects[0]'));
});

test('the catalog project is there for everybody, read-only, and default cannot be deleted', async (t) => {
  t.is((await owner.get('/api/v1/namespaces/svc')).status, 200);
  t.is((await owner.remove('/api/v1/namespaces/svc')).status, 405);
  t.is((await owner.merge('/api/v1/namespaces/svc', { metadata: { labels: { a: 'b' } } })).status, 405);
  t.is((await owner.remove('/api/v1/namespaces/default')).status, 403);
});

for (const propagationPolicy of ['Background', 'Foreground']) {
  test(`a project deleted in the ${propagationPolicy.toLowerCase()} takes everything in it with it`, async (t) => {
    const name = `team-${propagationPolicy.toLowerCase()}`;
    const project = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
    t.is((await owner.post('/api/v1/namespaces', project)).status, 201);
    const accounts = path('serviceaccounts', name);
    await until('it has its ServiceAccount', async () => (await owner.get(`${accounts}/default`)).status === 200);
    t.is((await owner.post(accounts, objectOf('ServiceAccount', 'inside', {}))).status, 201);
    t.is(
      (await owner.post(path('secrets', name), objectOf('Secret', 'inside', { stringData: { A: '1' } }))).status,
      201,
    );
    const stored = await owner.ask('POST', path('blobs', name), {
      raw: 'of the old project',
      contentType: 'application/octet-stream',
    });
    t.is(stored.status, 201, stored.text);
    const blob = path('blobs', name, textAt(stored.body, 'digest'));
    t.is((await owner.get(blob)).status, 200);
    t.is((await owner.remove(`/api/v1/namespaces/${name}`, { propagationPolicy })).status, 200);
    await until('it is gone', async () => (await owner.get(`/api/v1/namespaces/${name}`)).status === 404);
    t.is((await owner.get(`${accounts}/inside`)).status, 404);
    const late = await owner.post(accounts, {
      apiVersion: API_VERSION,
      kind: 'ServiceAccount',
      metadata: { name: 'late' },
    });
    t.is(late.status, 404, late.text);
    t.is((await owner.post('/api/v1/namespaces', project)).status, 201);
    t.is((await owner.get(blob)).status, 404, 'another project of that name cannot read what the old one stored');
  });
}

test("a project whose content is gone goes with its client's finalizer, and says until then that it is empty", async (t) => {
  const finalizers = ['example.com/hold'];
  const project = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'held', finalizers } };
  t.is((await owner.post('/api/v1/namespaces', project)).status, 201);
  const read = () => owner.get('/api/v1/namespaces/held');
  t.is((await owner.remove('/api/v1/namespaces/held')).status, 200);
  await until('its content is gone', async () => listAt((await read()).body, 'metadata', 'finalizers').length === 1);
  const [condition] = listAt((await read()).body, 'status', 'conditions');
  t.like(condition, { type: 'ContentRemaining', status: 'False' });
  const labelled = await owner.merge('/api/v1/namespaces/held', { metadata: { labels: { a: 'b' } } });
  t.deepEqual(listAt(labelled.body, 'metadata', 'finalizers'), finalizers);
  t.is((await owner.merge('/api/v1/namespaces/held', { metadata: { finalizers: null } })).status, 200);
  t.is((await read()).status, 404);
});
