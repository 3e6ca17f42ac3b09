/** Pipelines: stages as Jobs that take each other's outputs, through HTTP. */
import test from 'ava';
import { listAt, objectOf, path, textAt } from '../e2e/client.js';
import { until } from '../e2e/until.js';
import { openParents, outcomeOf, phasesOf, PIPELINES, script, type Parents } from './parents.js';

const JOBS = path('jobs', 'default');

let parents: Parents;
test.before(async () => {
  parents = await openParents();
});
test.after.always(async () => {
  await parents.close();
});

const at = (name: string): string => `${PIPELINES}/${name}`;
const stage = (name: string, text: string, more: object = {}): object => ({ name, template: script(text), ...more });

test('a stage starts when what it needs has succeeded, and takes its outputs', async (t) => {
  await parents.post('Pipeline', 'relay', {
    stages: [
      stage('join', 'cat /svc/inputs/left /svc/inputs/right; cat /svc/inputs/all/note', {
        inputs: [
          { fromStage: 'left', name: 'left', output: 'word' },
          { fromStage: 'left', name: 'all' },
        ],
        template: script('cat /svc/inputs/left /svc/inputs/right /svc/inputs/all/note', {
          inputs: [{ name: 'right', fromStage: { stage: 'right', output: 'word' } }],
        }),
      }),
      stage('left', '', {
        template: script('echo left > /tmp/w; echo note > /svc/outputs/note', {
          outputs: [{ name: 'word', path: '/tmp/w' }],
        }),
      }),
      stage('right', '', {
        dependsOn: ['left'],
        template: script('echo right > /tmp/w', { outputs: [{ name: 'word', path: '/tmp/w' }] }),
      }),
    ],
  });
  const pipeline = await parents.ended(at('relay'));
  t.is(outcomeOf(pipeline), 'Succeeded Completed');
  const stages = listAt(pipeline, 'status', 'stages');
  t.deepEqual(
    stages.map((entry) => [textAt(entry, 'name'), textAt(entry, 'phase')]),
    [
      ['join', 'Succeeded'],
      ['left', 'Succeeded'],
      ['right', 'Succeeded'],
    ],
  );
  t.is((await parents.client().get(`${at('relay')}/stages/join/logs`)).text, 'left\nright\nnote\n');
  const none = await parents.client().get(`${at('relay')}/stages/none/logs`);
  t.is(none.status, 404);
  const [join, left, right] = stages.map((entry) => textAt(entry, 'startTime'));
  t.true((left ?? '') <= (right ?? '') && (right ?? '') <= (join ?? ''));
});

test('after a failure FailFast begins no other stage, and the message names the stage that failed', async (t) => {
  await parents.post('Pipeline', 'fast', {
    maxParallel: 1,
    stages: [stage('bad', 'exit 3'), stage('after', 'true', { dependsOn: ['bad'] }), stage('beside', 'true')],
  });
  const pipeline = await parents.ended(at('fast'));
  t.is(outcomeOf(pipeline), 'Failed StageFailed');
  t.deepEqual(phasesOf(pipeline, 'stages'), ['Failed', 'Skipped', 'Skipped']);
  t.regex(textAt(pipeline, 'status', 'message'), /^stage "bad" failed: BackoffLimitExceeded: .*exit code 3/);
});

test('with Continue only what needs the failed stage is skipped', async (t) => {
  await parents.post('Pipeline', 'on', {
    failurePolicy: 'Continue',
    maxParallel: 1,
    stages: [
      stage('last', 'true', { dependsOn: ['after'] }),
      stage('bad', 'exit 3'),
      stage('after', 'true', { dependsOn: ['bad'] }),
      stage('beside', 'true'),
    ],
  });
  const pipeline = await parents.ended(at('on'));
  t.is(outcomeOf(pipeline), 'Failed StageFailed');
  t.deepEqual(phasesOf(pipeline, 'stages'), ['Skipped', 'Failed', 'Skipped', 'Succeeded']);
  const skipped = await parents.client().get(`${at('on')}/stages/last/logs`);
  t.is(skipped.status, 404);
  t.is(textAt(skipped.body, 'message'), 'stage "last" is Skipped: it has no log');
});

test('templates lie over the defaults, field by field', async (t) => {
  await parents.post('Pipeline', 'layers', {
    defaults: script('echo $WORD', { env: [{ name: 'WORD', value: 'default' }] }),
    stages: [{ name: 'plain' }, { name: 'other', template: { env: [{ name: 'WORD', value: 'own' }] } }],
  });
  t.is(outcomeOf(await parents.ended(at('layers'))), 'Succeeded Completed');
  t.is((await parents.client().get(`${at('layers')}/stages/plain/logs`)).text, 'default\n');
  t.is((await parents.client().get(`${at('layers')}/stages/other/logs`)).text, 'own\n');
});

