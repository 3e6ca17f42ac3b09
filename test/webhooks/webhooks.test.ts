/** Webhooks from the outside: a service of its own process, a receiver over https, and what passes between them. */
import anyTest, { type TestFn } from 'ava';
import { Client as Database } from 'pg';
import { listAt, numberAt, objectOf, path, textAt, type Client } from '../e2e/client.js';
import type { Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { shareRestarted, type Restarted } from '../faults/restarted.js';
import { status, verify, type Hook, type Received, type Receiver } from './receiver.js';
import { missing } from '../engines/dialer/server.js';

const test = anyTest as TestFn<{ service: Running; receiver: Receiver; client: Client }>;
const run = missing === undefined ? test.serial : test.serial.skip;
const ENDPOINTS = path('webhookendpoints', '');

let shared: Restarted | undefined;

test.before(async (t) => {
  if (missing !== undefined) return;
  t.timeout(120_000);
  shared = await shareRestarted();
  const { service, receiver } = shared;
  if (receiver === undefined) throw new Error('no receiver');
  t.context = { service, receiver, client: service.client() };
});

test.after.always(() => shared?.close());

/** A new endpoint with its secret. */
async function make(client: Client, name: string, hook: Hook, spec: object = {}): Promise<string> {
  const made = await client.post(ENDPOINTS, objectOf('WebhookEndpoint', name, { url: hook.url, ...spec }));
  if (made.status !== 201) throw new Error(made.text);
  return textAt(made.body, 'status', 'signingSecret');
}

/** One `job.cancelled`. */
async function cancelled(client: Client, name: string, project = 'default'): Promise<void> {
  const jobs = path('jobs', project);
  const made = await client.post(jobs, objectOf('Job', name, { command: ['true'], state: 'Suspended' }));
  if (made.status !== 201) throw new Error(made.text);
  const ended = await client.merge(`${jobs}/${name}`, { spec: { state: 'Cancelled' } });
  if (ended.status !== 200) throw new Error(ended.text);
}

const typeOf = ({ body }: Received): string => textAt(body, 'type');
const nameOf = ({ body }: Received): string => textAt(body, 'data', 'object', 'metadata', 'name');
const log = async (client: Client, name: string, query = '') =>
  listAt((await client.get(`${ENDPOINTS}/${name}/deliveries${query}`)).body, 'items');

/** The newest delivery of the log, once it is as wanted. */
function newest(client: Client, name: string, what: string, wanted: (entry: unknown) => boolean): Promise<unknown> {
  return until(what, async () => {
    const [entry] = await log(client, name);
    return entry !== undefined && wanted(entry) && entry;
  });
}

/** What waits for its time is due now. */
async function makeDue(service: Running): Promise<void> {
  const database = new Database({ connectionString: service.databaseUrl });
  await database.connect();
  await database.query("UPDATE deliveries SET due_at = now() - interval '2 seconds' WHERE phase = 'Pending'");
  await database.end();
}

run('a new endpoint gets a signed ping, and its secret is shown once', async (t) => {
  const { client, receiver } = t.context;
  const hook = receiver.hook('first');
  const secret = await make(client, 'first', hook, { eventTypes: ['job.failed'] });
  t.regex(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  const [ping] = await hook.until('the ping comes', (received) => received.length > 0);
  if (ping === undefined) throw new Error('no ping');
  t.notThrows(() => verify(secret, ping));
  t.throws(() => verify('whsec_AAAA', ping));
  t.is(textAt(ping.body, 'type'), 'webhookendpoint.ping');
  t.is(textAt(ping.body, 'data', 'object', 'kind'), 'WebhookEndpoint');
  t.is(textAt(ping.body, 'data', 'object', 'metadata', 'name'), 'first');
  t.is(numberAt(ping.body, 'data', 'event', 'count'), 1);
  const read = await client.get(`${ENDPOINTS}/first`);
  t.is(textAt(read.body, 'status', 'signingSecret'), '');
  const seen = await until('the status tells of it', async () => {
    const { body } = await client.get(`${ENDPOINTS}/first`);
    return numberAt(body, 'status', 'deliveries24h', 'succeeded') === 1 && body;
  });
  t.is(numberAt(seen, 'status', 'lastDelivery', 'statusCode'), 204);
  t.is(numberAt(seen, 'status', 'lastDelivery', 'attempt'), 1);
  t.is(textAt(listAt(seen, 'status', 'conditions')[0], 'status'), 'True');
});

run(
  'events go to the endpoints that want their type and project; those of the org to all that want their type',
  async (t) => {
    const { client, receiver } = t.context;
    t.is(
      (await client.post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } }))
        .status,
      201,
    );
    const hooks = { exact: {}, prefix: {}, wrong: {}, here: {}, star: {} } as const;
    const specs = {
      exact: { eventTypes: ['job.cancelled'] },
      prefix: { eventTypes: ['job.*'] },
      wrong: { eventTypes: ['job.failed', 'sandbox.*'] },
      here: { eventTypes: ['job.*', 'webhookendpoint.*'], projects: ['other'] },
      star: { eventTypes: ['*'] },
    };
    const opened = Object.keys(hooks).map((name) => [name, receiver.hook(`match-${name}`)] as const);
    for (const [name, hook] of opened) await make(client, `match-${name}`, hook, specs[name as keyof typeof specs]);
    await cancelled(client, 'matched');
    await cancelled(client, 'matched-there', 'other');
    const names = (hook: Hook) =>
      hook.received
        .filter((one) => typeOf(one) === 'job.cancelled')
        .map(nameOf)
        .toSorted()
        .join();
    const by = new Map(opened);
    for (const name of ['exact', 'prefix', 'star']) {
      await by.get(name)?.until(`${name} has both`, () => names(by.get(name) as Hook) === 'matched,matched-there');
    }
    await by.get('here')?.until('only that of its project', () => names(by.get('here') as Hook) === 'matched-there');
    // Everything that was written before has been dispatched, since events go in order.
    t.is(names(by.get('wrong') as Hook), '');
    t.deepEqual(by.get('wrong')?.received.map(typeOf), ['webhookendpoint.ping']);
    const [event] = by.get('exact')?.received.filter((one) => nameOf(one) === 'matched-there') ?? [];
    t.is(textAt(event?.body, 'data', 'object', 'metadata', 'namespace'), 'other');
    t.is(textAt(event?.body, 'data', 'object', 'apiVersion'), 'svc.dev/v1');
    t.is(textAt(event?.body, 'data', 'object', 'status', 'phase'), 'Cancelled');
    for (const [name] of opened) await client.remove(`${ENDPOINTS}/match-${name}`);
  },
);

