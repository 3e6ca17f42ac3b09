/** Routes beside the kinds: logs, outputs, blobs, events, operators, health, docs. */
import { createHash } from 'node:crypto';
import { Agent, request as httpRequest } from 'node:http';
import { Readable } from 'node:stream';
import test from 'ava';
import type { LogRequest } from '../../actors/work/logs.js';
import type { HttpDeps } from '../../http/deps.js';
import { API_GROUP } from '../../src/brand.js';
import { ERROR_CODES } from '../../src/api/errors/codes.js';
import { refuse } from '../../src/api/refusal.js';
import type { LogLine } from '../../src/engines/compute/contract/engine.js';
import { until } from '../e2e/until.js';
import { BASE, bearer, IN_DEFAULT, KEYS, object, openTestApi, type TestApi } from './support/test-api.js';
import { readTraceId } from '../../http/trace.js';
import { at, json, list } from './support/json.js';

const JOB = `${IN_DEFAULT}/jobs/j`;

async function withJob(api: TestApi, spec: object): Promise<void> {
  const address = { org: 'acme', kind: 'Job', project: 'default', name: 'j' };
  await api.resources.put(address, object('Job', 'j', 'default', spec));
}

function line(text: string, time = 0): LogLine {
  return { stream: 'stdout', time, data: Buffer.from(text) };
}

test('the log of a Job is streamed as text, with what the query asks for', async (t) => {
  const asked: LogRequest[] = [];
  const logs: HttpDeps['logs'] = {
    async open(_owner, _uid, request) {
      asked.push(request);
      if (request.container === 'nobody') return undefined;
      return Readable.from([line('one\n', 1_767_323_045_678), line('two\n', 1_767_323_046_000)]);
    },
  };
  const api = await openTestApi(t, { logs, clock: () => 1_000_000 });
  await withJob(api, { completions: 1, sidecars: [{ name: 'side' }, { name: 'nobody' }] });
  const plain = await api.call(`${JOB}/logs`);
  t.is(plain.headers.get('content-type'), 'text/plain; charset=utf-8');
  t.is(await plain.text(), 'one\ntwo\n');
  t.deepEqual(asked[0], {
    index: 0,
    epoch: undefined,
    container: 'main',
    follow: false,
    tail: undefined,
    since: undefined,
  });
  const stamped = await (
    await api.call(`${JOB}/logs?timestamps=true&tail=5&since=10m&follow=1&epoch=2&container=side`)
  ).text();
  t.regex(stamped, /^2026-01-02T03:04:05.678Z one\n/);
  t.deepEqual(asked[1], { index: 0, epoch: 2, container: 'side', follow: true, tail: 5, since: 400_000 });
  t.is((await api.call(`${JOB}/logs?container=nobody`)).status, 404);
  for (const bad of ['tail=x', 'since=yesterday', 'tail=1&tailLines=1', 'epoch=-1', 'index=1']) {
    t.true([400, 404].includes((await api.call(`${JOB}/logs?${bad}`)).status), bad);
  }
  await api.call(`${JOB}/logs?tailLines=5&sinceSeconds=600&previous=True&stream=All`);
  const kube = { index: 0, epoch: undefined, container: 'main', follow: false, tail: 5, since: 400_000 };
  t.deepEqual(asked.at(-1), { ...kube, previous: true });
  await api.call(`${JOB}/logs?tailLines=5&sinceTime=1970-01-01T00:06:40Z`);
  t.deepEqual(asked.at(-1), kube);
  t.is(await (await api.call(`${JOB}/logs?limitBytes=6`)).text(), 'one\ntw');
  for (const path of [`${JOB}/logs?tailines=10`, `${JOB}/outputs?tailines=10`, `${BASE}/events?tailines=10`]) {
    const unknown = await api.call(path);
    t.is(unknown.status, 400, path);
    t.is(at(await json(unknown), 'message'), 'unknown query parameter "tailines"');
    const name = path.includes('events') ? 'limit' : 'index';
    const twice = await api.call(path.replace('tailines=10', `${name}=1&${name}=2`));
    t.is(twice.status, 400);
    t.regex(String(at(await json(twice), 'message')), /must be there once/);
  }
  for (const [path, field] of [
    [`${JOB}/logs?timestamps=maybe`, 'timestamps'],
    [`${JOB}/logs?follow=yes`, 'follow'],
    [`${JOB}/logs?previous=2`, 'previous'],
    [`${BASE}/events?follow=maybe`, 'follow'],
    [`${JOB}/logs?container=%ff`, 'container'],
    [`${BASE}/events?type=JOB`, 'type'],
    [`${BASE}/events?type=job.max.*`, 'type'],
    [`${BASE}/events?object=x`, 'object'],
    [`${BASE}/events?object=Job/a/b`, 'object'],
  ] as const) {
    const refused = await api.call(path);
    t.is(refused.status, 400, path);
    t.is(at(await json(refused), 'details.causes.0.field'), field);
  }
  t.is((await api.call(`${JOB}/logs?timestamps=FALSE&follow=0&container=main`)).status, 200);
  t.is((await api.call(`${BASE}/events?object=job/%EF%BF%BD`)).status, 400, 'no name, though its bytes are a text');
  t.is((await api.call(`${IN_DEFAULT}/jobs?watch=false&allowWatchBookmarks=maybe`)).status, 200);
  t.is((await api.call(`${IN_DEFAULT}/jobs?unknown=1`)).status, 200, 'the Kubernetes verbs leave it alone');
  const v2 = await api.call('/openapi/v2');
  t.deepEqual([v2.status, await v2.text()], [200, '']);
  t.is((await api.call(`${JOB}/logs`, { method: 'POST' })).status, 405);
  t.is((await api.call(`${JOB}/logs`, { headers: bearer(KEYS.other) })).status, 404);
});

