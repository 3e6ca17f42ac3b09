/** Runs an https server on loopback with a certificate of its own authority: what the dialer connects to in tests. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** What is missing for these tests; undefined when they can run. */
export const missing =
  spawnSync('openssl', ['version']).status === 0 ? undefined : 'openssl is not installed, which makes the certificates';

export interface ServerUnderTest {
  readonly port: number;
  /** The authority's certificate. */
  readonly ca: string;
  /** Connections accepted so far. */
  readonly connections: () => number;
}

/** Ended by `t`. */
export async function openServer(
  t: { teardown(end: () => Promise<void>): void },
  listener: RequestListener,
): Promise<ServerUnderTest> {
  const { ca, cert, key } = await certificates();
  let connections = 0;
  const server = createServer({ cert, key }, listener);
  server.on('connection', () => (connections += 1));
  server.on('tlsClientError', () => {});
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { port: address.port, ca, connections: () => connections };
}

const SUBJECT = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'];

/** Of a server on 127.0.0.1, with that of its authority (PEM). */
export async function certificates(): Promise<{ ca: string; cert: string; key: string }> {
  const dir = await mkdtemp(join(tmpdir(), 'troupe-tls-'));
  try {
    const at = (name: string): string => join(dir, name);
    const authority = ['-subj', '/CN=test authority', '-keyout', at('ca.key'), '-out', at('ca')];
    await run('openssl', ['req', '-x509', ...SUBJECT, ...authority]);
    const issued = ['-CA', at('ca'), '-CAkey', at('ca.key'), '-addext', 'basicConstraints=critical,CA:FALSE'];
    const names = ['-addext', 'subjectAltName=DNS:files.test,IP:127.0.0.1'];
    const files = ['-subj', '/CN=files.test', '-keyout', at('key'), '-out', at('cert')];
    await run('openssl', ['req', '-x509', ...SUBJECT, ...files, ...issued, ...names]);
    const [ca, cert, key] = await Promise.all(['ca', 'cert', 'key'].map((name) => readFile(at(name), 'utf8')));
    return { ca: ca ?? '', cert: cert ?? '', key: key ?? '' };
  } finally {
    await rm(dir, { recursive: true });
  }
}
