/** A service that people elsewhere reach by another name than this machine does: behind a proxy, or on all interfaces. */
import test from 'ava';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { objectOf, path, textAt, valueAt } from '../e2e/client.js';
import { shareRunning, type Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { WITH_OTHERS } from '../sandboxes/sandboxes.js';
import { STRICT_JUPYTER } from './programs.js';

const PUBLIC = WITH_OTHERS.TROUPE_PUBLIC_URL;
const NAME = new URL(PUBLIC).hostname;
const AT = path('workspaces', 'default', 'desk');
const AT_TOOL = '/tools/bootstrap/default/desk/jupyter/';
const PHASE_MS = 60_000;

let service: Running;

test.before(async (t) => {
  t.timeout(120_000);
  service = await shareRunning(undefined, { env: WITH_OTHERS });
});
test.after.always(() => service?.close());

/** As a proxy asks that ends TLS and passes the Host header on. */
async function proxied(at: string): Promise<IncomingMessage> {
  const { hostname: host, port } = new URL(service.url);
  const asked = request({ host, port, path: at, headers: { host: NAME } });
  asked.end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.resume();
  return answer;
}

test('the page of an error is linked where the reader can open it', async (t) => {
  const answer = await service.client().get(path('workspaces', 'default', 'none'));
  t.is(answer.status, 404);
  t.true(textAt(answer.body, 'docs').startsWith(`${PUBLIC}/docs/errors`), answer.text);
});

test('the certificate that is made is also that of the public name', async (t) => {
  const { hostname: host, port } = new URL(service.tlsUrl);
  const ca = await readFile(join(service.dataDir, 'tls', 'ca.crt'));
  const socket = connect({ host, port: Number(port), servername: NAME, ca });
  await once(socket, 'secureConnect');
  t.true(socket.authorized);
  socket.destroy();
});

test('a Workspace says how it is reached from elsewhere, and a link to its tool leads there and sets a cookie for TLS alone', async (t) => {
  const client = service.client();
  const spec = {
    ephemeral: true,
    tools: ['SSH', 'Jupyter'],
    resources: { cpu: '500m', memory: '64Mi', disk: '64Mi' },
    env: [{ name: 'PATH', value: '/home/svc/bin:/usr/bin:/bin' }],
  };
  const made = await client.post(path('workspaces', 'default'), objectOf('Workspace', 'desk', spec));
  t.is(made.status, 201, made.text);
  const running = await until(
    'the Workspace is Running',
    async () => {
      const { body } = await client.get(AT);
      return textAt(body, 'status', 'phase') === 'Running' ? body : undefined;
    },
    PHASE_MS,
  );
  t.is(valueAt(running, 'status', 'connect', 'jupyter'), undefined, 'there is no program for it yet');
  t.regex(textAt(running, 'status', 'connect', 'ssh', 'command'), new RegExp(`^ssh -p \\d+ desk\\.default@${NAME}$`));

  const install = 'mkdir -p bin; cat >bin/jupyter-lab; chmod 755 bin/jupyter-lab';
  await client.post(`${AT}/exec`, { command: ['sh', '-c', install], stdin: STRICT_JUPYTER });
  const link = await client.post(`${AT}/tools/jupyter/links`, {});
  const url = new URL(textAt(link.body, 'url'));
  t.is(url.origin, PUBLIC, link.text);
  const shown = await until(
    'the status shows the tool',
    async () => {
      const { body } = await client.get(AT);
      return valueAt(body, 'status', 'connect', 'jupyter') === undefined ? undefined : body;
    },
    PHASE_MS,
  );
  t.is(textAt(shown, 'status', 'connect', 'jupyter', 'url'), PUBLIC + AT_TOOL);
  const opened = await proxied(url.pathname + url.search);
  t.is(opened.statusCode, 303);
  t.regex(opened.headers['set-cookie']?.[0] ?? '', /; Secure$/);
});