run(
  'after a rotation deliveries carry both signatures until the old secret ends, and then the new one alone',
  async (t) => {
    const { client, receiver } = t.context;
    const hook = receiver.hook('rotated');
    const old = await make(client, 'rotated', hook, { eventTypes: ['job.failed'] });
    await hook.until('the ping', (received) => received.length === 1);
    const [ping] = await log(client, 'rotated');
    const again = `${ENDPOINTS}/rotated/deliveries/${textAt(ping, 'id')}/replays`;
    const key = { 'idempotency-key': 'rotate-once' };
    const rotation = await client.post(`${ENDPOINTS}/rotated/rotations`, { previousSecretTTL: '3s' }, key);
    t.is(rotation.status, 201, rotation.text);
    const fresh = textAt(rotation.body, 'status', 'signingSecret');
    t.regex(fresh, /^whsec_/);
    t.not(fresh, old);
    t.truthy(Date.parse(textAt(rotation.body, 'status', 'secretRotation', 'previousExpirationTime')));
    const repeated = await client.post(`${ENDPOINTS}/rotated/rotations`, { previousSecretTTL: '3s' }, key);
    t.is(textAt(repeated.body, 'status', 'signingSecret'), fresh);
    t.is((await client.post(again, {})).status, 201);
    const [, both] = await hook.until('the replay', (received) => received.length === 2);
    if (both === undefined) throw new Error('no replay');
    t.is(both.headers['webhook-signature']?.split(' ').length, 2);
    t.notThrows(() => verify(old, both));
    t.notThrows(() => verify(fresh, both));
    await until('the rotation has ended', async () => {
      const { body } = await client.get(`${ENDPOINTS}/rotated`);
      return textAt(body, 'status', 'secretRotation', 'previousExpirationTime') === '';
    });
    t.is((await client.post(again, {})).status, 201);
    const [, , last] = await hook.until('one more', (received) => received.length === 3);
    if (last === undefined) throw new Error('no replay');
    t.throws(() => verify(old, last));
    t.notThrows(() => verify(fresh, last));
    const third = await client.post(`${ENDPOINTS}/rotated/rotations`, { previousSecretTTL: '1h' });
    t.is(third.headers.get('warning'), null, 'no secret but the last one signs');
    const fourth = await client.post(`${ENDPOINTS}/rotated/rotations`, {});
    t.regex(
      fourth.headers.get('warning') ?? '',
      /^299 - "the older secret that was to sign until \S+Z ends with this rotation/,
    );
    const late = await client.post(`${ENDPOINTS}/rotated/rotations`, { previousSecretTTL: '169h' });
    t.is(late.status, 422, late.text);
  },
);

