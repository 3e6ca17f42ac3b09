import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { createServer, get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { parse } from 'yaml';
import { hostOf, reachable } from '../../src/app/host.js';
import { writeKubeconfig } from '../../src/app/kubeconfig.js';
import { openCertificate } from '../../src/app/tls/certificate.js';
import type { ExecutionContext } from 'ava';
import type { ServerCertificate } from '../../src/app/tls/certificate.js';

const DAY_MS = 86_400_000;

const directory = async (t: ExecutionContext): Promise<string> => {
  const made = await mkdtemp(join(tmpdir(), 'troupe-test-tls-'));
  t.teardown(() => rm(made, { recursive: true, force: true }));
  return made;
};

/** Status that a client who trusts the CA gets at this address, or the reason why it does not speak to the server. */
const asked = (certificate: ServerCertificate, host: string): Promise<string> =>
  new Promise((resolve) => {
    const server = createServer({ cert: certificate.cert, key: certificate.key }, (_, response) => response.end());
    const done = (answer: string): void => {
      server.close(() => resolve(answer));
      server.closeAllConnections();
    };
    server.listen(0, host, () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      get({ host, port, ca: certificate.ca }, (response) => {
        response.resume();
        done(String(response.statusCode));
      }).once('error', (error) => done(error.message));
    });
  });

test('a client that trusts the CA reaches the server by name and by address', async (t) => {
  const certificate = await openCertificate({ dataDir: await directory(t), hosts: ['127.0.0.2'] }, new Date());
  for (const host of ['localhost', '127.0.0.1', '127.0.0.2']) t.is(await asked(certificate, host), '200', host);
  t.regex(await asked(certificate, '127.0.0.3'), /does not match/);
});

test('the second start shows the same certificate, so that clients go on trusting it', async (t) => {
  const dataDir = await directory(t);
  const first = await openCertificate({ dataDir, hosts: ['127.0.0.1'] }, new Date());
  t.deepEqual(await openCertificate({ dataDir, hosts: ['127.0.0.1'] }, new Date()), first);
  for (const file of ['ca.key', 'server.key', 'ca.crt', 'server.crt']) {
    t.is((await stat(join(dataDir, 'tls', file))).mode & 0o777, 0o600, file);
  }
});

test('a certificate is renewed before it ends and when it lacks a name, by the same CA', async (t) => {
  const dataDir = await directory(t);
  const now = new Date();
  const first = await openCertificate({ dataDir, hosts: ['127.0.0.1'] }, now);
  const early = await openCertificate({ dataDir, hosts: ['127.0.0.1'] }, new Date(now.getTime() + 200 * DAY_MS));
  t.is(early.cert, first.cert);
  const late = await openCertificate({ dataDir, hosts: ['127.0.0.1'] }, new Date(now.getTime() + 300 * DAY_MS));
  t.not(late.cert, first.cert);
  t.is(late.ca, first.ca);
  const named = await openCertificate({ dataDir, hosts: ['troupe.example'] }, new Date(now.getTime() + 300 * DAY_MS));
  t.not(named.cert, late.cert);
  t.is(named.ca, first.ca);
  const two = await openCertificate({ dataDir, hosts: ['0.0.0.0', 'troupe.example'] }, now);
  t.regex(new X509Certificate(two.cert).subjectAltName ?? '', /DNS:troupe\.example/);
  const below = { dataDir, hosts: ['127.0.0.1'], below: 'tools.example' };
  const wild = await openCertificate(below, new Date(now.getTime() + 300 * DAY_MS));
  t.is(new X509Certificate(wild.cert).checkHost('any.tools.example'), '*.tools.example');
  t.is((await openCertificate(below, new Date(now.getTime() + 300 * DAY_MS))).cert, wild.cert);
});

test('half of a pair that a crash left is replaced', async (t) => {
  const dataDir = await directory(t);
  await openCertificate({ dataDir, hosts: ['127.0.0.1'] }, new Date());
  await rm(join(dataDir, 'tls', 'server.key'));
  t.is(await asked(await openCertificate({ dataDir, hosts: ['127.0.0.1'] }, new Date()), '127.0.0.1'), '200');
});

test('an operator’s key that does not belong to the certificate stops the start with the two names', async (t) => {
  const [one, two] = [await directory(t), await directory(t)];
  await openCertificate({ dataDir: one, hosts: ['127.0.0.1'] }, new Date());
  await openCertificate({ dataDir: two, hosts: ['127.0.0.1'] }, new Date());
  const own = { cert: join(one, 'tls', 'server.crt'), key: join(two, 'tls', 'server.key') };
  await t.throwsAsync(openCertificate({ dataDir: one, hosts: ['127.0.0.1'], own }, new Date()), {
    message: /server\.key is not the private key of .*server\.crt/,
  });
  const fitting = { cert: own.cert, key: join(one, 'tls', 'server.key') };
  t.is((await openCertificate({ dataDir: one, hosts: ['127.0.0.1'], own: fitting }, new Date())).ca, undefined);
});

test('the kubeconfig is private and holds the server, its CA and the token', async (t) => {
  const dataDir = await directory(t);
  const file = await writeKubeconfig({ dataDir, server: 'https://127.0.0.1:8443', ca: 'CA', token: 'svc_x' });
  t.is((await stat(file)).mode & 0o777, 0o600);
  t.like(parse(await readFile(file, 'utf8')), {
    clusters: [{ cluster: { server: 'https://127.0.0.1:8443', 'certificate-authority-data': 'Q0E=' } }],
    users: [{ user: { token: 'svc_x' } }],
    'current-context': 'troupe',
  });
});

test('a host is written with brackets in an address alone, and every interface is reached by loopback', (t) => {
  t.is(reachable('0.0.0.0'), '127.0.0.1');
  t.is(reachable('::1'), '[::1]');
  t.is(hostOf('https://[2001:db8::1]:8443'), '2001:db8::1');
  t.is(hostOf('https://troupe.example.com'), 'troupe.example.com');
});
