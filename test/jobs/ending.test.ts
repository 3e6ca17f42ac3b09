/** How Jobs end, stop and go on: failures, limits, times, state, deletion. */
import test from 'ava';
import { type Client, listAt, numberAt, objectOf, textAt, valueAt } from '../e2e/client.js';
import { processesOn } from '../e2e/processes.js';
import { until } from '../e2e/until.js';
import { ATTEMPTS, JOBS, openJobs, outcomeOf, phaseOf, messageOf, sh, SMALL, attemptLines, type Jobs } from './jobs.js';

let jobs: Jobs;
test.before(async () => {
  jobs = await openJobs();
});
test.after.always(async () => {
  await jobs.close();
});

const merge = async (name: string, spec: object): Promise<number> =>
  (await jobs.client().merge(`${JOBS}/${name}`, { spec })).status;

/** A program that runs until it is asked to stop, and says a word by which its process is found. */
const waits = (word: string): readonly string[] => [
  'sh',
  '-c',
  `: ${word}; trap "exit 0" TERM; while :; do sleep 0.1; done`,
];

async function isRunning(word: string): Promise<boolean> {
  for (const line of processesOn(': ' + word).values()) if (line.includes(word)) return true;
  return false;
}

test('a Job fails when its indexes have failed more often than backoffLimit, and stops what still runs', async (t) => {
  const job = await jobs.run('unlucky', {
    command: sh('if [ $SVC_INDEX = 0 ]; then exit 7; fi; exec sleep 600'),
    completions: 2,
    parallelism: 2,
    backoffLimit: 1,
  });
  t.is(outcomeOf(job), 'Failed BackoffLimitExceeded');
  t.is(numberAt(job, 'status', 'failed'), 2);
  t.is(textAt(job, 'status', 'failedIndexes'), '0');
  t.is(numberAt(job, 'status', 'active'), 0);
  t.deepEqual(attemptLines(await jobs.attempts('unlucky')), [
    '0.1 Failed CustomerExit',
    '0.2 Failed CustomerExit',
    '1.1 Cancelled Stopped',
  ]);
  t.is(numberAt((await jobs.attempts('unlucky'))[0]?.body, 'status', 'exitCode'), 7);
  const failed = listAt(job, 'status', 'conditions').find((condition) => textAt(condition, 'type') === 'Failed');
  t.is(textAt(failed, 'status'), 'True');
  t.regex(textAt(failed, 'message'), /exit code 7/);
});

test('an index that fails is tried again at the next epoch until it succeeds', async (t) => {
  const job = await jobs.run('third-time', { command: sh('echo try $SVC_EPOCH; [ $SVC_EPOCH = 2 ]') });
  t.is(outcomeOf(job), 'Succeeded Completed');
  t.deepEqual(attemptLines(await jobs.attempts('third-time')), ['0.1 Failed CustomerExit', '0.2 Succeeded Completed']);
  t.is(await jobs.log('third-time', 'epoch=1'), 'try 1\n');
  t.is(await jobs.log('third-time'), 'try 2\n');
});

test('timeout ends the Job as DeadlineExceeded and stops its work', async (t) => {
  const job = await jobs.run('too-long', { command: ['sleep', '600'], timeout: '1s', completions: 2, parallelism: 2 });
  t.is(outcomeOf(job), 'Failed DeadlineExceeded');
  t.is(numberAt(job, 'status', 'active'), 0);
  for (const { phase } of await jobs.attempts('too-long')) t.not(phase, 'Running');
});