test('a container that an object has not is refused with the names of those it has, also for its Attempts', async (t) => {
  const api = await openTestApi(t, { logs: { open: async () => Readable.from([line('x')]) } });
  const spec = { completions: 1, initCommand: { command: ['a'] }, sidecars: [{ name: 'side', command: ['b'] }] };
  await withJob(api, spec);
  const put = (kind: string, name: string, more: object): Promise<unknown> =>
    api.resources.put({ org: 'acme', kind, project: 'default', name }, object(kind, name, 'default', {}, more));
  await put('Sandbox', 'box', {});
  await put('Workspace', 'desk', {});
  const owned = (kind: string, name: string, uid: string): object => ({
    ownerReferences: [{ apiVersion: `${API_GROUP}/v1`, kind, name, uid, controller: true }],
  });
  await put('Attempt', 'of-j', owned('Job', 'j', 'uid-Job-j'));
  await put('Attempt', 'of-box', owned('Sandbox', 'box', 'uid-Sandbox-box'));
  await put('Attempt', 'of-earlier', owned('Job', 'j', 'uid-of-an-earlier-j'));
  for (const [path, there, rule] of [
    ['jobs/j', ['main', 'network', 'init', 'side'], 'must be main, network, init, side'],
    ['attempts/of-j', ['main', 'network', 'init', 'side'], 'must be main, network, init, side'],
    ['sandboxes/box', ['main', 'network'], 'must be main, network, or process- and the id of a process'],
    ['workspaces/desk', ['main', 'network'], 'must be main, network, or process- and the id of a process'],
    ['attempts/of-box', ['main', 'network', 'process-a'], 'must be main, network, or process- and the id of a process'],
  ] as const) {
    const logs = `${IN_DEFAULT}/${path}/logs?container=`;
    for (const name of there) t.is((await api.call(logs + name)).status, 200, `${path} ${name}`);
    const refused = await api.call(`${logs}zz`);
    t.is(refused.status, 400, path);
    const said = await json(refused);
    t.is(at(said, 'message'), `container: Invalid value: "zz": ${rule}`);
    t.is(at(said, 'details.causes.0.field'), 'container');
  }
  t.is((await api.call(`${IN_DEFAULT}/sandboxes/box/logs?container=process-zz`)).status, 404);
  t.is((await api.call(`${IN_DEFAULT}/attempts/of-earlier/logs?container=zz`)).status, 200, 'nobody knows any more');
});

