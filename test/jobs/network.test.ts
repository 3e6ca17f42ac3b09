/** What the programs of a Job reach: the outside by its policy, their own API, and nothing of the service beside that. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { textAt, valueAt } from '../e2e/client.js';
import { processesOn } from '../e2e/processes.js';
import { until } from '../e2e/until.js';
import { descendants, text } from '../support/proc.js';
import { findProgram } from '../../src/engines/compute/shared/find-program.js';
import { ALLOWED, openJobs, outcomeOf, sh, type Jobs } from './jobs.js';

let jobs: Jobs;
let told = 'wait';
const web = createServer((req, res) =>
  res.end(req.url === '/go' ? told : `${req.method} ${req.url} of ${req.headers.host}\n`),
);
const curl = findProgram('curl') === undefined ? test.skip : test;
const alone = findProgram('curl') === undefined ? test.skip : test.serial;

test.before(async () => {
  web.listen(0, ALLOWED);
  await once(web, 'listening');
  jobs = await openJobs();
});
test.after.always(async () => {
  web.close();
  await jobs.close();
});

/** The proxy process of this service's runner. */
function proxyOf({ service }: Jobs): Promise<number> {
  return until('a proxy process', async () => {
    for (const [pid, line] of processesOn(service.dataDir)) {
      if (!/^\S*node .*runner\/main\.js/.test(line)) continue;
      const proxy = descendants(pid).find((child) => text(`/proc/${child}/cmdline`).includes('/proxy.mjs\0'));
      if (proxy !== undefined) return proxy;
    }
    return undefined;
  });
}

curl(
  'a program finds its proxy in the environment, reaches what it may, and the service is not among it',
  async (t) => {
    const at = `${ALLOWED}:${(web.address() as AddressInfo).port}`;
    const api = jobs.service.url;
    const job = await jobs.run('open', {
      command: sh(`
      curl -sS http://${at}/by?http; curl -sS -p http://${at}/by-connect; curl -sS -x socks5h://127.0.0.1:3128 http://${at}/by-socks
      curl -sS ${api}/livez --noproxy '' -o /dev/null -w '%{http_code} '
      curl -sS http://169.254.169.254/latest/meta-data -o /dev/null -w '%{http_code}\\n'
      curl -sS --noproxy '*' ${api}/livez -m 2 2>/dev/null || echo none`),
    });
    const said = await jobs.log('open');
    t.is(outcomeOf(job), 'Succeeded Completed', said);
    t.is(said, `GET /by?http of ${at}\nGET /by-connect of ${at}\nGET /by-socks of ${at}\n403 403\nnone\n`);
    const lines = (await jobs.log('open', 'container=network')).trim().split('\n');
    t.deepEqual(
      lines.map((line) => line.split(' ').slice(0, 3).join(' ')),
      [
        `HTTP ${at} allowed`,
        `CONNECT ${at} allowed`,
        `SOCKS5 ${at} allowed`,
        `HTTP ${api.slice('http://'.length)} refused`,
        'HTTP 169.254.169.254:80 refused',
      ],
    );
    t.false(lines.join('').includes('by'));
  },
);

// First, and alone: the programs of other tests reach nothing meanwhile.
alone('the proxy dies and no box with it: it is started again, and boxes reach what they may through it', async (t) => {
  const at = `${ALLOWED}:${(web.address() as AddressInfo).port}`;
  await jobs.post('outlives', {
    command: sh(`
    curl -sS http://${at}/one
    until [ "$(curl -sS http://${at}/go 2>/dev/null)" = gone ]; do sleep 0.1; done
    curl -sS http://${at}/two
    curl -s --unix-socket $SVC_API_SOCKET $SVC_API_URL/livez -o /dev/null -w '%{http_code}'`),
  });
  await until('the first answer', async () => (await jobs.log('outlives')).startsWith('GET /one'));
  const before = await proxyOf(jobs);
  process.kill(before, 'SIGKILL');
  told = 'gone';
  t.is(outcomeOf(await jobs.ended('outlives')), 'Succeeded Completed');
  t.is(await jobs.log('outlives'), `GET /one of ${at}\nGET /two of ${at}\n401`);
  t.is((await jobs.attempts('outlives')).length, 1);
  t.not(await proxyOf(jobs), before);
  t.regex(await jobs.log('outlives', 'container=network'), /the proxy ended/);
});

