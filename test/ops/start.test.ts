import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { readPidFile } from '../../src/app/postgres/pid-file.js';
import { processStart } from '../../src/process-start.js';
import { startRunning } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { openTestDatabase } from '../support/postgres.js';

const START = fileURLToPath(new URL('../../../ops/start.mjs', import.meta.url));
const MAIN = fileURLToPath(new URL('../../src/app/main.js', import.meta.url));

test('a start with settings that do not fit ends with one line each, before it touches anything', async (t) => {
  const env = { PATH: process.env['PATH'], TROUPE_DATA_DIR: '/proc/nowhere', TROUPE_PROT: '1', PORT: 'http' };
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const code = await new Promise((resolve) => {
    child.once('close', resolve);
  });
  t.is(code, 2);
  t.is(said.trim().split('\n').length, 2, said);
  t.regex(said, /^TROUPE_PROT: .*\nPORT: /);
});

test('a HOST that cannot be listened on is a fault of the settings, said before anything is touched', (t) => {
  for (const [host, fault] of [
    ['999.1.1.1', /^HOST: "999\.1\.1\.1" is no address.*\n$/],
    ['203.0.113.7', /^HOST: "203\.0\.113\.7" is no address of this machine\n$/],
  ] as const) {
    const env = { PATH: process.env['PATH'], TROUPE_DATA_DIR: '/proc/nowhere', HOST: host };
    const { status, stderr } = spawnSync(process.execPath, [MAIN], { env, encoding: 'utf8' });
    t.is(status, 2, stderr);
    t.regex(stderr, fault);
  }
});

test('a start with an argument that does not exist starts nothing and says what there is', (t) => {
  const { status, stderr, stdout } = spawnSync(process.execPath, [START, 'stop'], { encoding: 'utf8' });
  t.is(status, 2);
  t.is(stdout, '');
  t.regex(stderr, /no argument "stop".*--help/);
});

test('help is one screen with what to do first, and says how to see all settings', (t) => {
  const help = spawnSync(process.execPath, [START, '--help'], { encoding: 'utf8' });
  t.is(help.status, 0, help.stderr);
  t.true(help.stdout.split('\n').length <= 40, help.stdout);
  for (const word of ['npm start', 'kubectl', 'PORT', 'DATABASE_URL', 'TROUPE_COMPUTE', '--settings']) {
    t.true(help.stdout.includes(word), word);
  }
  const settings = spawnSync(process.execPath, [START, '--settings'], { encoding: 'utf8' });
  t.is(settings.status, 0, settings.stderr);
  t.true(settings.stdout.includes('TROUPE_LEASE_SECONDS'));
});