test('a stage never takes the output of another Job that stands under the name of the one that made it', async (t) => {
  const made = (word: string): object =>
    script(`echo ${word} > /tmp/w`, { outputs: [{ name: 'word', path: '/tmp/w' }] });
  await parents.post('Pipeline', 'pinned', {
    stages: [
      { name: 'make', template: made('first') },
      stage('gate', '[ $SVC_EPOCH -ge 2 ] || exec sleep 600', { dependsOn: ['make'] }),
      {
        name: 'take',
        dependsOn: ['gate'],
        inputs: [{ fromStage: 'make', name: 'word', output: 'word' }],
        template: script('cat /svc/inputs/word'),
      },
    ],
  });
  const waiting = await parents.once(at('pinned'), 'waits', (object) => phasesOf(object, 'stages')[1] === 'Running');
  const job = textAt(listAt(waiting, 'status', 'stages')[0], 'job');
  t.is((await parents.client().remove(`${JOBS}/${job}`)).status, 200);
  await until('the Job is gone', async () => (await parents.client().get(`${JOBS}/${job}`)).status === 404, 30_000);
  t.is((await parents.client().post(JOBS, objectOf('Job', job, made('second')))).status, 201);
  await parents.once(`${JOBS}/${job}`, 'succeeds', (object) => textAt(object, 'status', 'phase') === 'Succeeded');
  await parents.merge(at('pinned'), { state: 'Suspended' });
  await parents.once(at('pinned'), 'rests', (object) => textAt(object, 'status', 'phase') === 'Suspended');
  await parents.merge(at('pinned'), { state: 'Running' });
  const pipeline = await parents.ended(at('pinned'));
  t.deepEqual(phasesOf(pipeline, 'stages'), ['Succeeded', 'Succeeded', 'Failed']);
  t.regex(textAt(pipeline, 'status', 'message'), /stage "take" failed: OutputNotFound/);
});

test('Suspended rests the stages, and a Cancelled one never begins the others', async (t) => {
  await parents.post('Pipeline', 'moods', {
    stages: [
      stage('first', '[ $SVC_EPOCH -ge 2 ] || exec sleep 600'),
      stage('second', 'exec sleep 600', { dependsOn: ['first'] }),
      stage('third', 'true', { dependsOn: ['second'] }),
    ],
  });
  await parents.once(at('moods'), 'runs', (object) => phasesOf(object, 'stages')[0] === 'Running');
  t.is((await parents.merge(at('moods'), { state: 'Suspended' })).status, 200);
  await parents.once(at('moods'), 'rests', (object) => textAt(object, 'status', 'phase') === 'Suspended');
  t.is((await parents.merge(at('moods'), { state: 'Running' })).status, 200);
  await parents.once(at('moods'), 'goes on', (object) => phasesOf(object, 'stages')[1] === 'Running');
  t.is((await parents.merge(at('moods'), { state: 'Cancelled' })).status, 200);
  const pipeline = await parents.ended(at('moods'));
  t.is(outcomeOf(pipeline), 'Cancelled Cancelled');
  t.deepEqual(phasesOf(pipeline, 'stages'), ['Succeeded', 'Cancelled', 'Cancelled']);
});

test('a graph that cannot run is refused with its path, and so is a change of the stages', async (t) => {
  const refused = async (stages: readonly object[]): Promise<readonly string[]> => {
    const answer = await parents.client().post(PIPELINES, objectOf('Pipeline', 'refused', { stages }));
    return [`${answer.status}`, ...listAt(answer.body, 'details', 'causes').map((cause) => textAt(cause, 'field'))];
  };
  t.deepEqual(await refused([stage('a', 'true', { dependsOn: ['b'] })]), ['422', 'spec.stages[0].dependsOn[0]']);
  t.deepEqual(await refused([stage('a', 'true', { dependsOn: ['b'] }), stage('b', 'true', { dependsOn: ['a'] })]), [
    '422',
    'spec.stages[0].dependsOn[0]',
    'spec.stages[1].dependsOn[0]',
  ]);
  t.deepEqual(await refused([{ name: 'a', template: script('true', { scaledownWindow: '5m' }) }]), [
    '501',
    'spec.stages[0].template.scaledownWindow',
  ]);
  await parents.post('Pipeline', 'fixed', { stages: [stage('a', 'true')] });
  const changed = await parents.merge(at('fixed'), { failurePolicy: 'Continue' });
  t.is(changed.status, 422);
  t.is(textAt(changed.body, 'reason'), 'FieldImmutable');
  await parents.ended(at('fixed'));
});

test('a Pipeline goes with its Jobs when its time to live is over', async (t) => {
  await parents.post('Pipeline', 'fleeting', { ttlSecondsAfterFinished: 1, stages: [stage('only', 'true')] });
  await until('it is gone', async () => (await parents.client().get(at('fleeting'))).status === 404, 60_000);
  await until(
    'its Jobs are gone',
    async () =>
      listAt((await parents.client().get(`${JOBS}?labelSelector=svc.dev%2Fpipeline%3Dfleeting`)).body, 'items')
        .length === 0,
    30_000,
  );
  t.pass();
});