test('a Job of several indexes wants the index to be said', async (t) => {
  const api = await openTestApi(t, { logs: { open: async () => Readable.from([line('x')]) } });
  await withJob(api, { completions: 3 });
  const answer = await api.call(`${JOB}/logs`);
  t.is(answer.status, 400);
  t.is(at(await json(answer), 'reason'), 'OutputIndexRequired');
  t.is((await api.call(`${JOB}/logs?index=2`)).status, 200);
  t.is((await api.call(`${JOB}/logs?index=3`)).status, 404);
});

test('a followed log ends cleanly when its client leaves or the service drains', async (t) => {
  let stopped = 0;
  const logs: HttpDeps['logs'] = {
    async open(_owner, _uid, _request, signal) {
      async function* lines(): AsyncGenerator<LogLine> {
        try {
          yield line('begin\n');
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
        } finally {
          stopped += 1;
        }
      }
      return lines();
    },
  };
  const api = await openTestApi(t, { logs });
  await withJob(api, {});
  const abort = new AbortController();
  const left = await api.call(`${JOB}/logs?follow=true`, { signal: abort.signal });
  await left.body?.getReader().read();
  abort.abort();
  while (stopped < 1) await new Promise((resolve) => setImmediate(resolve));
  const followed = await api.call(`${JOB}/logs?follow=true`);
  const text = followed.text();
  const drained = api.http.drain();
  t.is(await text, 'begin\n');
  await drained;
  t.is(stopped, 2);
});

interface Shelf {
  readonly blobs: HttpDeps['blobs'];
  put(bytes: Buffer): string;
}

function shelf(): Shelf {
  const kept = new Map<string, Buffer>();
  const put = (bytes: Buffer): string => {
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    kept.set(digest, bytes);
    return digest;
  };
  const named = (digest: string): string => (digest.startsWith('sha256:') ? digest : `sha256:${digest}`);
  return {
    put,
    blobs: {
      async put(_org, stream, { sha256 }) {
        const bytes = Buffer.concat(await stream.toArray());
        const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
        if (sha256 !== undefined && named(sha256) !== digest) throw refuse('SHA256Mismatch', 'the bytes differ');
        const outcome = kept.has(digest) ? 'Exists' : 'Created';
        put(bytes);
        return { outcome, digest, size: bytes.length };
      },
      async head(_org, digest) {
        const bytes = kept.get(named(digest));
        return bytes && { digest: named(digest), size: bytes.length };
      },
      async get(_org, digest, range) {
        const bytes = kept.get(named(digest));
        if (bytes === undefined) return undefined;
        const part = range === undefined ? bytes : bytes.subarray(range.start, range.end + 1);
        return { digest: named(digest), size: bytes.length, stream: Readable.from([part]) };
      },
    },
  };
}

