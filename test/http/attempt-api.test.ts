/** The attempt API at its socket, over work that is made up. What work sees of it: `jobs/network.test.ts`. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { openAttemptApi, type AttemptApi, type Progress } from '../../http/attempt-api/server.js';

const directory = mkdtempSync(join(tmpdir(), 'troupe-attempt-api-'));
const socket = join(directory, 'api.sock');
const live = new Set(['a.1', 'b.1', 'c.1', 'd.1']);
const noted: [string, Progress][] = [];
let api: AttemptApi;
let verified = 0;
/** What asks for work `held` waits for it. */
let held: Promise<void> = Promise.resolve();
let release: () => void = () => undefined;

test.before(async () => {
  const silent = { info() {}, warn() {}, error() {} };
  api = await openAttemptApi({
    socket,
    verify(token) {
      verified += 1;
      return token.startsWith('of ') ? undefined : token.replace('token-', '');
    },
    async isLive(work) {
      if (work === 'held') await held;
      return live.has(work);
    },
    async progress(work, progress) {
      if (work === 'c.1') return 'Later';
      noted.push([work, progress]);
      return 'Noted';
    },
    log: silent,
  });
});
test.after.always(async () => {
  await api.close();
  rmSync(directory, { recursive: true });
});

/** `box`: the work for whose box the proxy speaks. */
async function ask(
  token: string | undefined,
  body: string | undefined,
  path = '/attempt/v1/progress',
  box?: string | string[],
) {
  const headers = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(box === undefined ? {} : { 'x-svc-work': box }),
  };
  const asked = request({ socketPath: socket, path, method: body === undefined ? 'GET' : 'POST', headers });
  asked.end(body);
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of answer) text += String(chunk);
  return { status: answer.statusCode, retry: answer.headers['retry-after'], text };
}

test('one attempt that reports without end is slowed down, and no other with it', async (t) => {
  const statuses: (number | undefined)[] = [];
  for (let n = 0; n < 14; n++) statuses.push((await ask('token-a.1', `{"completed":${n}}`)).status);
  t.true(statuses.filter((status) => status === 200).length >= 10);
  t.is(statuses.at(-1), 429);
  t.is((await ask('token-a.1', '{"completed":1}')).retry, '1');
  t.is((await ask('token-b.1', '{"completed":1,"total":2}')).status, 200);
  t.deepEqual(noted.at(-1), ['b.1', { completed: 1, total: 2 }]);
});

test('without the token of living work nothing is said, not even what there is', async (t) => {
  for (const token of [undefined, '', 'token-a.2', 'of nobody']) {
    t.is((await ask(token, '{"completed":1}')).status, 401, token);
    t.is((await ask(token, undefined, '/no/such/path')).status, 401, token);
  }
});

test('the token of one Attempt is refused from the box of another, and nothing is said of its work', async (t) => {
  for (const box of ['a.1', 'd.2', '', ['d.1', 'd.1']]) {
    const refused = await ask('token-d.1', '{"completed":1}', undefined, box);
    t.is(refused.status, 401, String(box));
    t.is(refused.text.replace(/attempt-\w+/, ''), (await ask('x', '{}')).text.replace(/attempt-\w+/, ''));
  }
  t.is((await ask('token-d.1', '{"completed":2}', undefined, 'd.1')).status, 200);
  t.deepEqual(
    noted.filter(([work]) => work === 'd.1'),
    [['d.1', { completed: 2 }]],
  );
});

test('what could not be taken may be said again, and what is too large is not read', async (t) => {
  t.like(await ask('token-c.1', '{"completed":1}'), { status: 503, retry: '1' });
  t.is((await ask('token-d.1', `{"completed":1,"x":"${'y'.repeat(20_000)}"}`)).status, 413);
  t.is((await ask('token-d.1', '[1]')).status, 400);
  t.is((await ask('token-d.1', '{"completed":1.5}')).status, 422);
  t.is((await ask('token-d.1', '{"completed":2,"total":1}')).status, 422);
});

test.serial(
  'requests sent ahead are taken one by one: those of one connection cost the service one at a time',
  async (t) => {
    const before = verified;
    held = new Promise((resolve) => (release = resolve));
    const flood = connect(socket);
    const ended = once(flood.on('error', () => undefined).resume(), 'close');
    flood.write(
      'POST /attempt/v1/progress HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer token-held\r\n\r\n'.repeat(2_000),
    );
    // Another connection goes its whole way meanwhile.
    for (let n = 0; n < 5; n++) t.is((await ask('token-b.2', '{"completed":1}')).status, 401);
    t.is(verified - before, 6);
    flood.destroy();
    await ended;
    release();
  },
);