run("a receiver that never answers holds up its own deliveries and nobody else's", async (t) => {
  const { client, receiver } = t.context;
  const slow = receiver.hook('slow');
  slow.answer(() => {});
  await make(client, 'slow', slow);
  const [ping] = await until(
    'the ping is made',
    async () => (await log(client, 'slow')).length > 0 && log(client, 'slow'),
  );
  for (let i = 0; i < 80; i += 1) {
    const { status: code } = await client.post(`${ENDPOINTS}/slow/deliveries/${textAt(ping, 'id')}/replays`, {});
    if (code !== 201) t.fail(String(code));
  }
  await slow.until('its places are full', (received) => received.length === 8);
  const quick = receiver.hook('quick');
  const begun = performance.now();
  await make(client, 'quick', quick, { eventTypes: ['job.failed'] });
  await quick.until('the ping', (received) => received.length === 1);
  t.true(performance.now() - begun < 3_000, `${performance.now() - begun} ms`);
  t.is(slow.received.length, 8);
  await client.remove(`${ENDPOINTS}/slow`);
});

run('a redirect is a failure that is not followed, and tried again later with the same id and body', async (t) => {
  const { client, receiver, service } = t.context;
  const target = receiver.hook('redirect-target');
  const hook = receiver.hook('redirect');
  hook.answer(status(302, { location: target.url }));
  const secret = await make(client, 'redirect', hook, { eventTypes: ['job.failed'] });
  const failed = await newest(client, 'redirect', 'it has failed once', (entry) => numberAt(entry, 'attempts') === 1);
  t.is(textAt(failed, 'phase'), 'Pending');
  t.is(numberAt(failed, 'statusCode'), 302);
  const wait = Date.parse(textAt(failed, 'nextAttemptTime')) - Date.parse(textAt(failed, 'lastAttemptTime'));
  t.true(wait >= 30_000 && wait <= 33_100, `${wait} ms`);
  t.is(target.received.length, 0);
  hook.answer(status(200));
  await makeDue(service);
  const [first, second] = await hook.until('the second attempt', (received) => received.length === 2);
  if (first === undefined || second === undefined) throw new Error('less than two attempts');
  t.is(second.id, first.id);
  t.is(second.text, first.text);
  t.notThrows(() => verify(secret, second));
  const done = await newest(client, 'redirect', 'it has succeeded', (entry) => textAt(entry, 'phase') === 'Succeeded');
  t.is(numberAt(done, 'attempts'), 2);
  t.is(numberAt(done, 'statusCode'), 200);
});

run('an address outside the public internet that nobody has allowed is refused when it is written', async (t) => {
  const { client, receiver } = t.context;
  const endpoint = (url: string): object => objectOf('WebhookEndpoint', 'private', { url });
  const refused = [
    '10.1.2.3',
    '169.254.169.254',
    '[::ffff:10.1.2.3]',
    '0xa.1.2.3',
    '167838211',
    '[fe80::1]',
    '[fd00::1]',
  ];
  for (const host of refused) {
    const answer = await client.post(ENDPOINTS, endpoint(`https://${host}/hook`));
    t.is(answer.status, 422, host);
    t.regex(answer.text, /spec\.url.*not on the public internet/, host);
  }
  await make(client, 'private', receiver.hook('allowed'));
  const moved = await client.merge(`${ENDPOINTS}/private`, { spec: { url: 'https://192.168.0.1/' } });
  t.is(moved.status, 422, moved.text);
  await client.remove(`${ENDPOINTS}/private`);
});

