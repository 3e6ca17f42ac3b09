/**
 * A program is replaced by a newer one while work runs. What it finds is what an older one has left: rows in the first
 * formats, a runner that speaks the previous protocol, a journal in the previous form. All of it is taken up; and data that
 * a newer program has written is refused at the start, in one line.
 *
 * The programs before and after are the same one here: its data are rewritten between two starts into the forms that its
 * upcasters read, and the runner is held to the older version of the protocol by its settings.
 */
import { oneAfterAnother } from '../crash/one-after-another.js';
import { type Client, listAt, numberAt, objectOf, path, textAt } from '../e2e/client.js';
import { processesOn } from '../e2e/processes.js';
import { openRunning, type Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import {
  keepDoneEffects,
  readJournal,
  rewriteJournal,
  rewriteRows,
  startOlderRunner,
  storedOfJob,
  withDatabase,
  writeLaterJournal,
} from './older.js';

const JOBS = path('jobs', 'default');
const ATTEMPTS = path('attempts', 'default');
const SMALL = { cpu: '20m', memory: '32Mi', disk: '16Mi' };
/** What an older runner can carry out. */
const NO_NETWORK = { egress: { policy: 'Deny' } };
const ENDED_MS = 90_000;
const TEST_MS = 240_000;

/** The runner of the first speaks the previous protocol, for as long as it has work. */
const inTurn = oneAfterAnother(async (scope) => {
  const service = await openRunning(scope);
  await startOlderRunner(service);
  await service.start();
  return service;
});

async function post(client: Client, name: string, spec: object): Promise<void> {
  const answer = await client.post(JOBS, objectOf('Job', name, { resources: SMALL, network: NO_NETWORK, ...spec }));
  if (answer.status !== 201) throw new Error(answer.text);
}

async function outcome(client: Client, name: string): Promise<string> {
  const { body } = await client.get(`${JOBS}/${name}`);
  return `${textAt(body, 'status', 'phase')} ${textAt(body, 'status', 'reason')}`.trim();
}

async function ended(client: Client, name: string): Promise<string> {
  return until(
    `Job ${name} ends`,
    async () => {
      const now = await outcome(client, name);
      return /^(Succeeded|Failed|Cancelled)/.test(now) ? now : undefined;
    },
    ENDED_MS,
  );
}

const log = async (client: Client, name: string, index = 0): Promise<string> =>
  (await client.get(`${JOBS}/${name}/logs?index=${index}`)).text;

/** `index.epoch phase` of each Attempt of a Job, in order. */
async function attempts(client: Client, name: string): Promise<readonly string[]> {
  const { body } = await client.get(`${ATTEMPTS}?labelSelector=svc.dev%2Fjob%3D${name}`);
  return listAt(body, 'items')
    .map(
      (item) =>
        `${numberAt(item, 'spec', 'slot')}.${numberAt(item, 'spec', 'epoch')} ${textAt(item, 'status', 'phase')}`,
    )
    .toSorted();
}

/** Process ids of the runner. */
async function runners(service: Running): Promise<readonly number[]> {
  const found = processesOn(service.dataDir);
  return [...found].filter(([, line]) => /^\S*node .*runner\/main\.js/.test(line)).map(([pid]) => pid);
}

/** Ids of the work whose end the runner has noted. */
async function endsInJournal(service: Running): Promise<readonly (string | undefined)[]> {
  return (await readJournal(service)).filter(({ r }) => r === 'end').map(({ state }) => state?.id);
}

inTurn(
  'a new program takes up work of an older one: rows in the first formats, a runner that speaks the previous protocol',
  async (t, service) => {
    t.timeout(TEST_MS);
    t.regex(service.log(), /connected to the runner.*"version":3|"version":3.*connected to the runner/);
    const before = service.client();
    await keepDoneEffects(service);

    const steps =
      'for i in 1 2 3 4 5 6 7 8; do echo line $i; sleep 0.5; done; echo done $SVC_INDEX > /svc/outputs/x; echo end';
    await post(before, 'long', { command: ['sh', '-ec', `echo begin; ${steps}`], completions: 5, parallelism: 3 });
    await post(before, 'retries', { command: ['sh', '-c', 'echo try $SVC_EPOCH; [ $SVC_EPOCH = 3 ]'] });
    await post(before, 'overdue', { command: ['sleep', '600'], timeout: '4s' });
    await post(before, 'paused', { command: ['echo', 'ran'], state: 'Suspended' });
    await post(before, 'finished', { command: ['echo', 'ran'], completions: 2 });
    await post(before, 'fleeting', { command: ['true'], ttlSecondsAfterFinished: 4 });
    await post(before, 'removed', { command: ['true'] });
    await post(before, 'removed-whole', { command: ['true'] });
    // All at once: the fleeting one is there for four seconds only.
    const quick = ['finished', 'fleeting', 'removed', 'removed-whole'];
    for (const end of await Promise.all(quick.map((name) => ended(before, name)))) t.is(end, 'Succeeded Completed');
    await until(
      'indexes of the long Job run and one of the others has failed',
      async () => (await log(before, 'long', 2)).includes('line 2') && (await log(before, 'retries')).includes('try'),
      60_000,
    );
    for (const [name, propagationPolicy] of [
      ['removed', 'Background'],
      ['removed-whole', 'Foreground'],
    ] as const) {
      const removal = await before.remove(`${JOBS}/${name}`, { propagationPolicy });
      t.true(removal.status < 300, removal.text);
    }
    const [runner] = await runners(service);
    await service.kill();

    const rewritten = await rewriteRows(service);
    t.log(rewritten);
    for (const [what, rows] of Object.entries(rewritten)) t.true(rows > 0, `no ${what} were stored`);

    await service.start();
    const client = service.client();
    t.deepEqual(await runners(service), [runner], 'the same runner');
    t.is(service.log().match(/connected to the runner/g)?.length, 2);

    t.is(await ended(client, 'long'), 'Succeeded Completed');
    t.deepEqual(
      await attempts(client, 'long'),
      [0, 1, 2, 3, 4].map((index) => `${index}.1 Succeeded`),
      'every index ran once and succeeded',
    );
    const whole = `begin\n${[1, 2, 3, 4, 5, 6, 7, 8].map((line) => `line ${line}\n`).join('')}end\n`;
    for (const index of [0, 1, 2, 3, 4]) t.is(await log(client, 'long', index), whole, `log of index ${index}`);
    const outputs = listAt((await client.get(`${JOBS}/long/outputs`)).body, 'items');
    t.is(outputs.length, 5);

    const retried = await ended(client, 'retries').catch(async (error: unknown) => {
      t.log(await storedOfJob(service, 'retries'), await readJournal(service), service.log());
      throw error;
    });
    t.is(retried, 'Succeeded Completed');
    t.deepEqual(await attempts(client, 'retries'), ['0.1 Failed', '0.2 Failed', '0.3 Succeeded']);
    t.is(await ended(client, 'overdue'), 'Failed DeadlineExceeded');
    t.is(await outcome(client, 'finished'), 'Succeeded Completed');
    t.deepEqual(
      await attempts(client, 'finished'),
      ['0.1 Succeeded', '1.1 Succeeded'],
      'effects that ran before change nothing',
    );
    t.is(await outcome(client, 'paused'), 'Suspended Suspended');
    t.is((await client.merge(`${JOBS}/paused`, { spec: { state: 'Running' } })).status, 200);
    t.is(await ended(client, 'paused'), 'Succeeded Completed');
    // What it cannot do it is replaced for, once it has no work.
    await post(client, 'networked', {
      command: ['sh', '-c', '[ -n "$HTTP_PROXY" ]'],
      network: { egress: { policy: 'Open' } },
    });
    t.is(await ended(client, 'networked'), 'Succeeded Completed');
    t.notDeepEqual(await runners(service), [runner], 'another runner');
    for (const gone of ['fleeting', 'removed', 'removed-whole']) {
      await until(`${gone} is gone`, async () => (await client.get(`${JOBS}/${gone}`)).status === 404, 60_000);
      await until(`its Attempts are gone`, async () => (await attempts(client, gone)).length === 0, 60_000);
    }
    // A timer that is due only later may wait in its old form.
    const old = `
SELECT 'effects' AS what, kind, name, body FROM effects WHERE format = 0
UNION ALL SELECT 'timer', kind, name, timer FROM timers WHERE format = 0 AND due_at < now()`;
    let left: unknown;
    await until(
      'every effect and every due timer of the old formats is done',
      async () => {
        left = (await withDatabase(service, (database) => database.query(old))).rows;
        return Array.isArray(left) && left.length === 0;
      },
      30_000,
    ).catch(() => undefined);
    t.deepEqual(left, []);
  },
);

inTurn(
  'a new runner reads the journal of an older one: what ended meanwhile is taken with its outputs, what ran is replaced',
  async (t, service) => {
    t.timeout(TEST_MS);
    const before = service.client();
    await post(before, 'ends', {
      command: ['sh', '-ec', 'echo begin; sleep 3; echo $SVC_EPOCH > /svc/outputs/epoch; echo end'],
    });
    await post(before, 'fails', { command: ['sh', '-c', 'sleep 3; exit 7'], backoffLimit: 0 });
    await post(before, 'runs', { command: ['sh', '-c', '[ $SVC_EPOCH = 2 ] || exec sleep 600'] });
    await until(
      'all run',
      async () => {
        const { body } = await before.get(ATTEMPTS);
        return listAt(body, 'items').filter((item) => textAt(item, 'status', 'phase') === 'Running').length === 3;
      },
      60_000,
    );
    const endedBefore = new Set(await endsInJournal(service));
    await service.kill();
    await until(
      'two have ended without the service',
      async () => (await endsInJournal(service)).filter((id) => !endedBefore.has(id)).length === 2,
      60_000,
    );
    const [runner = 0] = await runners(service);
    process.kill(runner, 'SIGKILL');
    await until('the runner is gone', async () => (await runners(service)).length === 0);
    await rewriteJournal(service);

    await service.start();
    const client = service.client();
    t.is(await ended(client, 'ends'), 'Succeeded Completed');
    t.deepEqual(await attempts(client, 'ends'), ['0.1 Succeeded']);
    t.is(await log(client, 'ends'), 'begin\nend\n');
    t.is((await client.get(`${JOBS}/ends/outputs/outputs`)).status, 200);
    t.is(await ended(client, 'fails'), 'Failed BackoffLimitExceeded');
    t.deepEqual(await attempts(client, 'fails'), ['0.1 Failed']);
    t.is(await ended(client, 'runs'), 'Succeeded Completed');
    t.deepEqual(await attempts(client, 'runs'), ['0.1 Failed', '0.2 Succeeded']);
  },
);

/** Starts it, waits until it has ended, and answers what it said since (but for its log), and its exit code. */
async function refusal(service: Running): Promise<{ readonly said: readonly string[]; readonly code: number }> {
  const ends = (): readonly string[] => service.log().match(/^— process ended: .*$/gm) ?? [];
  const before = ends().length;
  service.launch();
  await until('the process has ended', () => !service.alive() && ends().length > before, 60_000);
  const said =
    service
      .log()
      .split(/^— process ended: .*$/m)
      .at(-2) ?? '';
  return {
    said: said.split('\n').filter((line) => line !== '' && !line.startsWith('{')),
    code: Number(ends().at(-1)?.replace(/\D/g, '')),
  };
}

/** `undo` takes away what `sql` has written. */
const LATER = [
  {
    what: 'a later migration',
    sql: "INSERT INTO schema_versions (number, name) VALUES (9001, '9001_later')",
    undo: 'DELETE FROM schema_versions WHERE number = 9001',
    line: /^the database has migration 9001, this program knows migrations up to \d+: start a program at least as new/,
  },
  {
    what: 'rows of a later format',
    sql: "UPDATE formats SET highest = highest + 8 WHERE what = 'slots'",
    undo: "UPDATE formats SET highest = highest - 8 WHERE what = 'slots'",
    line: /^the database has slots in format \d+, this program knows formats of slots up to \d+: start a program at least as new/,
  },
  {
    what: 'stored things that this program has no word for',
    sql: "INSERT INTO formats (what, highest) VALUES ('dreams', 1)",
    undo: "DELETE FROM formats WHERE what = 'dreams'",
    line: /^the database has dreams in format 1, this program knows nothing of dreams: start a program at least as new/,
  },
] as const;

inTurn(
  'a database with a later migration, rows of a later format or things unknown refuses each start with one line and changes nothing',
  async (t, service) => {
    t.timeout(TEST_MS);
    t.is((await service.client().post(JOBS, objectOf('Job', 'kept', { command: ['true'] }))).status, 201);
    service.signal('SIGTERM');
    await until('it has ended', () => !service.alive(), 60_000);
    const state = (): Promise<unknown> =>
      withDatabase(service, async (client) => [
        (await client.query('SELECT * FROM clock')).rows,
        (await client.query('SELECT * FROM formats ORDER BY what')).rows,
        (await client.query('SELECT * FROM schema_versions ORDER BY number')).rows,
      ]);
    const untouched = await state();
    for (const { what, sql, undo, line } of LATER) {
      await withDatabase(service, (client) => client.query(sql));
      const before = await state();
      t.notDeepEqual(before, untouched, what);
      const { said, code } = await refusal(service);
      t.is(said.length, 1, `${what}: ${said.join('\n')}`);
      t.regex(said[0] ?? '', line);
      t.true(code !== 0, `${what}: exit code ${code}`);
      t.deepEqual(await state(), before, what);
      await withDatabase(service, (client) => client.query(undo));
      t.deepEqual(await state(), untouched, what);
    }
  },
);

inTurn('a journal that a newer runner has written refuses the start with one line that says so', async (t, service) => {
  t.timeout(TEST_MS);
  // The test before has stopped it.
  await service.kill();
  for (const runner of await runners(service)) process.kill(runner, 'SIGKILL');
  await until('the runner is gone', async () => (await runners(service)).length === 0);
  await writeLaterJournal(service);
  const began = Date.now();
  const { said, code } = await refusal(service);
  // Not after the patience that a runner gets which may still come.
  t.true(Date.now() - began < 15_000);
  t.is(said.length, 1, said.join('\n'));
  t.regex(
    said[0] ?? '',
    /journal is of format 99, written by a newer version of this program, which reads up to \d+: start that version/,
  );
  t.true(code !== 0);
});