test('Suspended stops the work and keeps what has succeeded; Running goes on at higher epochs', async (t) => {
  await jobs.post('pausing', {
    command: sh('[ $SVC_INDEX = 0 ] || [ $SVC_EPOCH -ge 2 ] || exec sleep 600'),
    completions: 3,
    parallelism: 3,
  });
  await jobs.once('pausing', 'has one success', (job) => numberAt(job, 'status', 'succeeded') === 1);
  t.is(await merge('pausing', { state: 'Suspended' }), 200);
  const paused = await jobs.once('pausing', 'is suspended', (job) => phaseOf(job) === 'Suspended');
  t.is(numberAt(paused, 'status', 'active'), 0);
  t.is(textAt(paused, 'status', 'completedIndexes'), '0');
  t.is(await merge('pausing', { state: 'Running' }), 200);
  t.is(outcomeOf(await jobs.ended('pausing')), 'Succeeded Completed');
  t.deepEqual(attemptLines(await jobs.attempts('pausing')), [
    '0.1 Succeeded Completed',
    '1.1 Cancelled Suspended',
    '1.2 Succeeded Completed',
    '2.1 Cancelled Suspended',
    '2.2 Succeeded Completed',
  ]);
});

test('Cancelled ends the Job for good; it cannot be taken back', async (t) => {
  await jobs.post('called-off', { command: ['sleep', '600'], completions: 2 });
  await jobs.once('called-off', 'runs', (job) => phaseOf(job) === 'Running');
  t.is(await merge('called-off', { state: 'Cancelled' }), 200);
  const job = await jobs.ended('called-off');
  t.is(outcomeOf(job), 'Cancelled Cancelled');
  t.deepEqual(attemptLines(await jobs.attempts('called-off')), ['0.1 Cancelled Stopped']);
  t.is(await merge('called-off', { state: 'Running' }), 422);
});

test('a request that no machine can ever meet is warned of, and fails with CapacityUnavailable and what is lacking', async (t) => {
  const create = (query: string, cpu: string) =>
    jobs.client().post(`${JOBS}${query}`, objectOf('Job', 'huge', { command: ['true'], resources: { cpu } }));
  const warned = await create('?dryRun=All', '4096');
  t.is(warned.status, 201, warned.text);
  t.regex(
    warned.headers.get('warning') ?? '',
    /^299 - "Job \\"huge\\" cannot run: it needs cpu 4096, .*; the largest Node, \\"local\\", has cpu /,
  );
  t.is(textAt(listAt(warned.body, 'status', 'estimate', 'warnings')[0], 'code'), 'CapacityUnavailable');
  t.false(warned.text.includes('placementPreview'), 'no offering can take it');
  const fitting = await create('?dryRun=All', '10m');
  t.is(fitting.headers.get('warning'), null);
  t.is(textAt(fitting.body, 'status', 'estimate', 'placementPreview', 'offering'), 'cpu-local');
  const job = await jobs.run('huge', { command: ['true'], resources: { cpu: '4096', memory: '64Mi' } });
  t.is(outcomeOf(job), 'Failed CapacityUnavailable');
  t.regex(textAt(job, 'status', 'message'), /cpu/);
  t.is((await jobs.attempts('huge')).length, 1);
});

test('parallelism raised starts more at once; lowered, what runs goes on and no more start', async (t) => {
  const command = sh('until [ -e /svc/state/never ]; do if [ $SVC_EPOCH -ge 2 ]; then exit 0; fi; sleep 0.1; done');
  await jobs.post('widening', { command, completions: 6, parallelism: 1 });
  await jobs.once('widening', 'runs one', (job) => numberAt(job, 'status', 'active') === 1);
  t.is(await merge('widening', { parallelism: 3 }), 200);
  await jobs.once('widening', 'runs three', (job) => numberAt(job, 'status', 'active') === 3);
  t.is(await merge('widening', { parallelism: 1 }), 200);
  t.is(await merge('widening', { state: 'Suspended' }), 200);
  await jobs.once('widening', 'is suspended', (job) => phaseOf(job) === 'Suspended');
  t.is(await merge('widening', { state: 'Running' }), 200);
  const seen: number[] = [];
  const job = await jobs.once('widening', 'has gone on', (now) => {
    seen.push(numberAt(now, 'status', 'active'));
    return numberAt(now, 'status', 'succeeded') >= 2;
  });
  t.true(Math.max(...seen) <= 1, seen.join());
  t.is(await merge('widening', { parallelism: 7 }), 422);
  t.is((await jobs.client().remove(`${JOBS}/widening`)).status, 200);
  t.truthy(job);
});