curl(
  'an AllowList with presets refuses all others by name, and under Deny there is no proxy and no word of one',
  async (t) => {
    const egress = { policy: 'AllowList', allow: ['*.example.org'], presets: ['pypi'] };
    await jobs.run('listed', {
      network: { egress },
      command: sh(`curl -s http://example.com/; curl -s http://example.org/; curl -s http://${ALLOWED}/`),
    });
    t.is(
      await jobs.log('listed'),
      'the network policy AllowList does not allow example.com\n' +
        'the network policy AllowList does not allow example.org\n' +
        `the network policy AllowList allows names only, and ${ALLOWED} is an address\n`,
    );
    await jobs.run('denied', {
      network: { egress: { policy: 'Deny' } },
      command: sh('env | grep -ci proxy || true; curl -s -x http://127.0.0.1:3128 http://example.org/ || echo none'),
    });
    t.is(await jobs.log('denied'), '0\nnone\n');
  },
);

curl(
  'work reports its progress with its own token, which is good for nothing else and dies with its epoch',
  async (t) => {
    const call = (path: string, body: string, token = '$SVC_TOKEN'): string =>
      `curl -s --unix-socket $SVC_API_SOCKET $SVC_API_URL${path} -H "Authorization: Bearer ${token}" ${body === '' ? '' : `-d '${body}'`} -o /tmp/said -w '%{http_code} '; { grep -o '"reason":"[A-Za-z0-9]*"' /tmp/said || echo; } | head -1`;
    const progress = '/attempt/v1/progress';
    const job = await jobs.run('reports', {
      command: sh(`
      ${call(progress, '{"completed": 3, "total": 10}')}
      ${call(progress, '{"completed": 11, "total": 10}')}
      ${call(progress, '{"completed": -1, "more": 1}')}
      ${call(progress, '{')}
      ${call(progress, '{"completed": 4}', 'svc_at_bm90aGluZyBvZiB0aGUgc29ydCwgYW5kIGxvbmcgZW5vdWdoIHRvIGJlIG9uZQ')}
      ${call('/attempt/v1/checkpoints', '{}')}
      ${call('/attempt/v1/rendezvous', '')}
      ${call('/apis/svc.dev/v1/namespaces/default/jobs', '')}
      ${call('/livez', '')}
      touch /run/svc/mine 2>/dev/null || echo read-only
      echo $SVC_TOKEN`),
    });
    const said = (await jobs.log('reports')).trim().split('\n');
    t.is(outcomeOf(job), 'Succeeded Completed', said.join('\n'));
    const token = said.pop() ?? '';
    t.deepEqual(said, [
      '200 ',
      '422 "reason":"Invalid"',
      '422 "reason":"Invalid"',
      '400 "reason":"BadRequest"',
      '401 "reason":"Unauthorized"',
      '501 "reason":"Unsupported"',
      '501 "reason":"Unsupported"',
      '404 "reason":"NotFound"',
      '404 "reason":"NotFound"',
      'read-only',
    ]);
    const [attempt] = await jobs.attempts('reports');
    t.deepEqual(valueAt(attempt?.body, 'status', 'progress'), { stage: 'Succeeded', completed: 3, total: 10 });
    t.regex(token, /^svc_at_/);

    const stolen = await jobs.client().ask('GET', '/apis/svc.dev/v1/namespaces/default/jobs', { key: token });
    t.is(stolen.status, 401);
    t.is(textAt(stolen.body, 'reason'), 'Unauthorized');
    await jobs.run('thief', {
      env: [{ name: 'STOLEN', value: token }],
      command: sh(call(progress, '{"completed": 9}', '$STOLEN')),
    });
    t.regex(await jobs.log('thief'), /^401 /);
    t.false(JSON.stringify(await jobs.attempts('reports')).includes(token));
  },
);