run('a pause drops what is pending, and later events come again when it ends', async (t) => {
  const { client, receiver } = t.context;
  const hook = receiver.hook('paused');
  hook.answer(status(503));
  await make(client, 'paused', hook, { eventTypes: ['job.cancelled'] });
  await newest(client, 'paused', 'it has failed once', (entry) => numberAt(entry, 'attempts') === 1);
  t.is((await client.merge(`${ENDPOINTS}/paused`, { spec: { enabled: false } })).status, 200);
  const dropped = await newest(client, 'paused', 'it is dropped', (entry) => textAt(entry, 'phase') !== 'Pending');
  t.is(textAt(dropped, 'phase'), 'Abandoned');
  const replayed = await client.post(`${ENDPOINTS}/paused/deliveries/${textAt(dropped, 'id')}/replays`, {});
  t.is(replayed.status, 409, replayed.text);
  await cancelled(client, 'while-paused');
  hook.answer(status(200));
  t.is((await client.merge(`${ENDPOINTS}/paused`, { spec: { enabled: true } })).status, 200);
  await cancelled(client, 'after-pause');
  const received = await hook.until('the later one', (all) => all.some((one) => nameOf(one) === 'after-pause'));
  t.false(received.some((one) => nameOf(one) === 'while-paused'));
});

run('deletion abandons what is pending', async (t) => {
  const { client, receiver, service } = t.context;
  const hook = receiver.hook('deleted');
  hook.answer(status(500));
  const made = await client.post(ENDPOINTS, objectOf('WebhookEndpoint', 'deleted', { url: hook.url }));
  await newest(client, 'deleted', 'it has failed once', (entry) => numberAt(entry, 'attempts') === 1);
  t.is((await client.remove(`${ENDPOINTS}/deleted`)).status, 200);
  const database = new Database({ connectionString: service.databaseUrl });
  await database.connect();
  t.teardown(() => database.end());
  await until('all of them are abandoned', async () => {
    const uid = textAt(made.body, 'metadata', 'uid');
    const { rows } = await database.query<{ phase: string }>('SELECT phase FROM deliveries WHERE endpoint = $1', [uid]);
    return rows.length > 0 && rows.every(({ phase }) => phase === 'Abandoned');
  });
  t.is((await client.get(`${ENDPOINTS}/deleted/deliveries`)).status, 404);
});

run('a replay sends the same body under a new id, once per Idempotency-Key', async (t) => {
  const { client, receiver } = t.context;
  const hook = receiver.hook('replayed');
  const secret = await make(client, 'replayed', hook, { eventTypes: ['job.failed'] });
  const [first] = await hook.until('the ping', (received) => received.length === 1);
  const id = first?.id ?? '';
  const route = `${ENDPOINTS}/replayed/deliveries/${id}/replays`;
  const key = { 'idempotency-key': 'replay-once' };
  const one = await client.post(route, {}, key);
  const two = await client.post(route, {}, key);
  t.is(one.status, 201, one.text);
  t.is(two.headers.get('idempotency-replayed'), 'true');
  t.is(textAt(two.body, 'id'), textAt(one.body, 'id'));
  t.is(textAt(one.body, 'replayOf'), id);
  t.not(textAt(one.body, 'id'), id);
  const [, again] = await hook.until('the replay', (received) => received.length === 2);
  if (again === undefined) throw new Error('no replay');
  t.is(again.id, textAt(one.body, 'id'));
  t.is(again.text, first?.text ?? '');
  t.notThrows(() => verify(secret, again));
  t.is((await client.post(`${ENDPOINTS}/replayed/deliveries/msg_${'0'.repeat(32)}/replays`, {})).status, 404);
  t.is((await client.post(`${ENDPOINTS}/replayed/deliveries/nonsense/replays`, {})).status, 404);
  t.is((await client.post(`${ENDPOINTS}/redirect/deliveries/${id}/replays`, {})).status, 404, 'of another endpoint');
});

