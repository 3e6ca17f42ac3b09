/** Both sides of every rule of TrainingJob, and what its runtime asks of it. */
import test from 'ava';
import type { ApiObject } from '../../../src/api/object.js';
import { trainingJobKind } from '../../../src/kinds/trainingjob/index.js';
import { trainingRuntimeKind } from '../../../src/kinds/trainingruntime/index.js';
import { holdRules, type Change } from './table.js';

const MODEL = `hf://acme/tiny@${'a'.repeat(40)}`;
const OTHER = `hf://acme/tiny@${'b'.repeat(40)}`;
const volume = { volume: { name: 'corpus' } };
const both = (path: string, within: unknown, beyond: unknown): { within: Change[]; beyond: Change[] } => ({
  within: [[`spec.${path}`, within]],
  beyond: [[`spec.${path}`, beyond]],
});
const sized = (bytes: number): object => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) });

holdRules(test, {
  kind: trainingJobKind,
  least: { runtime: 'svc/sft' },
  defaults: [
    ['spec.mode', 'Train'],
    ['spec.state', 'Running'],
  ],
  limits: [
    { rule: 'a runtime is needed', within: [], beyond: [['spec.runtime', undefined]] },
    { rule: 'a runtime of the project or the catalog', ...both('runtime', 'mine', 'yours/sft') },
    { rule: 'a model is pinned', ...both('model', MODEL, 'hf://acme/tiny') },
    { rule: 'a teacher is pinned', ...both('teacher', MODEL, MODEL.slice(0, -1)) },
    { rule: 'data comes from somewhere', ...both('data', volume, {}) },
    {
      rule: 'data comes from one place',
      ...both('data', volume, { ...volume, url: { url: 'https://a.test/b' } }),
      field: 'spec.data.volume',
    },
    {
      rule: 'data comes over https',
      ...both('data', { url: { url: 'https://a.test/b' } }, { url: { url: 'http://a.test/b' } }),
      field: 'spec.data.url.url',
    },
    {
      rule: 'data comes from a bucket',
      ...both('data', { bucket: { uri: 's3://a/b', connection: 'c' } }, { bucket: { uri: 's3://a', connection: 'c' } }),
      field: 'spec.data.bucket.uri',
    },
    {
      rule: 'data comes from an output',
      ...both('data', { output: { job: 'j', name: 'o' } }, { output: { job: 'j' } }),
      field: 'spec.data.output.name',
    },
    {
      rule: 'a gang has one size',
      ...both('overrides', { distributed: { nodes: 2 } }, { distributed: { nodes: 2, totalGPUs: 8 } }),
      field: 'spec.overrides.distributed.nodes',
    },
    {
      rule: 'GPUs of a node and of a gang are the same',
      ...both(
        'overrides',
        { distributed: { nodes: 2, gpusPerNode: 8 }, resources: { gpu: { count: 8 } } },
        { distributed: { nodes: 2, gpusPerNode: 8 }, resources: { gpu: { count: 4 } } },
      ),
      field: 'spec.overrides.distributed.gpusPerNode',
    },
    { rule: 'an Environment has a name', ...both('environment', { name: 'mine' }, {}), field: 'spec.environment.name' },
    {
      rule: 'an Environment of the catalog at a version',
      ...both('environment', { name: 'svc/gsm8k@1.0.0' }, { name: 'svc/gsm8k' }),
      field: 'spec.environment.name',
    },
    {
      rule: 'a held-out task at least',
      ...both('environment', { name: 'a', heldOutTasks: 1 }, { name: 'a', heldOutTasks: 0 }),
      field: 'spec.environment.heldOutTasks',
    },
    { rule: 'the modes', ...both('mode', 'Evaluate', 'Play') },
    { rule: 'the methods', ...both('method', 'QLoRA', 'qlora') },
    { rule: 'Full is a method', ...both('method', 'Full', 'Half') },
    { rule: 'LoRA is a method', ...both('method', 'LoRA', 'LoRa') },
    { rule: 'parameters of 64 KiB', ...both('parameters', sized(65_536), sized(65_537)) },
    { rule: 'parameters are an object', ...both('parameters', {}, []) },
    { rule: 'overrides hold the rules of a Job', ...both('overrides.recovery.maxAttempts', 32, 33) },
    {
      rule: 'a secret stands once',
      ...both('overrides.secrets', ['a', 'b'], ['a', 'a']),
      field: 'spec.overrides.secrets[1].name',
    },
    { rule: 'a cap is an amount', ...both('maxCostUSD', '0', '-1') },
    { rule: 'the states', ...both('state', 'Cancelled', 'Stopped') },
    { rule: 'Suspended is a state', ...both('state', 'Suspended', 'Paused') },
    { rule: 'the runtime owns the image', ...both('overrides.timeout', '1h', 'never') },
    { rule: 'the runtime owns the command', within: [], beyond: [['spec.overrides.command', ['sh']]] },
  ],
  immutable: [
    ['spec.runtime', 'svc/sft', 'svc/dpo'],
    ['spec.model', MODEL, OTHER],
    ['spec.data', volume, { volume: { name: 'other' } }],
    ['spec.environment.name', 'a', 'b'],
    ['spec.teacher', MODEL, OTHER],
    ['spec.mode', 'Train', 'Evaluate'],
    ['spec.method', 'LoRA', 'Full'],
    ['spec.parameters', { a: 1 }, { a: 2 }],
    ['spec.overrides.timeout', '1h', '2h'],
  ],
  mutable: [['spec.state', 'Running', 'Suspended']],
  raiseOnly: [['spec.maxCostUSD', '1.00', '1.01']],
});

function objection(spec: object, runtime: object): string | undefined {
  const metadata = { name: 'a', uid: 'u', generation: 1, creationTimestamp: '2026-01-02T03:04:05Z' };
  const object = (kind: typeof trainingJobKind, given: object): ApiObject => ({
    ...{ apiVersion: '', kind: kind.kind, metadata, status: {} },
    spec: kind.schema.spec.parse(given),
  });
  const job = object(trainingJobKind, { runtime: 'mine', ...spec });
  const found = object(trainingRuntimeKind, { image: `a@sha256:${'a'.repeat(64)}`, ...runtime });
  const reference = trainingJobKind.references?.(job).find(({ kind }) => kind === 'TrainingRuntime');
  return reference?.objection?.(found);
}

test('a runtime takes the modes that it has, and what it requires must be named', (t) => {
  t.is(objection({ model: MODEL }, {}), undefined);
  t.regex(objection({ model: MODEL, mode: 'Evaluate' }, {}) ?? '', /does not Evaluate/);
  t.regex(objection({}, {}) ?? '', /needs spec.model/);
  const requires = { data: true, environment: true, teacher: true };
  t.regex(objection({ model: MODEL }, { requires }) ?? '', /needs spec.data and spec.environment and spec.teacher/);
  t.is(objection({ model: MODEL, teacher: OTHER, data: volume, environment: { name: 'e' } }, { requires }), undefined);
});
