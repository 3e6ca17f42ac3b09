/** Places and their loss: a full machine, and a runner that dies with all its work. One service each: they disturb others. */
import test from 'ava';
import { type Client, numberAt, textAt } from '../e2e/client.js';
import { processesOn } from '../e2e/processes.js';
import { until } from '../e2e/until.js';
import { JOBS, openJobs, outcomeOf, phaseOf, sh, SMALL, attemptLines, type Jobs } from './jobs.js';

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

/** The runner of this service. */
async function runnerOf(jobs: Jobs): Promise<number> {
  for (const [pid, line] of processesOn(jobs.service.dataDir)) {
    if (/^\S*node .*runner\/main\.js/.test(line)) return pid;
  }
  throw new Error('there is no runner');
}

test('a SIGKILLed runner is lost capacity: its Attempts are replaced at the next epoch, and the Job succeeds', async (t) => {
  const jobs = await opened(t, {});
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
});
