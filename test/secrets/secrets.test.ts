/** Secrets from the outside: what a Job that mounts one sees after patches, and that nobody else ever sees a value. */
import test from 'ava';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client as Database } from 'pg';
import { listAt, objectOf, path, textAt } from '../e2e/client.js';
import type { Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { shareWithWork } from '../kubectl/with-work.js';

const SECRETS = path('secrets', 'default');
const JOBS = path('jobs', 'default');
/** Found nowhere but in what the Job was given. */
const VALUES = ['hunter2-first', 'hunter2-second', 'hunter2-third'] as const;

/** What a Job sees of the Secret: `KEY=length` of each file under /run/secrets/, and whether env and files agree. */
async function seen(service: Running, job: string): Promise<string> {
  const client = service.client();
  const script =
    'cd /run/secrets; for f in *; do eval "v=\\$$f"; [ "$v" = "$(cat $f)" ] && echo "$f=$(cat $f | sha256sum | cut -c1-8) $(stat -c %a $f)"; done';
  const made = await client.post(
    JOBS,
    objectOf('Job', job, { command: ['sh', '-c', script], secrets: [{ name: 'mounted' }] }),
  );
  if (made.status !== 201) throw new Error(made.text);
  await until(
    'the Job ends',
    async () => {
      const phase = textAt((await client.get(`${JOBS}/${job}`)).body, 'status', 'phase');
      if (phase === 'Failed') throw new Error('the Job failed');
      return phase === 'Succeeded';
    },
    60_000,
  );
  return (await client.get(`${JOBS}/${job}/logs`)).text;
}

async function hashOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Buffer.from(digest).toString('hex').slice(0, 8);
}

test.serial('a Job sees the values of the newest version, also those that a patch did not name', async (t) => {
  t.timeout(180_000);
  const { service, close } = await shareWithWork();
  t.teardown(close);
  const client = service.client();
  const stringData = { FIRST: VALUES[0], SECOND: VALUES[1] };
  t.is((await client.post(SECRETS, objectOf('Secret', 'mounted', { stringData }))).status, 201);
  const before = await seen(service, 'before');
  t.true(before.includes(`FIRST=${await hashOf(VALUES[0])} 400`), before);
  t.true(before.includes(`SECOND=${await hashOf(VALUES[1])} 400`), before);

  const used = await until('the use is noted', async () => {
    const noted = textAt((await client.get(`${SECRETS}/mounted`)).body, 'status', 'lastUsedTime');
    return noted === '' ? undefined : noted;
  });
  t.true(Math.abs(Date.now() - Date.parse(used)) < 60_000, used);

  const shown = await client.post(
    JOBS,
    objectOf('Job', 'shown', {
      command: ['true'],
      secrets: ['mounted'],
      env: [
        { name: 'HARMLESS', value: 'hunter2' },
        { name: 'URL', value: `postgres://me:${VALUES[1]}@db` },
      ],
    }),
  );
  t.is(shown.status, 422, shown.text);
  t.is(textAt(shown.body, 'reason'), 'SecretValueInEnv');
  t.deepEqual(
    listAt(shown.body, 'details', 'causes').map((cause) => textAt(cause, 'field')),
    ['spec.env[1].value'],
  );
  t.false(shown.text.includes(VALUES[1]));

  const variables = (count: number, value: object): object[] =>
    Array.from({ length: count }, (_, i) => ({ name: `V${i}`, ...value }));
  const many = variables(2_001, { valueFrom: { secretKeyRef: { name: 'mounted', key: 'FIRST' } } });
  const large = variables(20, { value: 'x'.repeat(60_000) });
  for (const [env, field] of [
    [many, 'spec.env'],
    // The bound of the whole spec is the lower one.
    [large, 'spec'],
  ] as const) {
    const refused = await client.post(JOBS, objectOf('Job', 'large', { command: ['true'], secrets: ['mounted'], env }));
    t.is(refused.status, 422, refused.text);
    t.deepEqual(
      listAt(refused.body, 'details', 'causes').map((cause) => textAt(cause, 'field')),
      [field],
    );
  }

  const patched = await client.merge(`${SECRETS}/mounted`, { spec: { stringData: { FIRST: VALUES[2] } } });
  t.is(patched.status, 200, patched.text);
  t.deepEqual(listAt(patched.body, 'status', 'keys'), ['FIRST', 'SECOND']);
  const after = await seen(service, 'after');
  t.true(after.includes(`FIRST=${await hashOf(VALUES[2])} 400`), after);
  t.true(after.includes(`SECOND=${await hashOf(VALUES[1])} 400`), after);

  const removed = await client.merge(`${SECRETS}/mounted`, { spec: { data: { FIRST: null } } });
  t.deepEqual(listAt(removed.body, 'status', 'keys'), ['SECOND']);
  const last = await seen(service, 'last');
  t.false(last.includes('FIRST='), last);

  await t.notThrowsAsync(nowhere(service));
});

/** No value is in any answer, in the database, or in any file that the service keeps. */
async function nowhere(service: Running): Promise<void> {
  const client = service.client();
  for (const route of [
    SECRETS,
    `${SECRETS}/mounted`,
    `${SECRETS}?watch=true&timeoutSeconds=1`,
    JOBS,
    path('attempts', 'default'),
  ]) {
    clean(route, (await client.get(route)).text);
  }
  clean('the log', service.log());
  const database = new Database({ connectionString: service.databaseUrl });
  await database.connect();
  try {
    const tables = await database.query<{ name: string }>(
      "select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')",
    );
    for (const { name } of tables.rows) {
      const { rows } = await database.query<{ row: string }>(`select x::text as row from ${name} x`);
      for (const { row } of rows) clean(name, row);
    }
  } finally {
    await database.end();
  }
  for (const entry of await readdir(service.dataDir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    clean(file, await readFile(file, 'latin1').catch(() => ''));
  }
}

function clean(where: string, text: string): void {
  for (const value of VALUES) {
    const forms = [value, Buffer.from(value).toString('base64'), Buffer.from(value).toString('hex')];
    if (forms.some((form) => text.includes(form))) throw new Error(`a value is in ${where}`);
  }
}