test('ttlSecondsAfterFinished removes the Job, its Attempts and its outputs', async (t) => {
  const job = await jobs.run('fleeting', {
    command: sh('date +%N > /svc/outputs/x'),
    ttlSecondsAfterFinished: 1,
    completions: 2,
    parallelism: 2,
  });
  t.is(outcomeOf(job), 'Succeeded Completed');
  const [attempt] = await jobs.attempts('fleeting');
  await until('it is gone', async () => (await jobs.client().get(`${JOBS}/fleeting`)).status === 404, 60_000);
  await until('its Attempts are gone', async () => (await jobs.attempts('fleeting')).length === 0, 60_000);
  t.is((await jobs.client().get(`${JOBS}/fleeting/outputs`)).status, 404);
  t.is((await jobs.client().get(`${ATTEMPTS}/${attempt?.name}/logs`)).status, 404);
});

for (const propagationPolicy of ['Background', 'Foreground', 'Orphan'] as const) {
  test(`delete (${propagationPolicy}) while it runs leaves no process and no Attempt`, async (t) => {
    const name = `doomed-${propagationPolicy.toLowerCase()}`;
    await jobs.post(name, { command: waits(name), completions: 2, parallelism: 2 });
    await until(`${name} runs`, () => isRunning(name), 60_000);
    const answer = await jobs.client().remove(`${JOBS}/${name}`, { propagationPolicy });
    t.true(answer.status === 200 || answer.status === 202, answer.text);
    await until('the Job is gone', async () => (await jobs.client().get(`${JOBS}/${name}`)).status === 404, 60_000);
    await until('its Attempts are gone', async () => (await jobs.attempts(name)).length === 0, 60_000);
    t.false(await isRunning(name));
  });
}

test('the Node that the service runs on stays, asked for by its name or with all others', async (t) => {
  for (const at of ['nodes/local', 'nodes', 'nodes?dryRun=All']) {
    const answer = await jobs.client().remove(`/apis/svc.dev/v1/${at}`);
    t.is(answer.status, 409, answer.text);
    t.regex(answer.text, /\\"local\\".* cannot be deleted/);
  }
});

test('a Job deleted while a stubborn program ignores SIGTERM is ended by force', async (t) => {
  await jobs.post('stubborn', { command: ['sh', '-c', ': stubborn-word; trap "" TERM; while :; do sleep 0.1; done'] });
  await until('it runs', () => isRunning('stubborn-word'), 60_000);
  const answer = await jobs
    .client()
    .remove(`${JOBS}/stubborn`, { propagationPolicy: 'Foreground', gracePeriodSeconds: 1 });
  t.true(answer.status === 200 || answer.status === 202, answer.text);
  await until('its process is gone', async () => !(await isRunning('stubborn-word')), 60_000);
  await until('the Job is gone', async () => (await jobs.client().get(`${JOBS}/stubborn`)).status === 404, 60_000);
  t.pass();
});

test('work that writes more than its disk fails with a reason, and what it wrote is gone', async (t) => {
  const job = await jobs.run('hoarder', {
    command: sh('head -c 64M /dev/zero > /workspace/much; sleep 600'),
    // Where the disk is memory (`ops/scratch.mjs`), what is written counts as that too.
    resources: { ...SMALL, memory: '256Mi', disk: '8Mi' },
    backoffLimit: 0,
  });
  t.is(outcomeOf(job), 'Failed BackoffLimitExceeded');
  const [attempt] = await jobs.attempts('hoarder');
  t.is(attempt?.reason, 'DiskFull');
  t.regex(messageOf(job), /disk|limit of 8388608/i);
});

test('work that uses more memory than it may fails as OutOfMemory', async (t) => {
  const ready = await jobs.client().get('/readyz?verbose');
  if (valueAt(ready.body, 'compute', 'enforced', 'memory') !== true) {
    t.log('no control group for memory here');
    t.pass();
    return;
  }
  const job = await jobs.run('greedy', {
    command: sh('head -c 600M /dev/zero | tail'),
    resources: { ...SMALL, memory: '64Mi' },
    backoffLimit: 0,
  });
  t.is(outcomeOf(job), 'Failed BackoffLimitExceeded');
  t.is((await jobs.attempts('greedy'))[0]?.reason, 'OutOfMemory', messageOf(job));
});

