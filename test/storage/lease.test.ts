/** Who may write: taking over, giving up, and finding out that it is lost. */
import test from 'ava';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { isDead, parseHolderProcess, thisProcess } from '../../storage/holder.js';
import { acquireLease, type LeaseOptions } from '../../storage/lease.js';
import { migrate } from '../../storage/migrate.js';
import { openPostgres, type Postgres } from '../../storage/postgres.js';
import { until } from '../e2e/until.js';
import { openTestDatabase } from '../support/postgres.js';

async function openMigrated(t: { teardown(f: () => Promise<void>): void }): Promise<Postgres> {
  const database = await openTestDatabase();
  const postgres = openPostgres({ url: database.url });
  t.teardown(async () => {
    await postgres.close();
    await database.close();
  });
  await migrate(postgres);
  return postgres;
}

const bound = () => AbortSignal.timeout(20_000);
const options = (postgres: Postgres, holder: string, more: Partial<LeaseOptions> = {}): LeaseOptions => ({
  postgres,
  holder,
  poll: 20,
  ttl: 1_500,
  ...more,
});

async function lostOf(lease: { lost: AbortSignal }): Promise<string> {
  if (!lease.lost.aborted) await once(lease.lost, 'abort', { signal: bound() });
  return String(lease.lost.reason);
}

test('a standby waits while the holder renews, and takes over at the next epoch when it gives up', async (t) => {
  const postgres = await openMigrated(t);
  const first = await acquireLease(options(postgres, 'a', { ttl: 2_000 }), bound());
  t.is(first.epoch, 1);
  let waitingFor: string | undefined;
  let taken = false;
  const second = acquireLease(options(postgres, 'b', { onWaiting: (holder) => (waitingFor = holder) }), bound());
  void second.then(() => (taken = true));
  const renewed = async () => {
    const [row] = await postgres.readRows<[number]>({
      name: 'e',
      text: 'SELECT extract(epoch FROM expires)::float8 FROM lease',
    });
    return row?.[0] ?? 0;
  };
  const start = await renewed();
  while ((await renewed()) < start + 2.2) t.false(taken, 'longer than its length, and still the holder’s');
  t.is(waitingFor, 'a');
  await first.release();
  t.true(first.lost.aborted);
  const lease = await second;
  t.is(lease.epoch, 2);
  await lease.release();
});

test('of many that wait, one takes it', async (t) => {
  const postgres = await openMigrated(t);
  const stop = new AbortController();
  const taken: number[] = [];
  const all = Array.from({ length: 8 }, async (_, i) => {
    const lease = await acquireLease(options(postgres, `h${i}`), stop.signal).catch(() => undefined);
    if (lease === undefined) return;
    taken.push(lease.epoch);
    stop.abort();
    await lease.release();
  });
  await Promise.all(all);
  t.deepEqual(taken, [1]);
});

test('a holder whose process is dead is followed at once by its own data directory, and by no other', async (t) => {
  const postgres = await openMigrated(t);
  await postgres.write(
    {
      name: 'dead',
      text: `WITH raised AS (UPDATE clock SET epoch = 7)
             UPDATE lease SET epoch = 7, holder = 'dir', holder_process = $1, expires = now() + interval '1 hour'`,
    },
    [JSON.stringify({ ...thisProcess(), pid: 2 ** 22 - 3 })],
  );
  await t.throwsAsync(acquireLease(options(postgres, 'other'), AbortSignal.timeout(300)), { any: true });
  const lease = await acquireLease(options(postgres, 'dir'), bound());
  t.is(lease.epoch, 8);
  await t.throwsAsync(acquireLease(options(postgres, 'dir'), AbortSignal.timeout(300)), { any: true }, 'we live');
  await lease.release();
});

