/** Bad input: a clear Status each, never a 500, never a lost or half-written object. */
import test from 'ava';
import { request as httpRequest } from 'node:http';
import { listAt, numberAt, objectOf, textAt } from '../e2e/client.js';
import { CASES, COLLECTION, JOBS, PROJECT, SECRETS } from './cases.js';
import type { Running } from '../e2e/running.js';
import { shareRestarted, type Restarted } from './restarted.js';

let shared: Restarted | undefined;
let service: Running;
test.before(async () => {
  shared = await shareRestarted();
  ({ service } = shared);
  const project = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: PROJECT } };
  await service.client().post('/api/v1/namespaces', project);
  await service.client().post(COLLECTION, objectOf('ServiceAccount', 'there', { description: 'as it was' }));
});
test.after.always(() => shared?.close());

for (const { name, method = 'POST', to = COLLECTION, ask = {}, status, reason } of CASES) {
  test.serial(`${method} with ${name} answers a clear Status`, async (t) => {
    const answer = await service.client().ask(method, to, ask);
    const good = typeof status === 'number' ? [status] : status;
    t.true(good.includes(answer.status), `${answer.status}: ${answer.text.slice(0, 500)}`);
    t.false(answer.text.includes('hunter2'), 'a value is repeated');
    t.false(answer.text.includes('node_modules') || answer.text.includes('    at '), 'a stack is shown');
    if (answer.status < 400 || answer.status === 431) return;
    const told = ['kind', 'apiVersion', 'status'].map((field) => textAt(answer.body, field));
    t.deepEqual(told, ['Status', 'v1', 'Failure'], answer.text);
    t.is(numberAt(answer.body, 'code'), answer.status);
    for (const field of ['reason', 'message', 'fix', 'docs', 'requestId']) {
      t.not(textAt(answer.body, field), '', `${field}: ${answer.text.slice(0, 500)}`);
    }
    if (reason !== undefined) t.is(textAt(answer.body, 'reason'), reason, answer.text);
  });
}

test.serial('paths that climb are not normalised into something else', async (t) => {
  const { url, key } = service.client();
  for (const climbing of [
    '/apis/svc.dev/v1/namespaces/default/serviceaccounts/../secrets',
    '/../../etc/passwd',
    '/api/v1/namespaces/default/..%2f..',
    '//etc/passwd',
    '/apis//v1',
    '*',
  ]) {
    const { hostname, port } = new URL(url);
    // Not fetch: it would normalise the path itself.
    const status = await new Promise<number>((resolve, reject) => {
      const sent = httpRequest(
        { hostname, port, path: climbing, headers: { authorization: `Bearer ${key}` } },
        (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        },
      );
      sent.on('error', reject);
      sent.end();
    });
    t.true(status >= 400 && status < 500, `${climbing} answered ${status}`);
  }
});

test.serial('after all that, what was there is as it was, and nothing half-written is there', async (t) => {
  const read = await service.client().get(`${COLLECTION}/there`);
  t.is(read.status, 200);
  t.is(textAt(read.body, 'spec', 'description'), 'as it was');
  t.is(({} as Record<string, unknown>)['polluted'], undefined);
  const list = await service.client().get(COLLECTION);
  t.is(list.status, 200);
  t.true(listAt(list.body, 'items').length > 0);
  for (const route of [SECRETS, JOBS]) t.deepEqual(listAt((await service.client().get(route)).body, 'items'), []);
});
