/** Places and their loss: a full machine, each with a service of its own, and a runner that dies with all its work. */
import test from 'ava';
import { client as clientOf, type Client, listAt, numberAt, objectOf, textAt } from '../e2e/client.js';
import { processesOn } from '../e2e/processes.js';
import { until } from '../e2e/until.js';
import { shareKilled } from '../sandboxes/killed.js';
import { JOBS, jobsAt, openJobs, outcomeOf, phaseOf, sh, SMALL, attemptLines, type Jobs } from './jobs.js';

async function opened(t: { teardown(release: () => Promise<void>): void }, env: Record<string, string>): Promise<Jobs> {
  const jobs = await openJobs({ env });
  t.teardown(() => jobs.close());
  return jobs;
}

test('a Job that finds no place within queueTimeout fails with CapacityUnavailable; without one it waits, and says why', async (t) => {
  const jobs = await opened(t, { TROUPE_NODE_CPU: '500m' });
  const client: Client = jobs.client();
  const resources = { ...SMALL, cpu: '400m' };
  await jobs.post('holds-all', { command: ['sleep', '600'], resources });
  await jobs.once('holds-all', 'runs', (job) => phaseOf(job) === 'Running');
  await jobs.post('waits-on', { command: ['true'], resources });
  const job = await jobs.run('gives-up', { command: ['true'], resources, placement: { queueTimeout: '1s' } });
  t.is(outcomeOf(job), 'Failed CapacityUnavailable');
  t.regex(textAt(job, 'status', 'message'), /queueTimeout 1s/);
  for (const { phase } of await jobs.attempts('gives-up')) t.is(phase, 'Cancelled');
  const waiting = await jobs.once(
    'waits-on',
    'says why it waits',
    (now) => outcomeOf(now) === 'Pending WaitingForCapacity',
  );
  t.regex(textAt(waiting, 'status', 'message'), /cpu/);
  t.is((await client.merge(`${JOBS}/holds-all`, { spec: { state: 'Cancelled' } })).status, 200);
  t.is(outcomeOf(await jobs.ended('waits-on')), 'Succeeded Completed');
});

test('work of one org that never ends leaves room for others where TROUPE_QUOTA_MACHINE_PERCENT caps what an org may hold', async (t) => {
  const jobs = await opened(t, { TROUPE_NODE_CPU: '400m', TROUPE_QUOTA_MACHINE_PERCENT: '50' });
  const owner = jobs.client();
  const resources = { ...SMALL, cpu: '100m' };
  const endless = ['endless-0', 'endless-1', 'endless-2', 'endless-3'];
  for (const name of endless.slice(0, 2)) {
    await jobs.post(name, { command: ['sleep', '100000'], resources });
    await jobs.once(name, 'runs', (job) => phaseOf(job) === 'Running');
  }
  for (const name of endless.slice(2)) await jobs.post(name, { command: ['sleep', '100000'], resources });

  const made = await owner.post('/ops/v1/orgs', { name: 'second' });
  const other = clientOf(jobs.service.url, textAt(made.body, 'key'));
  const half = { command: ['true'], resources: { ...SMALL, cpu: '200m' } };
  t.is((await other.post(JOBS, objectOf('Job', 'theirs', half))).status, 201);
  const theirs = await until(
    'the Job of the other org ends',
    async () => {
      const { body } = await other.get(`${JOBS}/theirs`);
      return ['Succeeded', 'Failed'].includes(phaseOf(body)) && body;
    },
    60_000,
  );
  t.is(outcomeOf(theirs), 'Succeeded Completed');

  for (const name of endless.slice(2)) {
    const says = (job: unknown) => outcomeOf(job) === 'Pending WaitingForCapacity';
    const waiting = await jobs.once(name, 'says why it waits', says);
    t.regex(
      textAt(waiting, 'status', 'message'),
      /^needs cpu 100m, .* one organisation may hold 50 percent of Node "local" at once, which is cpu 200m, .* that of yours holds cpu 200m, .* in 2 places now: .* TROUPE_QUOTA_MACHINE_PERCENT$/,
    );
  }
  t.is((await owner.merge(`${JOBS}/endless-0`, { spec: { state: 'Cancelled' } })).status, 200);
  await jobs.once('endless-2', 'runs once its org holds less', (job) => phaseOf(job) === 'Running');

  const above = { command: ['true'], resources: { ...SMALL, cpu: '300m' } };
  const dry = await owner.post(`${JOBS}?dryRun=All`, objectOf('Job', 'above', above));
  t.regex(dry.headers.get('warning') ?? '', /cannot run: it needs cpu 300m, .* may hold 50 percent of Node/);
  t.is(textAt(listAt(dry.body, 'status', 'estimate', 'warnings')[0], 'code'), 'CapacityUnavailable');
  t.false(dry.text.includes('placementPreview'), 'it would not be placed');
  const refused = await jobs.run('above', above);
  t.is(outcomeOf(refused), 'Failed CapacityUnavailable');
  t.regex(textAt(refused, 'status', 'message'), /which is cpu 200m, .* raise TROUPE_QUOTA_MACHINE_PERCENT/);
});

/** The runner of this service. */
async function runnerOf(jobs: Jobs): Promise<number> {
  for (const [pid, line] of processesOn(jobs.service.dataDir)) {
    if (/^\S*node .*runner\/main\.js/.test(line)) return pid;
  }
  throw new Error('there is no runner');
}

test.serial(
  'a SIGKILLed runner is lost capacity: its Attempts are replaced at the next epoch, and the Job succeeds',
  async (t) => {
    const jobs = await jobsAt(await shareKilled());
    t.teardown(() => jobs.close());
    const command = sh('echo begin $SVC_EPOCH; if [ $SVC_EPOCH = 1 ]; then exec sleep 600; fi; echo end');
    await jobs.post('bereft', { command, completions: 3, parallelism: 3 });
    await jobs.post('resigned', { command: ['sleep', '600'], recovery: { onInterruption: 'Fail' } });
    await jobs.run('before', { command: ['echo', 'kept'] });
    await jobs.once('resigned', 'runs', (job) => phaseOf(job) === 'Running');
    await until(
      'all run',
      async () => (await jobs.attempts('bereft')).filter(({ phase }) => phase === 'Running').length === 3,
      60_000,
    );

    process.kill(await runnerOf(jobs), 'SIGKILL');

    const job = await jobs.ended('bereft');
    t.is(outcomeOf(job), 'Succeeded Completed');
    t.is(numberAt(job, 'status', 'failed'), 0, 'lost capacity is nobody’s failure');
    t.deepEqual(attemptLines(await jobs.attempts('bereft')), [
      '0.1 Failed NodeLost',
      '0.2 Succeeded Completed',
      '1.1 Failed NodeLost',
      '1.2 Succeeded Completed',
      '2.1 Failed NodeLost',
      '2.2 Succeeded Completed',
    ]);
    const [first, second] = await jobs.attempts('bereft');
    t.is(textAt(first?.body, 'status', 'supersededBy'), second?.name ?? '');
    t.regex(await jobs.log('bereft', 'index=0&epoch=1'), /^begin 1\n.*runner died/);
    t.is(await jobs.log('bereft', 'index=0'), 'begin 2\nend\n');
    t.is(await jobs.log('before'), 'kept\n', 'logs of finished work outlive the runner');
    t.is(outcomeOf(await jobs.ended('resigned')), 'Failed NodeLost');
    t.is(outcomeOf(await jobs.run('after', { command: ['true'] })), 'Succeeded Completed');
  },
);