test('a process is dead when it has ended, not when it is stopped', async (t) => {
  const child = spawn('sleep', ['60']);
  t.teardown(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  const holder = { ...thisProcess(), pid: child.pid ?? 0, started: '' };
  t.false(isDead(holder));
  child.kill('SIGSTOP');
  t.false(isDead(holder));
  child.kill('SIGKILL');
  await once(child, 'exit');
  t.true(isDead(holder));
  t.true(isDead({ ...thisProcess(), started: '1' }), 'its pid is another’s now');
  t.false(isDead({ ...holder, host: 'elsewhere' }), 'nothing is certain about another host');
  t.false(isDead({ ...holder, boot: 'another' }), 'nor about a machine of the same name');
  const before = JSON.stringify({ host: holder.host, pid: holder.pid, started: '' });
  t.false(isDead(parseHolderProcess(before) ?? holder), 'nor about one that did not say so much');
});

const INSIDE = ['--user', '--map-root-user', '--pid', '--fork', '--kill-child', '--mount-proc'];
const withNamespaces = spawnSync('unshare', [...INSIDE, 'true']).status === 0 ? test : test.skip;

withNamespaces('a holder that lives in another pid namespace of this host is not taken for dead', async (t) => {
  // As two containers with the host's name: the pid that the holder has in its namespace is that of no process here.
  const program = `
    const { thisProcess } = await import(${JSON.stringify(new URL('../../storage/holder.js', import.meta.url).href)});
    process.stdout.write(JSON.stringify({ ...thisProcess(), pid: 2 ** 22 - 3 }) + '\\n');
    process.stdin.resume();`;
  const child = spawn('unshare', [...INSIDE, process.execPath, '--input-type=module', '-e', program], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  t.teardown(() => void child.kill('SIGKILL'));
  const [said] = await once(child.stdout, 'data', { signal: bound() });
  const holder = parseHolderProcess(String(said));
  t.is(holder?.host, thisProcess().host);
  t.true(holder !== undefined && !isDead(holder));
});

test('a holder that was stopped past its time goes on when nobody has taken the lease, and holds nothing until it knows', async (t) => {
  const postgres = await openMigrated(t);
  let clock = 0;
  const lease = await acquireLease(options(postgres, 'a', { ttl: 900, monotonic: () => clock }), bound());
  // As after SIGCONT: the clock has gone on, and the next timer that fires sees it.
  clock += 5_000;
  t.false(lease.held());
  await until('it holds it again', () => lease.held());
  t.false(lease.lost.aborted);
  await lease.release();
});

test('a holder that was stopped past its time, and followed meanwhile, finds its lease lost at once', async (t) => {
  const postgres = await openMigrated(t);
  let clock = 0;
  const lease = await acquireLease(options(postgres, 'a', { ttl: 900, monotonic: () => clock }), bound());
  const following = acquireLease(options(postgres, 'b', { ttl: 9_000 }), bound());
  let isFollowed = false;
  void following.then(() => (isFollowed = true));
  // Again and again: until it has stopped it renews.
  await until('it is followed', async () => {
    await postgres.write({ name: 'over', text: `UPDATE lease SET expires = now() WHERE holder = 'a'` });
    return isFollowed;
  });
  clock += 901;
  t.regex(await lostOf(lease), /another process holds it/);
  const next = await following;
  t.true(next.held());
  await next.release();
});

test('a holder finds out at its next renewal that another has taken over', async (t) => {
  const postgres = await openMigrated(t);
  const lease = await acquireLease(options(postgres, 'a', { ttl: 4_000 }), bound());
  await postgres.write({ name: 'steal', text: `UPDATE clock SET epoch = epoch + 1` });
  t.regex(await lostOf(lease), /another process holds it/);
});

test('a holder that cannot renew holds nothing once Postgres may give the lease away, and loses it a third of its time later at most', async (t) => {
  const postgres = await openMigrated(t);
  const lease = await acquireLease(options(postgres, 'a', { ttl: 600 }), bound());
  const locker = await postgres.connect('locker');
  t.teardown(() => locker.end());
  await locker.query('BEGIN; SELECT * FROM lease FOR UPDATE');
  await until('its time is over', () => !lease.held());
  t.regex(await lostOf(lease), /not renewed in time/);
  const { rows } = await locker.query<{ left: number }>(
    'SELECT extract(epoch FROM expires - clock_timestamp())::float8 AS left FROM lease',
  );
  // Its own time is counted from before the renewal was sent.
  t.true((rows[0]?.left ?? -9) > -2, `${rows[0]?.left} s`);
});

test('a standby is not held up by a holder that was stopped in the middle of a transaction', async (t) => {
  const postgres = await openMigrated(t);
  await postgres.write({
    name: 'stopped',
    text: `WITH raised AS (UPDATE clock SET epoch = 3)
           UPDATE lease SET epoch = 3, holder = 'stopped', expires = now() + interval '0.3 s'`,
  });
  const stopped = await postgres.connect('commit', { idle_in_transaction_session_timeout: '60s' });
  t.teardown(() => stopped.end());
  await stopped.query('BEGIN; UPDATE clock SET version = version + 64 WHERE epoch = 3');
  const began = performance.now();
  const lease = await acquireLease(options(postgres, 'standby'), bound());
  t.is(lease.epoch, 4);
  t.true(performance.now() - began < 10_000);
  await t.throwsAsync(stopped.query('COMMIT'));
  const [row] = await postgres.readRows<[number]>({ name: 'v', text: 'SELECT version FROM clock' });
  t.is(row?.[0], 0);
  await lease.release();
});

test('a broken connection costs no lease', async (t) => {
  const postgres = await openMigrated(t);
  const lease = await acquireLease(options(postgres, 'a', { ttl: 3_000 }), bound());
  const expiry = async () => {
    const [row] = await postgres.readRows<[number]>({
      name: 'e',
      text: 'SELECT extract(epoch FROM expires)::float8 FROM lease',
    });
    return row?.[0] ?? 0;
  };
  const start = await expiry();
  await postgres.write({
    name: 'kill',
    text: `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'troupe lease' AND datname = current_database()`,
  });
  while ((await expiry()) < start + 3.5) t.false(lease.lost.aborted);
  await lease.release();
});

test('a transaction that holds the clock row for longer than the lease lasts costs no lease', async (t) => {
  const postgres = await openMigrated(t);
  const lease = await acquireLease(options(postgres, 'a', { ttl: 1_500 }), bound());
  const slow = await postgres.connect('slow');
  t.teardown(() => slow.end());
  await slow.query('BEGIN; UPDATE clock SET version = version + 1');
  const expiry = async () => {
    const [row] = await postgres.readRows<[number]>({
      name: 'e',
      text: 'SELECT extract(epoch FROM expires)::float8 FROM lease',
    });
    return row?.[0] ?? 0;
  };
  const start = await expiry();
  while ((await expiry()) < start + 2) t.false(lease.lost.aborted, String(lease.lost.reason));
  await slow.query('ROLLBACK');
  await lease.release();
});

test('a program from before the lease had a row of its own waits for its holder', async (t) => {
  const postgres = await openMigrated(t);
  const lease = await acquireLease(options(postgres, 'a'), bound());
  const [row] = await postgres.readRows<[boolean]>({
    name: 'old',
    text: `SELECT holder IS NULL OR lease_expires <= now() OR holder_process IS NOT NULL FROM clock`,
  });
  t.deepEqual(row, [false]);
  await lease.release();
});

test('a standby waits for a holder that a program from before that row is, while it renews', async (t) => {
  const postgres = await openMigrated(t);
  // The active process of the version before, and what the migration made of it: its renewals go to the clock row alone.
  const writer = await postgres.connect('test');
  t.teardown(() => writer.end());
  await writer.query(`UPDATE clock SET epoch = 7, holder = 'old', lease_expires = now() + interval '1 hour'`);
  await writer.query(`UPDATE lease SET epoch = 7, holder = 'old', expires = now() - interval '1 minute'`);
  let waitingFor: string | undefined;
  let taken = false;
  const standby = acquireLease(options(postgres, 'new', { onWaiting: (holder) => (waitingFor = holder) }), bound());
  void standby.then(() => (taken = true));
  while (waitingFor === undefined) await new Promise((resolve) => setImmediate(resolve));
  t.is(waitingFor, 'old');
  t.false(taken);
  await writer.query(`UPDATE clock SET holder = NULL, lease_expires = '-infinity'`);
  const lease = await standby;
  t.is(lease.epoch, 8);
  await lease.release();
});
