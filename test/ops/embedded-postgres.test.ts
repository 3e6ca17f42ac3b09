import { spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kill } from 'node:process';
import test from 'ava';
import { Client } from 'pg';
import { readPidFile } from '../../src/app/postgres/pid-file.js';
import { openEmbeddedPostgres } from '../../src/app/postgres/embedded.js';
import { stopServer } from '../../src/app/postgres/server.js';
import { processEnd, processStart } from '../../src/process-start.js';
import { until } from '../e2e/until.js';
import type { ExecutionContext } from 'ava';
import type { EmbeddedPostgres } from '../../src/app/postgres/embedded.js';

/** A data directory below one that only we can enter. */
const directory = async (t: ExecutionContext): Promise<string> => {
  const home = await mkdtemp(join(tmpdir(), 'troupe-test-embedded-'));
  const dataDir = join(home, 'clone', '.data');
  t.teardown(async () => {
    await stopServer(join(dataDir, 'postgres', 'cluster'));
    await rm(home, { recursive: true, force: true });
  });
  t.is((await stat(home)).mode & 0o777, 0o700);
  return dataDir;
};

const opened = (dataDir: string, log: string[] = []): Promise<EmbeddedPostgres> =>
  openEmbeddedPostgres({ dataDir, log: (line) => log.push(line), signal: AbortSignal.timeout(60_000) });

const asked = async (url: string, sql: string): Promise<Record<string, unknown>[]> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
};

test.serial(
  'a first start makes a cluster that no other user can enter, and the next start finds its data',
  async (t) => {
    const dataDir = await directory(t);
    const log: string[] = [];
    const first = await opened(dataDir, log);
    await asked(first.url, 'create table kept as select 42 as answer');
    t.deepEqual(
      await asked(
        first.url,
        `select current_setting('synchronous_commit') s, current_setting('fsync') f,
      current_setting('server_encoding') e, current_setting('listen_addresses') l`,
      ),
      [{ s: 'on', f: 'on', e: 'UTF8', l: '127.0.0.1' }],
    );
    await first.close();
    t.is(processStart(first.pid()), '');
    t.is((await stat(join(dataDir, 'postgres', 'password'))).mode & 0o777, 0o600);
    t.regex(log.join('\n'), /made a Postgres \d+ cluster .*\nstarted Postgres/s);

    const second = await opened(dataDir);
    t.deepEqual(await asked(second.url, 'select answer from kept'), [{ answer: 42 }]);
    await second.close();
  },
);

test.serial('only who knows the password is let in', async (t) => {
  const postgres = await opened(await directory(t));
  const url = new URL(postgres.url);
  url.password = 'wrong';
  await t.throwsAsync(asked(url.href, 'select 1'), { message: /password authentication failed/ });
  await postgres.close();
});

const USER_PROGRAM = `
  import { openEmbeddedPostgres } from ${JSON.stringify(new URL('../../src/app/postgres/embedded.js', import.meta.url).href)};
  const postgres = await openEmbeddedPostgres({ dataDir: process.argv[1], log: () => {}, signal: AbortSignal.timeout(60_000) });
  process.stdout.write(postgres.url + '\\n');
  process.stdin.once('data', () => process.exit(1)).once('end', () => postgres.close());
`;

const ended = (pid: number): Promise<void> => processEnd(pid, AbortSignal.timeout(60_000));

/** Another process that uses the directory; `url` resolves when it has opened it. */
const user = (dataDir: string) => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', USER_PROGRAM, dataDir], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const gone = new Promise<number | null>((resolve) => {
    child.once('exit', (code) => resolve(code));
  });
  const url = new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString().trim()));
    void gone.then(() => reject(new Error('the process ended')));
  });
  return { child, gone, url };
};

test.serial('a server that a killed process left behind is adopted by the next, which stops it', async (t) => {
  const dataDir = await directory(t);
  const killed = user(dataDir);
  await asked(await killed.url, 'create table kept as select 42 as answer');
  killed.child.kill('SIGKILL');
  await killed.gone;
  const left = await readPidFile(join(dataDir, 'postgres', 'cluster'));

  const log: string[] = [];
  const next = await opened(dataDir, log);
  t.is(left?.pid, next.pid());
  t.regex(log.join('\n'), /adopted/);
  t.deepEqual(await asked(next.url, 'select answer from kept'), [{ answer: 42 }]);
  await next.close();
  t.is(processStart(next.pid()), '');
});

test.serial(
  'two processes that start at once on a new directory share one server, and the last one stops it',
  async (t) => {
    const dataDir = await directory(t);
    const [one, two] = [user(dataDir), user(dataDir)];
    const urls = await Promise.all([one.url, two.url]);
    t.is(urls[0], urls[1]);
    one.child.stdin.end();
    t.is(await one.gone, 0);
    t.deepEqual(await asked(urls[1], 'select 1 as still'), [{ still: 1 }]);
    const server = await readPidFile(join(dataDir, 'postgres', 'cluster'));
    two.child.stdin.end();
    t.is(await two.gone, 0);
    t.is(processStart(server?.pid ?? 0), '');
  },
);

