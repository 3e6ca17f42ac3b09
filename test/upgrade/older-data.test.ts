/**
 * A program opens what the version before has left: its database and its files, packed in `data` (README.md says how). Every object is
 * there, what was under way goes on, and what was stored for later is done once.
 */
import test from 'ava';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { listAt, numberAt, objectOf, path, textAt, valueAt } from '../e2e/client.js';
import { openRunning, type Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { missing } from '../engines/dialer/server.js';
import { SMALL, sh } from '../jobs/jobs.js';
import { openReceiver } from '../webhooks/receiver.js';
import { withDatabase } from './older.js';

const run = missing === undefined ? test : test.skip;
const DATA = fileURLToPath(new URL('../../../test/upgrade/data/', import.meta.url));
/** The service was killed so long ago, as it seems: the deadline of the Job `overdue` passed meanwhile. */
const AGO_MS = 180_000;
const PHASE_MS = 90_000;
const JOBS = path('jobs', 'default');
const BOXES = path('sandboxes', 'default');
const DESK = path('workspaces', 'default', 'desk');

/** All times in a text (ms since the epoch, RFC 3339, timestamps of Postgres) so much later. */
function shift(text: string, by: number): string {
  return text
    .replaceAll(/\b1[78]\d{11}\b/g, (ms) => String(Number(ms) + by))
    .replaceAll(
      /\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00)\b/g,
      (time, fraction: string = '', zone: string) => {
        const whole = new Date(Date.parse(`${time.slice(0, 10)}T${time.slice(11, 19)}Z`) + by).toISOString();
        return `${whole.slice(0, 10)}${time.charAt(10)}${whole.slice(11, 19)}${fraction}${zone}`;
      },
    );
}

/** Fills the service's empty database and data directory; its endpoint's URL becomes `hook`. */
async function restore(service: Running, hook: string): Promise<void> {
  const sql = gunzipSync(await readFile(join(DATA, 'database.sql.gz'))).toString();
  const killed = Number(/^-- killed at (\d+)/.exec(sql)?.[1]);
  const by = Math.round((Date.now() - AGO_MS - killed) / 1_000) * 1_000;
  const text = shift(sql, by).replaceAll(/https:\/\/127\.0\.0\.1:\d+\/hook/g, hook);
  await withDatabase(service, (client) => client.query(text));
  await promisify(execFile)('tar', ['-C', service.dataDir, '-xzf', join(DATA, 'files.tar.gz')]);
  const journal = join(service.dataDir, 'runner', 'journal.jsonl');
  await writeFile(journal, shift(await readFile(journal, 'utf8'), by));
}

