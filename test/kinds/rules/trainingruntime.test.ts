/** Both sides of every rule of TrainingRuntime. */
import test from 'ava';
import { trainingRuntimeKind } from '../../../src/kinds/trainingruntime/index.js';
import { holdRules, type Change } from './table.js';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const inSpec = (path: string, value: unknown): Change[] => [[`spec.${path}`, value]];
const both = (path: string, within: unknown, beyond: unknown): { within: Change[]; beyond: Change[] } => ({
  within: inSpec(path, within),
  beyond: inSpec(path, beyond),
});
/** An object whose JSON has so many bytes. */
const sized = (bytes: number): object => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) });
const preset = { method: 'LoRA', model: 'small', resources: { cpu: '1' } };
const sidecar = (name: string): object => ({ name, command: ['true'] });

holdRules(test, {
  kind: trainingRuntimeKind,
  least: { image: `ghcr.io/acme/trainer@${DIGEST}` },
  defaults: [
    ['spec.checkpointing', { path: '/svc/state', strategy: 'HubTrainer' }],
    ['spec.launcher', 'Plain'],
    ['spec.modes', ['Train']],
    ['spec.requires', { model: true }],
  ],
  limits: [
    { rule: 'an image is needed', within: [], beyond: inSpec('image', undefined) },
    { rule: 'an image is pinned', ...both('image', `a@${DIGEST}`, 'a:latest') },
    { rule: 'it saves at an absolute path', ...both('checkpointing.path', '/data', 'data') },
    { rule: 'the ways to save', ...both('checkpointing.strategy', 'Custom', 'None') },
    { rule: 'a command names a program', ...both('command', ['train'], []) },
    {
      rule: 'a first command names a program',
      ...both('defaults.initCommand', { command: ['true'] }, {}),
      field: 'spec.defaults.initCommand.command',
    },
    {
      rule: 'a first command has half an hour',
      ...both('defaults.initCommand', { command: ['a'], timeout: '30m' }, { command: ['a'], timeout: '31m' }),
      field: 'spec.defaults.initCommand.timeout',
    },
    { rule: 'default parameters of 64 KiB', ...both('defaults.parameters', sized(65_536), sized(65_537)) },
    { rule: 'default resources are some', ...both('defaults.resources.gpu.count', 8, 3) },
    {
      rule: 'names of sidecars are unique',
      ...both('defaults.sidecars', [sidecar('a'), sidecar('b')], [sidecar('a'), sidecar('a')]),
      field: 'spec.defaults.sidecars[1].name',
    },
    { rule: 'where tasks come from', ...both('environmentTasks', 'AttemptAPI', 'Web') },
    {
      rule: 'a step takes a time',
      ...both('estimate.secondsPerStep', { h100: 0.5 }, { h100: -1 }),
      field: 'spec.estimate.secondsPerStep.h100',
    },
    {
      rule: 'a task takes a time',
      ...both('estimate.secondsPerTask', { h100: 0 }, { h100: '1' }),
      field: 'spec.estimate.secondsPerTask.h100',
    },
    ...['Torchrun', 'Accelerate', 'Deepspeed'].map((launcher) => ({
      rule: `${launcher} is a launcher`,
      ...both('launcher', launcher, 'Ray'),
    })),
    { rule: 'the modes', ...both('modes', ['Train', 'Evaluate'], ['Play']), field: 'spec.modes[0]' },
    { rule: 'a mode at least', ...both('modes', ['Evaluate'], []) },
    { rule: 'a mode stands once', ...both('modes', ['Train'], ['Train', 'Train']), field: 'spec.modes[1]' },
    {
      rule: 'an output has the name of one',
      ...both('outputs', [{ name: 'model', path: '/svc/outputs/model' }], [{ name: 'The Model', path: '/a' }]),
      field: 'spec.outputs[0].name',
    },
    {
      rule: 'an output has an absolute path',
      ...both('outputs', [{ name: 'a', path: '/a' }], [{ name: 'a', path: 'a' }]),
      field: 'spec.outputs[0].path',
    },
    {
      rule: "the service's own prefix is not taken",
      ...both('outputs', [{ name: 'svcx', path: '/a' }], [{ name: 'svc.x', path: '/a' }]),
      field: 'spec.outputs[0].name',
    },
    {
      rule: 'names of outputs are unique',
      ...both(
        'outputs',
        [
          { name: 'a', path: '/a' },
          { name: 'b', path: '/a' },
        ],
        [
          { name: 'a', path: '/a' },
          { name: 'a', path: '/b' },
        ],
      ),
      field: 'spec.outputs[1].name',
    },
    { rule: 'a schema of 64 KiB', ...both('parameters', sized(65_536), sized(65_537)) },
    {
      rule: 'a schema is of an object',
      ...both('parameters', { type: 'object' }, { type: 'array' }),
      field: 'spec.parameters.type',
    },
    {
      rule: 'a preset has a method',
      ...both('presets', [preset], [{ ...preset, method: 'Half' }]),
      field: 'spec.presets[0].method',
    },
    {
      rule: 'a preset needs a method',
      ...both('presets', [preset], [{ ...preset, method: undefined }]),
      field: 'spec.presets[0].method',
    },
    {
      rule: 'a preset has a model',
      ...both('presets', [preset], [{ ...preset, model: undefined }]),
      field: 'spec.presets[0].model',
    },
    {
      rule: 'a preset has resources',
      ...both('presets', [preset], [{ ...preset, resources: undefined }]),
      field: 'spec.presets[0].resources',
    },
    ...['data', 'environment', 'model', 'teacher'].map((what) => ({
      rule: `${what} is required or not`,
      ...both(`requires.${what}`, false, 'no'),
    })),
    ...['SFT', 'Pretrain', 'DPO', 'ORPO', 'KTO', 'Reward', 'GRPO', 'Distill', 'Evaluate', 'Custom'].map((task) => ({
      rule: `${task} is a task`,
      ...both('task', task, task.toLowerCase()),
    })),
  ],
  immutable: [],
  mutable: [
    ['spec.image', `a@${DIGEST}`, `b@${DIGEST}`],
    ['spec.command', ['a'], ['b']],
    ['spec.parameters', { type: 'object' }, {}],
    ['spec.requires.model', true, false],
    ['spec.task', 'SFT', 'DPO'],
  ],
  raiseOnly: [],
});

test('one of the catalog is managed', (t) => {
  const spec = trainingRuntimeKind.schema.spec.parse({ image: `a@${DIGEST}` });
  const born = (namespace: string): unknown => {
    const metadata = { name: 'r', namespace, uid: 'u', generation: 1, creationTimestamp: '2026-01-02T03:04:05Z' };
    return trainingRuntimeKind.initialStatus({ apiVersion: '', kind: 'TrainingRuntime', metadata, spec, status: {} });
  };
  t.like(born('svc'), { managed: true, imageDigest: DIGEST });
  t.like(born('default'), { managed: false, phase: 'Pending' });
});