test.serial(
  'a killed server comes back with everything that was committed, also when its number went to another process',
  async (t) => {
    const dataDir = await directory(t);
    const killed = user(dataDir);
    await asked(await killed.url, 'create table kept as select 42 as answer');
    killed.child.kill('SIGKILL');
    await killed.gone;
    const cluster = join(dataDir, 'postgres', 'cluster');
    const left = await readPidFile(cluster);
    t.true(left !== undefined && left.pid > 1);
    if (left === undefined) return;
    kill(left.pid, 'SIGKILL');
    await ended(left.pid);
    // As in a container that is started again: the old number is alive, in a program that has nothing to do with it.
    const pidFile = join(cluster, 'postmaster.pid');
    const text = await readFile(pidFile, 'utf8');
    await writeFile(pidFile, text.replace(/^\d+/, String(process.pid)));

    const second = await opened(dataDir);
    t.deepEqual(await asked(second.url, 'select answer from kept'), [{ answer: 42 }]);
    await second.close();
  },
);

test.serial('a server that ends while it is in use is started again where it was, however often', async (t) => {
  const dataDir = await directory(t);
  const log: string[] = [];
  const postgres = await opened(dataDir, log);
  await asked(postgres.url, 'create table kept as select 42 as answer');
  for (const how of ['SIGKILL', 'SIGINT'] as const) {
    const before = postgres.pid();
    kill(before, how);
    await until('another server answers', async () => {
      const rows = await asked(postgres.url, 'select answer from kept').catch(() => undefined);
      return postgres.pid() !== before && rows?.[0]?.['answer'] === 42;
    });
  }
  t.regex(log.join('\n'), /has ended; it is started again\n.*started Postgres again/s);
  await postgres.close();
  t.is(processStart(postgres.pid()), '', 'it is not started again after a stop');
});

test.serial('a server whose port another program has taken meanwhile is started again all the same', async (t) => {
  const dataDir = await directory(t);
  const postgres = await opened(dataDir);
  const before = postgres.pid();
  const port = (await readPidFile(join(dataDir, 'postgres', 'cluster')))?.port ?? 0;
  kill(before, 'SIGKILL');
  const other = createServer();
  t.teardown(() => void other.close());
  other.on('error', () => undefined);
  // The killed server's children hold the port for a moment.
  await until('the port is taken', () => {
    if (!other.listening) other.listen(port, '127.0.0.1');
    return other.listening || postgres.pid() !== before;
  });
  await until('another server answers', async () => {
    const rows = await asked(postgres.url, 'select 1 as one').catch(() => undefined);
    return postgres.pid() !== before && rows !== undefined;
  });
  await postgres.close();
  t.pass();
});

test.serial('a process that ends without a stop takes the server with it, unless another one uses it', async (t) => {
  const dataDir = await directory(t);
  const [one, two] = [user(dataDir), user(dataDir)];
  await Promise.all([one.url, two.url]);
  const server = await readPidFile(join(dataDir, 'postgres', 'cluster'));
  one.child.stdin.end('exit');
  t.is(await one.gone, 1);
  t.deepEqual(await asked(await two.url, 'select 1 as still'), [{ still: 1 }]);
  two.child.stdin.end('exit');
  t.is(await two.gone, 1);
  await ended(server?.pid ?? 0);
  t.pass();
});

test.serial('a cluster of another major version is refused with what to do, and left as it is', async (t) => {
  const dataDir = await directory(t);
  await (await opened(dataDir)).close();
  const version = join(dataDir, 'postgres', 'cluster', 'PG_VERSION');
  await writeFile(version, '14\n');
  await t.throwsAsync(opened(dataDir), { message: /was made by Postgres 14.*DATABASE_URL/ });
  t.is(await readFile(version, 'utf8'), '14\n');
});

test.serial('a cluster that cannot start says what Postgres said', async (t) => {
  const dataDir = await directory(t);
  await (await opened(dataDir)).close();
  const cluster = join(dataDir, 'postgres', 'cluster');
  await rm(join(cluster, 'global', 'pg_control'));
  await t.throwsAsync(opened(dataDir), { message: /Postgres does not start on .*(control file|pg_control)/s });
});

test.serial('a clone that was copied with its data starts on the copy', async (t) => {
  const [from, to] = [await directory(t), await directory(t)];
  const first = await opened(from);
  await asked(first.url, 'create table kept as select 42 as answer');
  await first.close();
  await mkdir(to, { recursive: true });
  await cp(from, to, { recursive: true, preserveTimestamps: true });
  const copy = await opened(to);
  t.deepEqual(await asked(copy.url, 'select answer from kept'), [{ answer: 42 }]);
  await copy.close();
});
