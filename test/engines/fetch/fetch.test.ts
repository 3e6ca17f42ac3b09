import test, { type ExecutionContext } from 'ava';
import { createHash } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDialer } from '../../../src/engines/dialer/dialer.js';
import { fetchUrl, isTooSlow, type FetchOptions, type FetchResult } from '../../../src/engines/fetch/fetch.js';
import { missing, openServer } from '../dialer/server.js';

const run = missing === undefined ? test : test.skip;
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

async function start(t: ExecutionContext, listener: RequestListener) {
  const server = await openServer(t, listener);
  const dir = await mkdtemp(join(tmpdir(), 'troupe-fetch-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const dialer = openDialer({ allow: ['127.0.0.1'], ca: [server.ca], silenceMs: 2_000 });
  return {
    dir,
    fetch: (more: Partial<FetchOptions> = {}): Promise<FetchResult> =>
      fetchUrl(`https://127.0.0.1:${server.port}/in?token=hush`, {
        dialer,
        limit: 1_000_000,
        to: join(dir, 'in'),
        signal: new AbortController().signal,
        ...more,
      }),
  };
}

run('an input is fetched whole, read-only, and only with the content that was named', async (t) => {
  const { dir, fetch } = await start(t, (_request, response) => response.end('hello'));
  const result = await fetch({ sha256: `sha256:${sha256('hello').toUpperCase()}` });
  t.deepEqual(result, { outcome: 'Fetched', size: 5, sha256: sha256('hello') });
  t.is(await readFile(join(dir, 'in'), 'utf8'), 'hello');
  t.is((await stat(join(dir, 'in'))).mode & 0o777, 0o444);
  t.like(await fetch(), { outcome: 'Failed', reason: 'InputUnwritable' }, 'a file that is there is not written over');
});

run('what is refused leaves no file and names no more than the host', async (t) => {
  const cases: readonly [reason: string, listener: RequestListener, more: Partial<FetchOptions>][] = [
    ['SHA256Mismatch', (_request, response) => response.end('hello'), { sha256: sha256('other') }],
    ['TooLarge', (_request, response) => response.end('hello'), { limit: 4 }],
    ['TooLarge', (_request, response) => void (response.write('hel'), response.end('lo')), { limit: 4 }],
    ['StatusRefused', (_request, response) => response.writeHead(302, { location: 'https://files.test/' }).end(), {}],
    ['StatusRefused', (_request, response) => response.writeHead(404).end('no'), {}],
    ['StatusRefused', (_request, response) => response.writeHead(206).end('part'), {}],
  ];
  for (const [reason, listener, more] of cases) {
    const { dir, fetch } = await start(t, listener);
    const result = await fetch(more);
    t.like(result, { outcome: 'Failed', reason, retryable: false });
    t.notRegex(result.outcome === 'Failed' ? result.message : '', /hush/);
    t.deepEqual(await readdir(dir), []);
  }
});

run('a server that fails at first is asked again, and one that breaks off is not believed', async (t) => {
  let asked = 0;
  const { dir, fetch } = await start(t, (_request, response) => {
    asked += 1;
    if (asked === 1) response.writeHead(503).end();
    else if (asked === 2) {
      response.writeHead(200, { 'content-length': 5 });
      response.write('hel', () => response.destroy());
    } else response.end('hello');
  });
  t.like(await fetch(), { outcome: 'Fetched', size: 5 });
  t.is(asked, 3);
  t.deepEqual(await readdir(dir), ['in']);
});

test('the time of a fetch follows what has come, after a first minute', (t) => {
  const KiB = 1024;
  t.false(isTooSlow(0, 60_000));
  t.true(isTooSlow(64 * KiB, 60_001));
  t.false(isTooSlow(65 * KiB, 60_001));
  t.false(isTooSlow(640 * KiB, 600_000));
  t.true(isTooSlow(639 * KiB, 600_000));
});

run('an input that trickles fails by its own fault, in few bytes, and is not tried again', async (t) => {
  let asked = 0;
  const { dir, fetch } = await start(t, (_request, response) => {
    asked += 1;
    const drops = setInterval(() => response.write('x'), 5);
    response.once('close', () => clearInterval(drops));
  });
  let clock = 0;
  const result = await fetch({ now: () => (clock += 20_000) });
  t.like(result, { outcome: 'Failed', reason: 'TooSlow', retryable: false });
  t.regex(
    result.outcome === 'Failed' ? result.message : '',
    /^127\.0\.0\.1 sent \d bytes in \d+ s: at least 65536 bytes/,
  );
  t.is(asked, 1);
  t.deepEqual(await readdir(dir), []);
});

run('a caller that gives up in the middle leaves no file', async (t) => {
  const ending = new AbortController();
  const { dir, fetch } = await start(t, (_request, response) => {
    response.write('hel', () => ending.abort());
  });
  t.like(await fetch({ signal: ending.signal }), { outcome: 'Failed', reason: 'Aborted' });
  t.deepEqual(await readdir(dir), []);
});