const UNSUPPORTED: readonly (readonly [string, object])[] = [
  ['spec.volumes', { volumes: [{ volume: 'v', mountPath: '/data' }] }],
  ['spec.resources.gpu', { resources: { gpu: { count: 1 } } }],
  ['spec.distributed', { distributed: { nodes: 2 } }],
  ['spec.scaledownWindow', { scaledownWindow: '5m' }],
  ['spec.connections', { connections: ['db'] }],
  ['spec.recovery.checkpoint', { recovery: { checkpoint: {} } }],
  ['spec.source.git', { source: { git: { repo: 'a/b' } } }],
  ['spec.image', { image: 'docker.io/library/alpine:3' }],
];

test('fields that are not carried out are refused with 501 naming them, one by one and together', async (t) => {
  const client: Client = jobs.client();
  for (const [field, spec] of UNSUPPORTED) {
    const answer = await client.post(JOBS, objectOf('Job', 'unsupported', { command: ['true'], ...spec }));
    t.is(answer.status, 501, `${field}: ${answer.text}`);
    t.is(textAt(answer.body, 'reason'), 'Unsupported');
    t.true(answer.text.includes(field), answer.text);
  }
  const all = Object.assign({ command: ['true'] }, ...UNSUPPORTED.map(([, spec]) => spec)) as object;
  const answer = await client.post(JOBS, objectOf('Job', 'unsupported', all));
  t.is(answer.status, 501);
  for (const [field] of UNSUPPORTED) t.true(answer.text.includes(field), `${field}: ${answer.text}`);
  t.is((await client.get(`${JOBS}/unsupported`)).status, 404);
});

test('a dry run says what the create would be refused for, field by field, and places nothing', async (t) => {
  const client: Client = jobs.client();
  const fields = UNSUPPORTED.filter(([field]) => field !== 'spec.volumes' && field !== 'spec.connections');
  const all = Object.assign({ command: ['true'] }, ...fields.map(([, spec]) => spec)) as object;
  const answer = await client.post(`${JOBS}?dryRun=All`, objectOf('Job', 'unsupported', all));
  t.is(answer.status, 201, answer.text);
  const reasons = listAt(answer.body, 'status', 'estimate', 'blockingReasons');
  const named = new Set(reasons.map((reason) => textAt(reason, 'message').split(': ')[0]));
  for (const [field] of fields) t.true(named.has(field), field);
  t.is(reasons.length, fields.length, 'one for each field');
  for (const reason of reasons) {
    t.is(textAt(reason, 'code'), 'Unsupported');
    t.not(textAt(reason, 'fix'), '');
  }
  t.false(answer.text.includes('placementPreview'), answer.text);
  for (const [kind, plural, spec, field] of [
    ['Sandbox', 'sandboxes', { image: 'svc/agent-tools', args: ['x'] }, 'spec.args'],
    ['Workspace', 'workspaces', { ephemeral: true, resources: { gpu: { count: 1 } } }, 'spec.resources.gpu'],
  ] as const) {
    const at = JOBS.replace('jobs', plural);
    const dry = await client.post(`${at}?dryRun=All`, objectOf(kind, 'dry', spec));
    t.is(dry.status, 201, dry.text);
    const [reason] = listAt(dry.body, 'status', 'estimate', 'blockingReasons');
    t.is(textAt(reason, 'message'), `${field}: not supported yet`);
  }
  t.regex(answer.headers.get('warning') ?? '', /would be refused: Job does not support yet: .*spec\.resources\.gpu/);

  t.is(
    (await client.post(JOBS, objectOf('Job', 'dry-changed', { command: ['true'], state: 'Suspended' }))).status,
    201,
  );
  const changed = await client.merge(`${JOBS}/dry-changed?dryRun=All`, {
    spec: { recovery: { checkpoint: { interval: '5m' } } },
  });
  t.is(changed.status, 200, changed.text);
  t.regex(
    changed.headers.get('warning') ?? '',
    /would be refused: Job does not support yet: spec\.recovery\.checkpoint/,
  );
  const [reason] = listAt(changed.body, 'status', 'estimate', 'blockingReasons');
  t.is(textAt(reason, 'message'), 'spec.recovery.checkpoint: not supported yet');
});