run('the log is read in pages, the newest first', async (t) => {
  const { client, receiver } = t.context;
  const hook = receiver.hook('paged');
  await make(client, 'paged', hook, { eventTypes: ['job.cancelled'] });
  for (let i = 0; i < 4; i += 1) await cancelled(client, `paged-${i}`);
  await hook.until('all five', (received) => received.length === 5);
  const all = (await log(client, 'paged')).map((entry) => textAt(entry, 'id'));
  t.deepEqual(all, all.toSorted().toReversed());
  const pages: string[][] = [];
  let after = '';
  do {
    const { body, status: code } = await client.get(`${ENDPOINTS}/paged/deliveries?limit=2${after}`);
    t.is(code, 200);
    pages.push(listAt(body, 'items').map((entry) => textAt(entry, 'id')));
    const next = textAt(body, 'continue');
    after = next === '' ? '' : `&after=${next}`;
  } while (after !== '' && pages.length < 10);
  t.deepEqual(
    pages.map((page) => page.length),
    [2, 2, 1],
  );
  t.deepEqual(pages.flat(), all);
  t.is((await client.get(`${ENDPOINTS}/paged/deliveries?after=x`)).status, 400);
  t.is((await client.get(`${ENDPOINTS}/none/deliveries`)).status, 404);
  t.is((await client.post(`${ENDPOINTS}/paged/deliveries`, {})).status, 405);
});

run('three failed deliveries make it unhealthy, with one event; a success heals it', async (t) => {
  const { client, receiver } = t.context;
  const witness = receiver.hook('witness');
  await make(client, 'witness', witness, { eventTypes: ['webhookendpoint.deliveries_failing'] });
  const hook = receiver.hook('failing');
  hook.answer(status(500));
  await make(client, 'failing', hook, { eventTypes: ['job.cancelled'] });
  const healthy = async () => {
    const { body } = await client.get(`${ENDPOINTS}/failing`);
    const condition = listAt(body, 'status', 'conditions').find((one) => textAt(one, 'type') === 'Healthy');
    return { body, status: textAt(condition, 'status'), reason: textAt(condition, 'reason') };
  };
  for (let i = 0; i < 4; i += 1) await cancelled(client, `failing-${i}`);
  const bad = await until('it is unhealthy', async () => {
    const seen = await healthy();
    return seen.status === 'False' && seen;
  });
  t.is(bad.reason, 'DeliveriesFailing');
  t.truthy(Date.parse(textAt(bad.body, 'status', 'failingSince')));
  t.is(numberAt(bad.body, 'status', 'lastDelivery', 'statusCode'), 500);
  hook.answer(status(204));
  await cancelled(client, 'healing');
  await until('it is healthy', async () => (await healthy()).status === 'True');
  t.is(textAt((await healthy()).body, 'status', 'failingSince'), '');
  const told = await witness.until('it is told', (all) => all.some((one) => nameOf(one) === 'failing'));
  t.is(told.filter((one) => nameOf(one) === 'failing').length, 1);
});

run('who may read endpoints reads their log, and only who may write them sends again', async (t) => {
  const { client, receiver } = t.context;
  const hook = receiver.hook('allowed');
  await make(client, 'allowed', hook, { eventTypes: ['job.failed'] });
  const [ping] = await hook.until('the ping', (received) => received.length === 1);
  const made = await client.post(
    path('apikeys', ''),
    objectOf('APIKey', 'reader', { scopes: ['webhookendpoints:read'] }),
  );
  t.is(made.status, 201, made.text);
  const key = textAt(made.body, 'status', 'key');
  const seen = await client.ask('GET', `${ENDPOINTS}/allowed/deliveries`, { key });
  t.is(seen.status, 200, seen.text);
  t.is(textAt(listAt(seen.body, 'items')[0], 'id'), ping?.id ?? '');
  const route = `${ENDPOINTS}/allowed/deliveries/${ping?.id}/replays`;
  t.is((await client.ask('POST', route, { key, body: {} })).status, 403);
  t.is((await client.ask('POST', `${ENDPOINTS}/allowed/rotations`, { key, body: {} })).status, 403);
  t.is((await client.ask('GET', `${ENDPOINTS}/allowed/deliveries`, { key: null })).status, 401);
  t.is((await client.post(route, { url: 'https://elsewhere.test' })).status, 400, 'nothing is accepted and ignored');
  t.is((await client.post(`${route}?dryRun=All`, {})).status, 400);
});