test('a client that has all of a download is answered again on the same connection, though the file is not closed yet', async (t) => {
  const { blobs, put } = shelf();
  const slowToEnd: HttpDeps['blobs'] = {
    ...blobs,
    async get(org, digest, range, project) {
      const found = await blobs.get(org, digest, range, project);
      return (
        found && {
          ...found,
          stream: Readable.from(
            (async function* () {
              yield* found.stream;
              await new Promise((resolve) => setTimeout(resolve, 100));
            })(),
          ),
        }
      );
    },
  };
  const api = await openTestApi(t, { blobs: slowToEnd });
  const digest = put(Buffer.alloc(200_000, 'x'));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  const get = (path: string): Promise<number> =>
    new Promise((resolve, reject) => {
      httpRequest(
        { agent, host: '127.0.0.1', port: api.http.httpPort, path, headers: bearer(KEYS.owner) },
        (answer) => void answer.resume().once('end', () => resolve(answer.statusCode ?? 0)),
      )
        .once('error', reject)
        .end();
    });
  for (let round = 0; round < 3; round += 1) {
    t.is(await get(`${IN_DEFAULT}/blobs/${digest}`), 200);
    t.is(await get(`${IN_DEFAULT}/secrets`), 200);
  }
  const counted = async (): Promise<readonly string[]> =>
    (await (await api.call('/metrics')).text()).match(/^troupe_http_requests_total\{.*resource="blobs".*$/gm) ?? [];
  await until('all downloads are counted', async () => (await counted()).at(-1)?.endsWith(' 3') === true);
  t.deepEqual(
    await counted(),
    ['troupe_http_requests_total{verb="transfer",resource="blobs",status="200"} 3'],
    'a whole download counts as what it was answered',
  );
  t.deepEqual(api.logged, []);
});

test('a client that leaves in the middle of a download ends the reading of the blob', async (t) => {
  const { blobs, put } = shelf();
  const digest = put(Buffer.alloc(1_000_000, 'x'));
  const first = Readable.from(
    (async function* () {
      yield Buffer.alloc(1_000, 'x');
      await new Promise(() => undefined);
    })(),
  );
  const stuck: HttpDeps['blobs'] = {
    ...blobs,
    get: async () => ({ digest, size: 1_000_000, stream: first }),
  };
  const api = await openTestApi(t, { blobs: stuck });
  const leaving = new AbortController();
  const answer = await api.call(`${IN_DEFAULT}/blobs/${digest}`, { signal: leaving.signal });
  t.is(answer.status, 200);
  leaving.abort();
  await until('the reading is over', () => first.destroyed);
  t.deepEqual(api.logged, []);
});

test('a blob goes in, is asked for, and comes out whole or in part', async (t) => {
  const { blobs } = shelf();
  const api = await openTestApi(t, { blobs });
  await api.resources.put(
    { org: 'acme', kind: 'Namespace', project: '', name: 'default' },
    object('Namespace', 'default', ''),
  );
  const path = `${IN_DEFAULT}/blobs`;
  const octets = { 'content-type': 'application/octet-stream' };
  const made = await api.call(path, { method: 'POST', body: 'hello world', headers: octets });
  t.is(made.status, 201);
  const body = await json(made);
  const digest = String(at(body, 'digest'));
  t.is(at(body, 'size'), 11);
  t.is((await api.call(path, { method: 'POST', body: 'hello world', headers: octets })).status, 200);
  const wrong = await api.call(path, { method: 'POST', body: 'x', headers: { ...octets, 'x-content-sha256': '00' } });
  t.is(wrong.status, 422);
  t.is(at(await json(wrong), 'reason'), 'SHA256Mismatch');
  t.is(
    (await api.call(path, { method: 'POST', body: 'x', headers: { ...octets, 'idempotency-key': 'k' } })).status,
    400,
  );

  const head = await api.call(`${path}/${digest}`, { method: 'HEAD' });
  t.is(head.status, 200);
  t.is(head.headers.get('content-length'), '11');
  const whole = await api.call(`${path}/${encodeURIComponent(digest)}`);
  t.is(await whole.text(), 'hello world');
  t.is(
    (await api.call(`${path}/${digest}`, { headers: { 'if-none-match': whole.headers.get('etag') ?? '' } })).status,
    304,
  );
  const part = await api.call(`${path}/${digest}`, { headers: { range: 'bytes=6-' } });
  t.is(part.status, 206);
  t.is(part.headers.get('content-range'), 'bytes 6-10/11');
  t.is(await part.text(), 'world');
  t.is(await (await api.call(`${path}/${digest}`, { headers: { range: 'bytes=-3' } })).text(), 'rld');
  t.is((await api.call(`${path}/${digest}`, { headers: { range: 'bytes=50-' } })).status, 416);
  t.is((await api.call(`${path}/${digest}`, { headers: { range: 'bytes=-0' } })).status, 416);
  // A range that makes no sense is as good as none.
  for (const range of ['bytes=5-2', 'bytes=-', 'bytes=x-', 'lines=1-2', 'bytes=0-1,3-4']) {
    t.is((await api.call(`${path}/${digest}`, { headers: { range } })).status, 200, range);
  }
  t.is((await api.call(`${path}/sha256:nope`)).status, 404);
  t.is((await api.call(path, { method: 'POST', body: 'x', headers: bearer(KEYS.viewer) })).status, 403);
  t.is((await api.call(`${BASE}/blobs`, { method: 'POST', body: 'x' })).status, 404);
});

test('outputs are listed and downloaded by name and index', async (t) => {
  const { blobs, put } = shelf();
  const sha256 = put(Buffer.from('result'));
  const entry = { name: 'outputs', index: 1, size: 6, sha256, directory: true };
  const api = await openTestApi(t, {
    blobs,
    outputs: {
      list: () => Readable.from([[entry], [], [{ ...entry, index: 2 }]]),
      find: async (_owner, _uid, name, index) =>
        name === 'outputs' && index === 1 ? entry : name === 'bad' ? { ...entry, error: 'too large' } : undefined,
    },
  });
  await withJob(api, { completions: 3 });
  t.is(list(await json(api.call(`${JOB}/outputs`)), 'items').length, 2);
  t.is(at(await json(api.call(`${JOB}/outputs/outputs`)), 'reason'), 'OutputIndexRequired');
  const got = await api.call(`${JOB}/outputs/outputs?index=1`);
  t.is(await got.text(), 'result');
  t.is(got.headers.get('content-disposition'), 'attachment; filename="outputs.tar.zst"');
  for (const name of ['nope', 'bad', '..%2F..%2Fetc', 'A%22B']) {
    const answer = await api.call(`${JOB}/outputs/${name}?index=1`);
    t.is(answer.status, 404, name);
    t.is(at(await json(answer), 'reason'), 'OutputNotFound', name);
  }
});

test('outputs of a Job of many indexes are listed whole, written piece by piece as they are taken', async (t) => {
  const sha256 = `sha256:${'a'.repeat(64)}`;
  const batches = Array.from({ length: 30 }, (_, batch) =>
    Array.from({ length: 100 }, (__, n) => ({ name: 'outputs', index: batch * 100 + n, size: 1, sha256 })),
  );
  const none: object[][] = [];
  for (const listed of [batches, none]) {
    const api = await openTestApi(t, {
      outputs: { list: () => Readable.from(listed), find: async () => undefined },
    });
    await withJob(api, { completions: 3_000 });
    const items = list(await json(api.call(`${JOB}/outputs`)), 'items');
    t.deepEqual(
      items.map((item) => at(item, 'index')),
      listed.flat().map((_, index) => index),
    );
  }
});

test('operators alone see supervisors and make orgs', async (t) => {
  const restarted: string[] = [];
  let audits = 0;
  const operators: HttpDeps['operators'] = {
    supervisors: async (kind) => (kind === undefined ? [{ kind: 'Job' }] : kind === 'Job' ? { kind } : undefined),
    async parked(kind, limit, after = '') {
      const items = ['a', 'b', 'c'].filter((name) => name > after).slice(0, limit);
      return kind === 'Job' ? { items, next: items.at(-1) === 'c' ? undefined : items.at(-1) } : undefined;
    },
    async restartSupervisor(kind) {
      restarted.push(kind);
      return kind === 'Job';
    },
    actor: async (uid) => (uid === 'u1' ? { uid } : undefined),
    restartActor: async (uid) => uid === 'u1',
    admissions: async (paused = false) => ({ paused }),
    ledger: { state: () => ({ running: audits > 0, findings: [] }), request: () => void (audits += 1) },
    orgs: async () => [{ org: 'bootstrap', name: 'bootstrap', creationTimestamp: '2026-01-02T03:04:05Z' }],
    createOrg: async (name) =>
      name === 'taken' ? { outcome: 'Taken' } : { outcome: 'Created', org: 'o-1', key: 'svc_x' },
    recoverOrg: async (name) =>
      name === 'new' ? { outcome: 'Created', org: 'o-1', key: 'svc_y' } : { outcome: 'NotFound' },
  };
  const api = await openTestApi(t, { operators });
  t.is((await api.call('/ops/v1/orgs')).status, 403);

  const root = object('Member', 'root', '', { email: 'root@x.test', role: 'Owner' });
  await api.resources.put({ org: 'bootstrap', kind: 'Member', project: '', name: 'root' }, root);
  const address = { org: 'bootstrap', kind: 'APIKey', project: '', name: 'root-key' };
  await api.resources.put(address, object('APIKey', 'root-key', ''));
  api.credentials.set(createHash('sha256').update('svc_root').digest('hex'), {
    address,
    uid: 'uid-APIKey-root-key',
    detail: { actsAs: { member: 'root' }, scopes: ['*:*', 'operator:*'] },
  });
  const headers = bearer('svc_root');
  const post = (path: string, body: string): Promise<Response> => api.call(path, { method: 'POST', headers, body });
  t.is(list(await json(api.call('/ops/v1/orgs', { headers })), 'items').length, 1);
  const made = await post('/ops/v1/orgs', '{"name":"new"}');
  t.is(made.status, 201);
  t.deepEqual(await json(made), { org: 'o-1', name: 'new', key: 'svc_x' });
  t.is((await post('/ops/v1/orgs/none/keys', '{}')).status, 404);
  t.is((await api.call('/ops/v1/orgs?nmae=x', { headers })).status, 400);
  t.deepEqual(await json(post('/ops/v1/orgs/new/keys', '{}')), { org: 'o-1', name: 'new', key: 'svc_y' });
  t.is((await api.call('/ops/v1/orgs/new/keys', { method: 'POST', body: '{}' })).status, 403);
  t.is((await post('/ops/v1/orgs', '{"name":"taken"}')).status, 409);
  t.is((await post('/ops/v1/orgs', '{"name":"Not A Name"}')).status, 422);
  t.is((await post('/ops/v1/orgs', '{"nam')).status, 400);
  t.is((await post('/ops/v1/orgs', '')).status, 415);
  t.is(list(await json(api.call('/ops/v1/supervisors', { headers })), 'items').length, 1);
  t.is((await api.call('/ops/v1/supervisors/Job', { headers })).status, 200);
  t.is((await api.call('/ops/v1/supervisors/Nope', { headers })).status, 404);
  const parked = (query: string): Promise<unknown> =>
    json(api.call(`/ops/v1/supervisors/Job/parked${query}`, { headers }));
  t.deepEqual(await parked('?limit=2'), { items: ['a', 'b'], metadata: { continue: 'b' } });
  t.deepEqual(await parked('?limit=2&continue=b'), { items: ['c'], metadata: {} });
  t.is((await api.call('/ops/v1/supervisors/Nope/parked', { headers })).status, 404);
  t.is((await post('/ops/v1/supervisors/Job/restarts', '')).status, 202);
  t.is((await post('/ops/v1/supervisors/Job/restarts', '{}')).status, 202);
  for (const path of ['/ops/v1/supervisors/Job/restarts', '/ops/v1/actors/u1/restarts']) {
    t.is((await post(path, '{"force":true}')).status, 422, path);
  }
  t.is((await api.call('/ops/v1/actors/u1', { headers })).status, 200);
  t.is((await post('/ops/v1/actors/u2/restarts', '')).status, 404);
  t.deepEqual(await json(post('/ops/v1/admissions', '{"paused":true}')), { paused: true });
  t.deepEqual(await json(api.call('/ops/v1/ledger', { headers })), { running: false, findings: [] });
  t.is((await post('/ops/v1/ledger/audits', '{"org":"acme"}')).status, 422);
  t.is((await post('/ops/v1/ledger/audits', '')).status, 202);
  t.deepEqual(await json(post('/ops/v1/ledger/audits', '{}')), { running: true, findings: [] });
  t.is(audits, 2);
  t.is((await api.call('/ops/v1/ledger', {})).status, 403);
  t.is((await api.call('/ops/v1/nothing', { headers })).status, 404);
  t.deepEqual(api.logged, []);
});

test('every error code has its page, and every answer counts in the metrics', async (t) => {
  const api = await openTestApi(t);
  const early = await json(api.call(`${IN_DEFAULT}/secrets?resourceVersion=999999`));
  t.like(early, { code: 504, reason: 'Timeout', docs: `${api.url}/docs/errors/Timeout` });
  const noForm = await json(api.call(`${IN_DEFAULT}/secrets`, { headers: { ...bearer(KEYS.owner), accept: 'a/b' } }));
  t.like(noForm, { code: 406, reason: 'NotAcceptable', docs: `${api.url}/docs/errors/NotAcceptable` });
  t.is(typeof at(noForm, 'requestId'), 'string');
  for (const code of [...ERROR_CODES, 'Timeout', 'NotAcceptable']) {
    const page = await fetch(`${api.url}/docs/errors/${code}`, { headers: { accept: 'text/html' } });
    t.is(page.status, 200, code);
    t.regex(await page.text(), new RegExp(`<h1>${code}</h1>`));
  }
  t.is((await fetch(`${api.url}/docs/errors/Nope`)).status, 404);
  const index = await (await fetch(`${api.url}/docs/errors`, { headers: { accept: 'text/html' } })).text();
  for (const code of ERROR_CODES) t.true(index.includes(`<a href="/docs/errors/${code}">`), code);
  const plain = await fetch(`${api.url}/docs/errors/NotFound`, { headers: { accept: 'text/markdown' } });
  t.regex(plain.headers.get('content-type') ?? '', /markdown/);
  t.regex(await plain.text(), /^# NotFound/);
  await api.make('Secret', 'secrets', 'a');
  for (let i = 0; i < 3; i++) await api.call(`${IN_DEFAULT}/secrets/a`);
  await api.call(`${IN_DEFAULT}/secrets/b`);
  const metrics = await (await api.call('/metrics')).text();
  t.regex(metrics, /troupe_http_requests_total\{verb="get",resource="secrets",status="200"\} 3/);
  t.regex(metrics, /troupe_http_requests_total\{verb="get",resource="secrets",status="404"\} 1/);
  t.regex(metrics, /troupe_http_request_duration_seconds_bucket\{le="\+Inf",verb="create",resource="secrets"\} 1/);
});

test('the ids that a client gives its request come back and stand in the log, unless they are no ids', async (t) => {
  const api = await openTestApi(t, { config: { accessLog: true } });
  const trace = '0af7651916cd43dd8448eb211c80319c';
  const headers = { 'x-request-id': 'client-7', traceparent: `00-${trace}-b7ad6b7169203331-01` };
  await api.make('Secret', 'secrets', 'a');
  const answer = await api.call(`${IN_DEFAULT}/secrets/a?token=hidden`, {
    headers: { ...bearer(KEYS.owner), ...headers },
  });
  t.is(answer.headers.get('x-request-id'), 'client-7');
  const refused = await api.call(`${IN_DEFAULT}/secrets/none`, { headers: { ...bearer(KEYS.owner), ...headers } });
  t.is(at(await json(refused), 'requestId'), 'client-7');
  const lines = api.logged.filter((written) => written.includes('client-7'));
  t.is(lines.length, 2);
  for (const written of lines) t.regex(written, new RegExp(`^request .*"traceId":"${trace}".*"org":"acme"`));
  t.regex(lines[0] ?? '', /"method":"GET","path":"[^"?]*\/secrets\/a","status":200/);
  t.false(api.logged.join().includes('hidden'));
  t.false(api.logged.join().includes(KEYS.owner));
  for (const bad of ['', 'a b', 'x'.repeat(129), '{"a":1}', '-a']) {
    const own = await api.call(`${IN_DEFAULT}/secrets/a`, { headers: { ...bearer(KEYS.owner), 'x-request-id': bad } });
    t.regex(own.headers.get('x-request-id') ?? '', /^[0-9a-f]{10}-[0-9a-z]+$/, bad);
  }
  t.is(readTraceId(headers.traceparent), trace);
  for (const bad of ['', '00-1-2-3', `ff-${trace}-b7ad6b7169203331-01`, `00-${'0'.repeat(32)}-b7ad6b7169203331-01`]) {
    t.is(readTraceId(bad), undefined, bad);
  }
});