run('data of the version before is taken over whole: what ended is there, what ran or waited goes on', async (t) => {
  t.timeout(240_000);
  const dir = await mkdtemp(join(tmpdir(), 'troupe-older-data-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const receiver = await openReceiver(t, dir);
  const hook = receiver.hook('hook');
  const env = { TROUPE_WEBHOOK_CA: receiver.caFile, TROUPE_WEBHOOK_ALLOW: '127.0.0.0/8' };
  const service = await openRunning(t, { env, emptyDatabase: true });
  await restore(service, hook.url);
  const rows = async (text: string): Promise<readonly unknown[]> =>
    (await withDatabase(service, (client) => client.query({ text, rowMode: 'array' }))).rows.flat();
  const pending = await rows("SELECT id FROM deliveries WHERE phase = 'Pending' ORDER BY id");
  const highest = Number((await rows('SELECT max(version) FROM effects'))[0]);
  t.is(pending.length, 2);

  await service.start();
  const client = service.client();
  const object = async (at: string): Promise<unknown> => (await client.get(at)).body;
  const comes = (at: string, wanted: string, epoch?: number): Promise<unknown> =>
    until(
      `${at} is ${wanted}`,
      async () => {
        const { phase, reason, attempt } = Object(valueAt(await object(at), 'status'));
        const now = `${phase} ${reason ?? ''}`.trim();
        if (now !== wanted && phase !== wanted) throw new Error(`it is ${now}`);
        return epoch === undefined || numberAt(attempt, 'epoch') === epoch;
      },
      PHASE_MS,
    );
  const attempts = async (job: string): Promise<readonly string[]> =>
    listAt(await object(`${path('attempts', 'default')}?labelSelector=svc.dev%2Fjob%3D${job}`), 'items')
      .map(
        (item) =>
          `${numberAt(item, 'spec', 'slot')}.${numberAt(item, 'spec', 'epoch')} ${textAt(item, 'status', 'phase')}`,
      )
      .toSorted();
  const log = async (job: string, index: number): Promise<string> =>
    (await client.get(`${JOBS}/${job}/logs?index=${index}`)).text;
  const set = async (at: string, state: string): Promise<void> => {
    const answer = await client.merge(at, { spec: { state } });
    t.is(answer.status, 200, answer.text);
  };

  // What had ended.
  t.is(textAt(await object(`${JOBS}/finished`), 'status', 'phase'), 'Succeeded');
  t.is(await log('finished', 1), 'ran 1\n');
  t.is(listAt(await object(`${JOBS}/finished/outputs`), 'items').length, 2);
  t.is((await client.get(`${JOBS}/finished/outputs/outputs?index=1`)).status, 200);
  const again = objectOf('Job', 'finished', {
    resources: SMALL,
    command: sh('echo ran $SVC_INDEX; echo kept $SVC_INDEX > /svc/outputs/x'),
    completions: 2,
  });
  const replayed = await client.post(JOBS, again, { 'idempotency-key': 'of-the-version-before' });
  t.is(replayed.status, 201, replayed.text);
  t.is(replayed.headers.get('idempotency-replayed'), 'true');
  t.is(numberAt(await object(path('secrets', 'default', 'token')), 'status', 'version'), 2);

  // What ran, on a machine that is lost.
  await comes(`${JOBS}/runs`, 'Succeeded Completed');
  t.deepEqual(await attempts('runs'), ['0.1 Failed', '0.2 Succeeded', '1.1 Succeeded']);
  t.is(await log('runs', 0), 'second');
  await comes(`${BOXES}/runs`, 'Running', 2);
  await comes(DESK, 'Running', 3);
  const file = await client.post(`${DESK}/exec`, { command: ['sh', '-c', 'cat ~/file'] });
  t.is(textAt(file.body, 'stdout'), 'precious\n', file.text);

  // What waited: for its time, for a person, or to stop.
  await comes(`${JOBS}/overdue`, 'Failed DeadlineExceeded');
  await comes(`${JOBS}/retries`, 'Succeeded Completed');
  t.deepEqual(await attempts('retries'), ['0.1 Failed', '0.2 Succeeded']);
  await set(`${JOBS}/paused`, 'Running');
  await comes(`${JOBS}/paused`, 'Succeeded Completed');
  await comes(`${BOXES}/stops`, 'Stopped');
  t.is(textAt(await object(`${BOXES}/saved`), 'status', 'phase'), 'Stopped');
  await set(`${BOXES}/saved`, 'Running');
  await comes(`${BOXES}/saved`, 'Running', 2);
  const kept = await client.post(`${BOXES}/saved/exec`, { command: ['cat', '/workspace/epochs'] });
  t.is(textAt(kept.body, 'stdout'), '1\n2\n', kept.text);
  t.is(textAt(await object(`${JOBS}/cancelled`), 'status', 'phase'), 'Cancelled');
  const received = await hook.until('both deliveries have come', (all) => all.length >= 2, PHASE_MS);
  t.deepEqual(received.map(({ id }) => id).toSorted(), pending);
  t.deepEqual(
    await rows(`SELECT name FROM objects WHERE private ~ '"(heard|turning|told)":'`),
    [],
    'names of format 1',
  );
  await until(
    'every effect that was stored is done',
    async () => (await rows(`SELECT body FROM effects WHERE version <= ${highest}`)).length === 0,
    PHASE_MS,
  );
});