test('work is estimated, created and run at the rate of what it asks for, unless that is above what it accepts', async (t) => {
  const client = jobs.client();
  const dear = (name: string, maxRateUSDPerHour: string): object =>
    objectOf('Job', name, {
      command: ['true'],
      placement: { maxRateUSDPerHour },
      resources: { cpu: '20m', memory: '64Mi' },
    });
  const refused = await client.post(JOBS, dear('too-dear', '0.0003'));
  t.is(refused.status, 402, refused.text);
  t.is(textAt(refused.body, 'reason'), 'PriceConsentRequired');
  t.regex(refused.text, /spec\.placement\.maxRateUSDPerHour: the rate is 0\.000325 USD per hour, above the 0\.0003 /);
  const dry = await client.post(`${JOBS}?dryRun=All`, dear('too-dear', '0.0003'));
  t.is(dry.status, 201, dry.text);
  const [reason] = listAt(dry.body, 'status', 'estimate', 'blockingReasons');
  t.is(textAt(reason, 'code'), 'PriceConsentRequired');
  t.regex(textAt(reason, 'message'), /0\.000325 .* 0\.0003 /);
  const [rejected] = listAt(dry.body, 'status', 'estimate', 'placementPreview', 'explain', 'rejected');
  t.is(textAt(rejected, 'offeringClass'), 'cpu-local');

  const asked = await client.post(`${JOBS}?dryRun=All`, dear('priced', '0.000325'));
  const consent = { 'if-match': asked.headers.get('etag') ?? '' };
  const made = await client.ask('POST', JOBS, { body: dear('priced', '0.000325'), headers: consent });
  t.is(made.status, 201, made.text);
  t.is(textAt(made.body, 'status', 'estimate', 'rateUSDPerHour'), '0.000325');
  t.is(textAt(made.body, 'status', 'estimate', 'pricebookVersion'), '2026-01');
  t.is(textAt(made.body, 'status', 'estimate', 'holdUSD'), '0.000010834');
  await jobs.ended('priced');
  const [attempt] = await jobs.attempts('priced');
  t.is(textAt(attempt?.body, 'status', 'placement', 'rateUSDPerHour'), '0.000325');
});

test('a change with the ETag that was read is made, and with an older one nothing changes', async (t) => {
  const client = jobs.client();
  await jobs.post('guarded', { command: ['true'], state: 'Suspended' });
  const etag = (await client.get(`${JOBS}/guarded`)).headers.get('etag') ?? '';
  const change = (backoffLimit: number) =>
    client.merge(`${JOBS}/guarded`, { spec: { backoffLimit } }, { 'if-match': etag });
  t.is((await change(2)).status, 200);
  t.is((await change(3)).status, 412);
  t.is(numberAt((await client.get(`${JOBS}/guarded`)).body, 'spec', 'backoffLimit'), 2);
  t.is((await client.remove(`${JOBS}/guarded`, undefined, { 'if-match': etag })).status, 412);
});

test('a dry run returns an estimate and stores nothing, also when it is refused', async (t) => {
  const client = jobs.client();
  const answer = await client.post(`${JOBS}?dryRun=All`, objectOf('Job', 'only-asked', { command: ['true'] }));
  t.is(answer.status, 201, answer.text);
  t.regex(textAt(answer.body, 'status', 'estimate', 'costUSD', 'p50'), /^\d+\.\d{2}/);
  t.regex(textAt(answer.body, 'status', 'estimate', 'validUntil'), /^\d{4}-/);
  t.is((await client.get(`${JOBS}/only-asked`)).status, 404);
  const bad = await client.post(`${JOBS}?dryRun=All`, objectOf('Job', 'only-asked', { command: [] }));
  t.is(bad.status, 422, bad.text);
  t.deepEqual(await jobs.attempts('only-asked'), []);
});
