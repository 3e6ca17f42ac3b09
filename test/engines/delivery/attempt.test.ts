/** One attempt: what counts as taken, what is tried again, what never is, and how long it may take. */
import type { ServerResponse } from 'node:http';
import test from 'ava';
import { attempt, type AttemptResult } from '../../../src/engines/delivery/attempt.js';
import { sign } from '../../../src/engines/delivery/sign.js';
import { openDialer } from '../../../src/engines/dialer/dialer.js';
import { missing, openServer } from '../dialer/server.js';

const run = missing === undefined ? test : test.skip;
const BODY = Buffer.from('{"type":"job.failed"}');

async function open(t: { teardown(end: () => unknown): void }, answer: (response: ServerResponse) => void) {
  const server = await openServer(t, (request, response) => {
    request.resume();
    request.once('end', () => answer(response));
  });
  const dialer = openDialer({ ca: [server.ca], allow: ['127.0.0.1'] });
  t.teardown(() => dialer.close());
  const stopping = new AbortController();
  const post = (url = `https://127.0.0.1:${server.port}/`, answerMs = 10_000): Promise<AttemptResult> => {
    const headers = sign('msg_1', Date.now(), BODY, [Buffer.from('k')]);
    return attempt({ url, headers, body: BODY }, { dialer, signal: stopping.signal, answerMs });
  };
  return { ...server, post, stop: () => stopping.abort() };
}

run('2xx is taken, whatever its body; anything else is tried again and says what came', async (t) => {
  let code = 200;
  const receiver = await open(t, (response) => {
    response.writeHead(code, { location: 'https://elsewhere.test/' }).end('x'.repeat(200_000));
  });
  for (code of [200, 201, 202, 299]) t.deepEqual(await receiver.post(), { outcome: 'Taken', status: code });
  for (code of [300, 302, 307, 400, 401, 404, 410, 429, 500, 503]) {
    t.like(await receiver.post(), { outcome: 'Refused', status: code });
  }
  code = 308;
  t.like(await receiver.post(), { message: 'the receiver answered with a redirect (308), which is not followed' });
});

run(
  'a receiver that says nothing in time is tried again; one that has said 2xx is not, however long it goes on',
  async (t) => {
    const silent = await open(t, () => {});
    const begun = performance.now();
    t.deepEqual(await silent.post(undefined, 200), {
      outcome: 'Refused',
      status: 0,
      message: 'the receiver did not answer within 0.2 s',
    });
    t.true(performance.now() - begun < 2_000);
    const endless = await open(t, (response) => {
      response.writeHead(200).write('a');
    });
    t.deepEqual(await endless.post(undefined, 200), { outcome: 'Taken', status: 200 });
    const trickled = performance.now();
    t.deepEqual(await endless.post(undefined, 60_000), { outcome: 'Taken', status: 200 });
    t.true(
      performance.now() - trickled < 30_000,
      'the body gets a second, whatever is left of the time for the answer',
    );
    const broken = await open(t, (response) => response.destroy());
    t.like(await broken.post(), { outcome: 'Refused', status: 0 });
  },
);

run('where nothing listens is tried again; where the service may not go is not', async (t) => {
  const receiver = await open(t, (response) => response.end());
  t.like(await receiver.post('https://127.0.0.1:1/'), { outcome: 'Refused', status: 0 });
  t.like(await receiver.post('https://[::1]/'), { outcome: 'Forbidden' });
  t.like(await receiver.post('https://169.254.169.254/latest/meta-data'), { outcome: 'Forbidden' });
  t.like(await receiver.post('http://127.0.0.1/'), { outcome: 'Forbidden' });
  t.is(receiver.connections(), 0);
});

run('a stop ends the attempt with nothing known of it', async (t) => {
  const receiver = await open(t, () => receiver.stop());
  t.deepEqual(await receiver.post(), { outcome: 'Stopped' });
  t.deepEqual(await receiver.post(), { outcome: 'Stopped' });
});
