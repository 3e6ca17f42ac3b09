/** Runs a registry of images for tests, which asks for a login: Debian's docker-registry on a loopback address. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../src/app/free-port.js';
import { until } from '../e2e/until.js';

const PROGRAM = '/usr/bin/docker-registry';

export interface TestRegistry {
  /** `127.0.0.1:port`. */
  readonly host: string;
  readonly login: { readonly username: string; readonly password: string };
  close(): Promise<void>;
}

/** The hash by `perl -e 'print crypt("let-me-pull-58", q($2b$05$abcdefghijklmnopqrstuu))'`. */
const PASSWORD = { text: 'let-me-pull-58', hash: '$2b$05$abcdefghijklmnopqrstuuRZemMNqdbHWpKHmvnPOdfBVLmA.DxCK' };

export async function openRegistry(): Promise<TestRegistry> {
  if (!existsSync(PROGRAM)) throw new Error('docker-registry is not installed: ops/setup-docker.sh install');
  const dir = await mkdtemp(join(tmpdir(), 'troupe-registry-'));
  const host = `127.0.0.1:${await freePort()}`;
  await writeFile(join(dir, 'users'), `puller:${PASSWORD.hash}\n`);
  const config = {
    version: '0.1',
    log: { level: 'error', accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: join(dir, 'images') } },
    http: { addr: host },
    auth: { htpasswd: { realm: 'tests', path: join(dir, 'users') } },
  };
  // JSON is YAML.
  await writeFile(join(dir, 'config.yml'), JSON.stringify(config));
  const server = spawn(PROGRAM, ['serve', join(dir, 'config.yml')], { stdio: 'ignore' });
  await until(
    'the registry answers',
    async () => (await fetch(`http://${host}/v2/`).catch(() => undefined))?.status === 401,
    20_000,
  );
  return {
    host,
    login: { username: 'puller', password: PASSWORD.text },
    async close() {
      const ended = server.exitCode === null ? once(server, 'exit') : undefined;
      server.kill('SIGKILL');
      await ended;
      await rm(dir, { recursive: true, force: true });
    },
  };
}
