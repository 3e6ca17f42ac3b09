/** A stage's template over the defaults of all stages. Pure. */
import test from 'ava';
import { laidOver, partsOver, says } from '../../../src/kinds/job/parts.js';
import type { JobParts } from '../../../src/kinds/job/schema.js';
import { pipelineKind } from '../../../src/kinds/pipeline/index.js';
import { objectOf } from '../decide.js';

test('objects are laid over each other field by field, so that nothing a default forbids is allowed by what a stage does not say', (t) => {
  const defaults: JobParts = {
    network: { egress: { policy: 'Deny' } },
    resources: { memory: '256Mi', cpu: '2' },
  };
  const job = partsOver(defaults, { network: { egress: { presets: [] } }, resources: { cpu: '100m' } });
  t.deepEqual(job.network, { egress: { policy: 'Deny', presets: [] } });
  t.deepEqual(job.resources, { memory: '256Mi', cpu: '100m' });
  t.deepEqual(defaults.resources, { memory: '256Mi', cpu: '2' }, 'the defaults are as they were');
});

test('lists, values and the form of a source are replaced whole', (t) => {
  const under: JobParts = {
    env: [{ name: 'A', value: '1' }],
    source: { git: { repo: 'team/tools' } },
    timeout: '1h',
  };
  const over = { env: [{ name: 'B', value: '2' }], source: { blob: `sha256:${'a'.repeat(64)}` } } as JobParts;
  const job = partsOver(under, over);
  t.deepEqual(job.env, [{ name: 'B', value: '2' }]);
  t.deepEqual(job.source, over.source);
  t.is(job.timeout, '1h');
});

test('a time limit of a stage overrides that of the defaults, under whichever of its two names', (t) => {
  t.is(partsOver({ activeDeadlineSeconds: 1 }, { timeout: '9s' }).timeout, '9s');
  t.is(partsOver({ timeout: '9s' }, { activeDeadlineSeconds: 60 }).timeout, '1m');
  t.is(partsOver({ activeDeadlineSeconds: 60 }, {}).activeDeadlineSeconds, undefined);
});

test('where neither part says anything, a Job has its defaults', (t) => {
  t.like(laidOver({}, { command: ['true'] }), { completions: 1, parallelism: 1, state: 'Running' });
});

test('a part says a field when the field, or the list that it is in, is written there', (t) => {
  const part = { resources: { gpu: { count: 1 } }, inputs: [{ name: 'a' }] } as JobParts;
  t.true(says(part, '.resources.gpu'));
  t.true(says(part, '.inputs[0].volume'));
  t.false(says(part, '.resources.nodes'));
  t.false(says(part, '.placement.pool'));
});

test('a Pipeline asks for what its largest stage needs of each amount, and says what no stage can take', (t) => {
  const stages = [
    { name: 'a', template: { command: ['true'], completions: 3, resources: { cpu: '64' } } },
    {
      name: 'b',
      template: { command: ['true'], resources: { memory: '1Ti' } },
      inputs: [{ fromStage: 'a', name: 'i' }],
    },
  ];
  const pipeline = objectOf(pipelineKind, { stages });
  t.like(pipelineKind.asks?.(pipeline), { milliCpu: 64_000, memory: 2 ** 40 });
  t.deepEqual(pipelineKind.warnings?.(pipeline), [
    'stage "a" has 3 indexes: fromStage takes the outputs of index 0 only',
  ]);
  const alone = objectOf(pipelineKind, {
    stages: stages.map((stage) => ({ ...stage, inputs: [], dependsOn: undefined })),
  });
  t.deepEqual(pipelineKind.warnings?.(alone), []);
});