test('the example of an agent that finds no key says how to get one', (t) => {
  const agent = fileURLToPath(new URL('../../../ops/examples/agent-sandbox/agent.mjs', import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [agent], { cwd: '/', env: {}, encoding: 'utf8' });
  t.is(status, 1);
  t.regex(stderr, /^\.data\/admin\.key cannot be read .*npm start.*set KEY.*\n$/);
});

test('a start without its Postgres ends with one line that says so and not how to get in', async (t) => {
  const { port } = new URL((await openTestDatabase(t)).url);
  const env = {
    ...{ PATH: process.env['PATH'], TROUPE_DATA_DIR: await mkdtemp(join(tmpdir(), 'troupe-start-')) },
    // No server listens at this address.
    ...{ DATABASE_URL: `postgres://someone:hunter2@127.255.255.254:${port}/it`, TROUPE_COMPUTE: 'off' },
  };
  const { status, stderr } = spawnSync(process.execPath, [MAIN], { env, encoding: 'utf8' });
  await rm(env.TROUPE_DATA_DIR, { recursive: true, force: true });
  t.is(status, 3, stderr);
  t.regex(stderr, /^Postgres does not answer .*DATABASE_URL.*\n$/);
  t.false(stderr.includes('hunter2'));
});

const canMount = process.geteuid?.() === 0 && spawnSync('mount', ['--version']).status === 0;

(canMount ? test : test.skip)('a start on a full disk ends with one line that says so (needs root)', async (t) => {
  const disk = await mkdtemp(join(tmpdir(), 'troupe-full-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk]);
  t.teardown(async () => {
    if (mounted.status === 0) spawnSync('umount', [disk]);
    await rm(disk, { recursive: true, force: true });
  });
  if (mounted.status !== 0) {
    t.pass(`this machine mounts no tmpfs: ${String(mounted.stderr)}`);
    return;
  }
  await writeFile(join(disk, 'fill'), Buffer.alloc(1 << 20)).catch(() => undefined);
  const env = {
    ...{ PATH: process.env['PATH'], TROUPE_DATA_DIR: disk, TROUPE_COMPUTE: 'off' },
    DATABASE_URL: (await openTestDatabase(t)).url,
  };
  const { status, stderr } = spawnSync(process.execPath, [MAIN], { env, encoding: 'utf8', timeout: 60_000 });
  t.is(status, 3, stderr);
  t.regex(stderr, /^the disk is full.*Make room, then start again\.\n$/);
});

test('a start whose port is taken ends with one line that says whose and what to set, and leaves the other alone', async (t) => {
  const other = createServer((_, response) => response.end('the other'));
  await once(other.listen(0, '127.0.0.1'), 'listening');
  const dataDir = await mkdtemp(join(tmpdir(), 'troupe-second-'));
  t.teardown(async () => {
    other.close();
    await rm(dataDir, { recursive: true, force: true });
  });
  const address = other.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const env = {
    ...{ PATH: process.env['PATH'], HOST: '127.0.0.1', PORT: String(port), TROUPE_TLS_PORT: '0' },
    ...{ TROUPE_SSH_PORT: '0', TROUPE_COMPUTE: 'off', TROUPE_LOG_LEVEL: 'error' },
    ...{ TROUPE_DATA_DIR: dataDir, DATABASE_URL: (await openTestDatabase(t)).url },
  };
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const code = await new Promise((resolve) => {
    child.once('close', resolve);
  });
  t.is(code, 3, said);
  t.regex(said, /^cannot listen on 127\.0\.0\.1:\d+: another program listens there.*PORT.*\n$/);
  t.is(await (await fetch(`http://127.0.0.1:${port}`)).text(), 'the other');
});

test('a service whose log goes to a full disk serves, counts the lines that it lost, and ends when it is told to', async (t) => {
  const full = openSync('/dev/full', 'w');
  t.teardown(() => closeSync(full));
  const service = await startRunning(t, {
    env: { TROUPE_COMPUTE: 'off', TROUPE_ACCESS_LOG: 'on' },
    stderr: full,
  });
  const lost = await until('lines are lost', async () => {
    const { text } = await service.client().get('/metrics');
    return Number(/^troupe_log_lines_lost_total (\d+)$/m.exec(text)?.[1]) || undefined;
  });
  t.true(lost > 0);
  t.true(service.alive());
  service.signal('SIGTERM');
  await until('it has ended', () => Promise.resolve(!service.alive()));
  t.regex(service.log(), /process ended: 0$/m);
});

test('a service on its own Postgres that is killed is taken up by the next start, with the same server and data', async (t) => {
  const service = await startRunning(t, { databaseUrl: 'embedded', env: { TROUPE_COMPUTE: 'off' } });
  for (const file of ['admin.key', 'kubeconfig']) {
    t.is((await stat(join(service.dataDir, file))).mode & 0o777, 0o600, file);
  }
  const authorization = `Bearer ${(await readFile(join(service.dataDir, 'admin.key'), 'utf8')).trim()}`;
  const projects = `${service.url}/api/v1/namespaces`;
  const made = await fetch(projects, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ metadata: { name: 'kept' } }),
  });
  t.is(made.status, 201, await made.text());
  const cluster = join(service.dataDir, 'postgres', 'cluster');
  const before = await readPidFile(cluster);

  await service.kill();
  t.not(processStart(before?.pid ?? 0), '');
  await service.start();

  t.is((await readPidFile(cluster))?.pid, before?.pid);
  const found = await fetch(`${projects}/kept`, { headers: { authorization } });
  t.is(found.status, 200, await found.text());

  service.signal('SIGTERM');
  await until('the service has ended', () => Promise.resolve(!service.alive()), 60_000);
  t.is(processStart(before?.pid ?? 0), '', 'Postgres was left running by a clean stop');
});
