/** Both sides of every rule of Environment. */
import test from 'ava';
import { environmentKind } from '../../../src/kinds/environment/index.js';
import { holdRules, type Change } from './table.js';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const REVISION = 'b'.repeat(40);
const pip = { name: 'reasoning', version: '1.0.0' };
const example = (more: object): Change[] => [
  ['spec.examples', [{ name: 'one', mode: 'Train', runtime: 'svc/sft', ...more }]],
];
const inSpec = (path: string, value: unknown): Change[] => [[`spec.${path}`, value]];
const both = (path: string, within: unknown, beyond: unknown): { within: Change[]; beyond: Change[] } => ({
  within: inSpec(path, within),
  beyond: inSpec(path, beyond),
});

holdRules(test, {
  kind: environmentKind,
  least: { version: '1.0.0', package: { image: `ghcr.io/acme/env@${DIGEST}` } },
  defaults: [
    ['spec.heldOutMeasures', 'TrainedTask'],
    ['spec.modes', ['Evaluate']],
    ['spec.package.loader', 'load_environment'],
    ['spec.readiness', 'Research'],
    ['spec.rewardType', 'Binary'],
    ['spec.sandbox', { cpu: '1', memory: '1Gi', timeout: '60s' }],
  ],
  limits: [
    { rule: 'a version is needed', within: [], beyond: inSpec('version', undefined) },
    { rule: 'a version is a semantic one', ...both('version', '1.0.0-rc.1+7', '1.0') },
    { rule: 'a version has no leading zero', ...both('version', '1.10.0', '1.01.0') },
    { rule: 'a package is needed', within: [], beyond: inSpec('package', undefined) },
    { rule: 'a package is an image or of pip', within: inSpec('package', { pip }), beyond: inSpec('package', {}) },
    {
      rule: 'a package is not both',
      within: inSpec('package', { pip }),
      beyond: inSpec('package.pip', pip),
    },
    { rule: 'an image is pinned', ...both('package.image', `svc/gsm8k@${DIGEST}`, 'svc/gsm8k:1.0.0') },
    { rule: 'a digest is whole', ...both('package.image', `a@${DIGEST}`, `a@${DIGEST.slice(0, -1)}`) },
    {
      rule: 'a package of pip has a name',
      within: inSpec('package', { pip }),
      beyond: inSpec('package', { pip: { version: '1' } }),
      field: 'spec.package.pip.name',
    },
    {
      rule: 'a package of pip has a version',
      within: inSpec('package', { pip }),
      beyond: inSpec('package', { pip: { name: 'a' } }),
      field: 'spec.package.pip.version',
    },
    {
      rule: 'an index is https',
      within: inSpec('package', { pip: { ...pip, index: 'https://pypi.org/simple' } }),
      beyond: inSpec('package', { pip: { ...pip, index: 'http://pypi.org/simple' } }),
      field: 'spec.package.pip.index',
    },
    { rule: 'a loader has a name', ...both('package.loader', 'load', '') },
    { rule: 'the categories', ...both('category', 'Control', 'Chemistry') },
    { rule: 'what held-out tasks measure', ...both('heldOutMeasures', 'Transfer', 'Nothing') },
    {
      rule: 'the modes',
      within: inSpec('modes', ['Train', 'Evaluate']),
      beyond: inSpec('modes', ['Play']),
      field: 'spec.modes[0]',
    },
    { rule: 'a mode at least', ...both('modes', ['Train'], []) },
    {
      rule: 'a mode stands once',
      within: inSpec('modes', ['Train']),
      beyond: inSpec('modes', ['Train', 'Train']),
      field: 'spec.modes[1]',
    },
    { rule: 'the readiness', ...both('readiness', 'Stable', 'Done') },
    { rule: 'the rewards', ...both('rewardType', 'Scalar', 'Vector') },
    { rule: 'a sample of 4 KiB', ...both('sampleTask', 'x'.repeat(4096), 'x'.repeat(4097)) },
    { rule: 'a sample is measured in bytes', ...both('sampleTask', 'é'.repeat(2048), 'é'.repeat(2049)) },
    { rule: 'CPU is an amount', ...both('sandbox.cpu', '500m', 'much') },
    { rule: 'memory is an amount', ...both('sandbox.memory', '2Gi', '-1') },
    { rule: 'ten minutes of grading at most', ...both('sandbox.timeout', '10m', '10m1s') },
    { rule: 'some time for grading', ...both('sandbox.timeout', '1ms', '0s') },
    { rule: 'a grading image is one', ...both('sandbox.image', 'svc/agent-tools', 'Not An Image') },
    { rule: 'memory that is needed', ...both('requirements.memory', '80Gi', 'all') },
    { rule: 'splits are counted', ...both('splits.train.size', 0, -1) },
    { rule: 'held-out tasks are counted', ...both('splits.test.size', 0, 0.5) },
    { rule: 'a source is https', ...both('sourceURL', 'https://example.com/env', 'ftp://example.com/env') },
    {
      rule: 'a grader judges in one of two ways',
      within: inSpec('graders', [{ kind: 'Program' }, { kind: 'ExactMatch' }]),
      beyond: inSpec('graders', [{ kind: 'Vote' }]),
      field: 'spec.graders[0].kind',
    },
    {
      rule: 'a grader has a kind',
      within: inSpec('graders', [{ kind: 'Program' }]),
      beyond: inSpec('graders', [{}]),
      field: 'spec.graders[0].kind',
    },
    {
      rule: 'names of graders are unique',
      within: inSpec('graders', [
        { name: 'a', kind: 'Program' },
        { name: 'b', kind: 'Program' },
      ]),
      beyond: inSpec('graders', [
        { name: 'a', kind: 'Program' },
        { name: 'a', kind: 'Program' },
      ]),
      field: 'spec.graders[1].name',
    },
    {
      rule: 'an example has a name',
      within: example({}),
      beyond: example({ name: undefined }),
      field: 'spec.examples[0].name',
    },
    {
      rule: 'an example has a mode',
      within: example({ mode: 'Evaluate' }),
      beyond: example({ mode: undefined }),
      field: 'spec.examples[0].mode',
    },
    {
      rule: 'an example has a runtime',
      within: example({ runtime: 'mine' }),
      beyond: example({ runtime: undefined }),
      field: 'spec.examples[0].runtime',
    },
    {
      rule: 'names of examples are unique',
      within: inSpec('examples', [
        { name: 'a', mode: 'Train', runtime: 'r' },
        { name: 'b', mode: 'Train', runtime: 'r' },
      ]),
      beyond: inSpec('examples', [
        { name: 'a', mode: 'Train', runtime: 'r' },
        { name: 'a', mode: 'Train', runtime: 'r' },
      ]),
      field: 'spec.examples[1].name',
    },
    ...(['baseline', 'trained'] as const).flatMap((when) => [
      {
        rule: `${when}: a rate is needed`,
        within: example({ [when]: { passRate: 0.5 } }),
        beyond: example({ [when]: {} }),
        field: `spec.examples[0].${when}.passRate`,
      },
      {
        rule: `${when}: a rate is 0 at least`,
        within: example({ [when]: { passRate: 0 } }),
        beyond: example({ [when]: { passRate: -0.01 } }),
        field: `spec.examples[0].${when}.passRate`,
      },
      {
        rule: `${when}: a rate is 1 at most`,
        within: example({ [when]: { passRate: 1 } }),
        beyond: example({ [when]: { passRate: 1.01 } }),
        field: `spec.examples[0].${when}.passRate`,
      },
    ]),
    {
      rule: 'a change is a decimal',
      within: example({ changePP: '-1.5' }),
      beyond: example({ changePP: '+1,5' }),
      field: 'spec.examples[0].changePP',
    },
    {
      rule: 'a date is one',
      within: example({ measuredOn: { date: '2026-02-28' } }),
      beyond: example({ measuredOn: { date: '2026-02-30' } }),
      field: 'spec.examples[0].measuredOn.date',
    },
    {
      rule: 'a model is pinned',
      within: example({ model: `hf://acme/tiny@${REVISION}` }),
      beyond: example({ model: 'hf://acme/tiny@main' }),
      field: 'spec.examples[0].model',
    },
    {
      rule: 'a time is none below nothing',
      within: example({ runtimeSeconds: 0 }),
      beyond: example({ runtimeSeconds: -1 }),
      field: 'spec.examples[0].runtimeSeconds',
    },
    {
      rule: 'tasks are counted',
      within: example({ tasks: 0 }),
      beyond: example({ tasks: -1 }),
      field: 'spec.examples[0].tasks',
    },
  ],
  immutable: [],
  mutable: [
    ['spec.version', '1.0.0', '1.0.1'],
    ['spec.package.image', `a@${DIGEST}`, `b@${DIGEST}`],
    ['spec.modes', ['Evaluate'], ['Train']],
    ['spec.sandbox.timeout', '60s', '2m'],
    ['spec.summary', 'a', 'b'],
  ],
  raiseOnly: [],
});

test('a pinned image tells the digest at birth, before anything has looked at it', (t) => {
  const spec = environmentKind.schema.spec.parse({ version: '1.0.0', package: { image: `a@${DIGEST}` } });
  const metadata = { name: 'e', uid: 'u', generation: 1, creationTimestamp: '2026-01-02T03:04:05Z' };
  const status = environmentKind.initialStatus({ apiVersion: '', kind: 'Environment', metadata, spec, status: {} });
  t.like(status, { phase: 'Pending', digest: DIGEST, conditions: [{ type: 'Verified', status: 'False' }] });
  t.deepEqual(environmentKind.schema.status.parse(status), status);
});
