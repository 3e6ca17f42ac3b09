/** Long answers are compressed for clients that ask for it, and say so; short ones, watches and other clients' are not. */
import { request } from 'node:http';
import { gunzipSync } from 'node:zlib';
import test from 'ava';
import { acceptsGzip } from '../../http/accept-encoding.js';
import { AS_TABLE, bearer, IN_DEFAULT, KEYS, object, openTestApi, type TestApi } from './support/test-api.js';
import { watching } from './support/watching.js';

const SECRETS = `${IN_DEFAULT}/secrets`;

test('gzip is taken for wanted as RFC 9110 reads the header', (t) => {
  const wanted = ['gzip', 'GZIP', 'x-gzip', 'deflate, gzip;q=1.0, *;q=0.5', '*', 'gzip;q=0.001', 'br;q=1, gzip;q=0.5'];
  for (const header of wanted) t.true(acceptsGzip(header), header);
  const not = ['', 'identity', 'br', 'gzip;q=0', 'gzip;q=0.000', '*;q=0', 'gzip;q=0, *', 'gzip;q=0.5, identity'];
  for (const header of [...not, 'gzip;q=2', 'gzip;level=9', 'gzip;q=0.5, *;q=0.8'])
    t.false(acceptsGzip(header), header);
  t.false(acceptsGzip(undefined));
});

interface Answer {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** `fetch` would decompress by itself, and always asks. */
function ask(api: TestApi, path: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(api.url + path, { headers: { ...bearer(KEYS.owner), ...headers } }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => resolve({ headers: response.headers, body: Buffer.concat(parts) }));
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end();
  });
}

test('a long list comes compressed to who asks, in every form and page by page, and is the same list', async (t) => {
  const api = await openTestApi(t);
  for (let i = 0; i < 120; i++) {
    const name = `s${String(i).padStart(3, '0')}`;
    const address = { org: 'acme', kind: 'Secret', project: 'default', name };
    const annotations = { text: `${name} says it again. `.repeat(200) };
    await api.resources.put(address, object('Secret', name, 'default', { type: 'Opaque' }, { annotations }));
  }
  for (const [query, accept] of [
    ['', 'application/json'],
    ['?limit=100', 'application/json'],
    ['', AS_TABLE],
    ['', 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'],
  ] as const) {
    const plain = await ask(api, SECRETS + query, { accept });
    const packed = await ask(api, SECRETS + query, { accept, 'accept-encoding': 'br, gzip;q=0.8' });
    t.is(plain.headers['content-encoding'], undefined);
    t.is(packed.headers['content-encoding'], 'gzip');
    for (const { headers } of [plain, packed]) t.is(headers['vary'], 'Accept-Encoding');
    t.true(packed.body.length < plain.body.length * 0.15, `${packed.body.length} of ${plain.body.length} bytes`);
    t.deepEqual(JSON.parse(gunzipSync(packed.body).toString()), JSON.parse(plain.body.toString()));
  }
  const short = await ask(api, `${SECRETS}?limit=3`, { 'accept-encoding': 'gzip' });
  t.is(short.headers['content-encoding'], undefined);
  t.is(short.headers['content-length'], String(short.body.length));
});

test('a long object comes compressed with a weak tag, with which it can be written; a watch is never compressed', async (t) => {
  const api = await openTestApi(t);
  const annotations = { text: 'again and again '.repeat(12_000) };
  await api.resources.put(
    { org: 'acme', kind: 'Secret', project: 'default', name: 'long' },
    object('Secret', 'long', 'default', {}, { annotations }),
  );
  const gzip = { 'accept-encoding': 'gzip' };
  const plain = await ask(api, `${SECRETS}/long`, {});
  const packed = await ask(api, `${SECRETS}/long`, gzip);
  t.is(packed.headers['content-encoding'], 'gzip');
  t.is(packed.headers['content-length'], undefined);
  t.is(packed.headers['etag'], `W/${String(plain.headers['etag'])}`);
  t.is(packed.headers['vary'], 'Accept, Accept-Encoding');
  t.deepEqual(gunzipSync(packed.body), plain.body);
  const yaml = await ask(api, `${SECRETS}/long`, { ...gzip, accept: 'application/yaml' });
  t.regex(gunzipSync(yaml.body).toString(), /^apiVersion: /);
  const written = await api.call(`${SECRETS}/long`, {
    method: 'PATCH',
    headers: { 'if-match': String(packed.headers['etag']), 'content-type': 'application/merge-patch+json' },
    body: '{"metadata":{"labels":{"a":"b"}}}',
  });
  t.is(written.status, 200);

  const watch = await watching((signal) => api.call(`${SECRETS}?watch=1`, { signal, headers: gzip }));
  await watch.until(1);
  t.deepEqual(watch.seen(), ['ADDED long']);
  watch.stop();
});
