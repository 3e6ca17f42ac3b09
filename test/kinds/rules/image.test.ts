/** Both sides of every rule of Image. */
import test from 'ava';
import { imageKind } from '../../../src/kinds/image/index.js';
import { objectOf } from '../decide.js';
import { DIGEST, many, names } from './samples.js';
import { imageLimits, PULL_SECRETS } from './shared.js';
import { holdRules, type Change, type Limit } from './table.js';

const BASE = 'python:3.12';

const instead = (...changes: Change[]): Change[] => [['spec.base', undefined], ...changes];

/** A step that is accepted, one that is not, and the field that is wrong in it. */
function step(rule: string, good: object, bad: object, field: string): Limit {
  return {
    rule,
    within: [['spec.steps', [good]]],
    beyond: [['spec.steps', [bad]]],
    field: `spec.steps[0]${field}`,
  };
}

function pip(action: 'pipInstall' | 'uvPipInstall'): Limit[] {
  const packages = ['numpy>=2', 'pandas ; python_version < "3.12"'];
  return [
    step(`${action} names packages`, { [action]: { packages } }, { [action]: {} }, `.${action}.packages`),
    step(`${action} needs one`, { [action]: { packages } }, { [action]: { packages: [] } }, `.${action}.packages`),
    step(
      `${action} takes no options`,
      { [action]: { packages } },
      { [action]: { packages: ['--target=/'] } },
      `.${action}.packages[0]`,
    ),
    step(
      `${action} reads an index over https`,
      { [action]: { packages, indexURL: 'https://pypi.example.org/simple' } },
      { [action]: { packages, indexURL: 'http://pypi.example.org/simple' } },
      `.${action}.indexURL`,
    ),
    step(
      `${action} reads more indexes without passwords in their addresses`,
      { [action]: { packages, extraIndexURLs: ['https://a.example.org'] } },
      { [action]: { packages, extraIndexURLs: ['https://me:word@a.example.org'] } },
      `.${action}.extraIndexURLs[0]`,
    ),
  ];
}

holdRules(test, {
  kind: imageKind,
  least: { base: BASE },
  defaults: [],
  limits: [
    ...PULL_SECRETS,
    ...imageLimits('spec.base'),
    { rule: 'it is built from something', within: [], beyond: [['spec.base', undefined]], field: 'spec' },
    {
      rule: 'it is built from a base or a Dockerfile',
      within: instead(['spec.dockerfile', { inline: 'FROM scratch' }]),
      beyond: [['spec.dockerfile', { inline: 'FROM scratch' }]],
    },
    {
      rule: 'it is built from a base or a Sandbox',
      within: instead(['spec.fromSandbox', { name: 'a' }]),
      beyond: [['spec.fromSandbox', { name: 'a' }]],
    },
    {
      rule: 'steps are put on a base',
      within: [['spec.steps', [{ run: ['true'] }]]],
      beyond: instead(['spec.steps', [{ run: ['true'] }]], ['spec.fromSandbox', { name: 'a' }]),
      field: 'spec.steps',
    },
    {
      rule: 'a Dockerfile is a blob or a text',
      within: instead(['spec.dockerfile', { blob: DIGEST }]),
      beyond: instead(['spec.dockerfile', { blob: DIGEST, inline: 'FROM scratch' }]),
      field: 'spec.dockerfile.inline',
    },
    {
      rule: 'a Dockerfile is there',
      within: instead(['spec.dockerfile', { blob: DIGEST, target: 'app' }]),
      beyond: instead(['spec.dockerfile', { target: 'app' }]),
      field: 'spec.dockerfile',
    },
    {
      rule: "a Dockerfile's blob is a digest",
      within: instead(['spec.dockerfile', { blob: DIGEST }]),
      beyond: instead(['spec.dockerfile', { blob: 'sha256:a' }]),
      field: 'spec.dockerfile.blob',
    },
    {
      rule: "a Dockerfile's context is a digest",
      within: instead(['spec.dockerfile', { inline: 'FROM a', context: DIGEST }]),
      beyond: instead(['spec.dockerfile', { inline: 'FROM a', context: '.' }]),
      field: 'spec.dockerfile.context',
    },
    {
      rule: 'arguments of a build are text',
      within: instead(['spec.dockerfile', { inline: 'FROM a', buildArgs: { A: '1' } }]),
      beyond: instead(['spec.dockerfile', { inline: 'FROM a', buildArgs: { A: 1 } }]),
      field: 'spec.dockerfile.buildArgs.A',
    },
    {
      rule: 'a Sandbox is named',
      within: instead(['spec.fromSandbox', { name: 'a' }]),
      beyond: instead(['spec.fromSandbox', {}]),
      field: 'spec.fromSandbox.name',
    },
    {
      rule: 'paths of a Sandbox are absolute',
      within: instead(['spec.fromSandbox', { name: 'a', includePaths: ['/opt'] }]),
      beyond: instead(['spec.fromSandbox', { name: 'a', includePaths: ['opt'] }]),
      field: 'spec.fromSandbox.includePaths[0]',
    },
    {
      rule: 'a platform that is known',
      within: [['spec.platform', 'linux/arm64']],
      beyond: [['spec.platform', 'linux/riscv64']],
    },
    { rule: 'Python has a version', within: [['spec.python', '3.12']], beyond: [['spec.python', '2.7']] },
    {
      rule: 'at most 128 steps',
      within: [['spec.steps', many(128, () => ({ run: ['true'] }))]],
      beyond: [['spec.steps', many(129, () => ({ run: ['true'] }))]],
    },
    step('a step does something', { run: ['true'] }, {}, ''),
    step('a step does one thing', { run: ['true'] }, { run: ['true'], workdir: '/a' }, '.workdir'),
    step('aptInstall takes packages', { aptInstall: ['git=1:2*'] }, { aptInstall: ['-y'] }, '.aptInstall[0]'),
    step('aptInstall takes one package a word', { aptInstall: ['a', 'b'] }, { aptInstall: ['a b'] }, '.aptInstall[0]'),
    step('copy names a blob', { copy: { blob: DIGEST, dest: '/a' } }, { copy: { dest: '/a' } }, '.copy.blob'),
    step(
      'copy has an absolute destination',
      { copy: { blob: DIGEST, dest: '/a' } },
      { copy: { blob: DIGEST, dest: 'a' } },
      '.copy.dest',
    ),
    step('env has names of variables', { env: { _A: '1' } }, { env: { '1A': '1' } }, '.env.1A'),
    step("env leaves the service's prefix", { env: { SVCA: '1' } }, { env: { SVC_A: '1' } }, '.env.SVC_A'),
    step('env has texts', { env: { A: '' } }, { env: { A: 1 } }, '.env.A'),
    ...pip('pipInstall'),
    ...pip('uvPipInstall'),
    step('run has commands', { run: ['a', 'b'] }, { run: [] }, '.run'),
    step('no command is empty', { run: ['a'] }, { run: [''] }, '.run[0]'),
    step(
      'uvSync has a project',
      { uvSync: { project: DIGEST, frozen: true } },
      { uvSync: { frozen: true } },
      '.uvSync.project',
    ),
    step('workdir is absolute', { workdir: '/a' }, { workdir: 'a' }, '.workdir'),
    {
      rule: 'buildSecrets are named once',
      within: [['spec.buildSecrets', ['a', 'b']]],
      beyond: [['spec.buildSecrets', ['a', 'a']]],
      field: 'spec.buildSecrets[1]',
    },
    {
      rule: 'at most 32 buildSecrets',
      within: [['spec.buildSecrets', names(32)]],
      beyond: [['spec.buildSecrets', names(33)]],
    },
    {
      rule: 'tags are those of registries',
      within: [['spec.tags', ['v1.0_rc-1']]],
      beyond: [['spec.tags', ['-v1']]],
      field: 'spec.tags[0]',
    },
    {
      rule: 'a tag stands there once',
      within: [['spec.tags', ['a', 'b']]],
      beyond: [['spec.tags', ['a', 'a']]],
      field: 'spec.tags[1]',
    },
  ],
  immutable: [],
  mutable: [
    ['spec.base', 'a', 'b'],
    ['spec.buildSecrets', ['a'], ['b']],
    ['spec.imagePullSecrets', ['a'], ['b']],
    ['spec.platform', 'linux/amd64', 'linux/arm64'],
    ['spec.python', '3.11', '3.12'],
    ['spec.steps', [{ run: ['a'] }], [{ run: ['b'] }]],
    ['spec.tags', ['a'], ['b']],
  ],
  raiseOnly: [],
});

test('Image: everything that is wrong with one is told at once', (t) => {
  const parsed = imageKind.schema.spec.safeParse({
    dockerfile: { blob: 'no', inline: 'FROM a' },
    steps: [{ workdir: 'a', run: ['b'] }],
    tags: ['-'],
  });
  t.deepEqual(
    parsed.error?.issues.map(({ path }) => path.join('.')).toSorted(),
    ['dockerfile.blob', 'dockerfile.inline', 'steps', 'steps.0.workdir', 'steps.0.workdir', 'tags.0'].toSorted(),
  );
});

test('Image: what it names is looked for, each by the path of its field', (t) => {
  const built = objectOf(imageKind, { base: 'svc/nothing', buildSecrets: ['a'], imagePullSecrets: ['b'] });
  t.deepEqual(imageKind.references?.(built), [
    { field: 'spec.base', kind: 'Image', project: 'svc', name: 'nothing', reason: 'ImageNotFound' },
    { field: 'spec.buildSecrets[0]', kind: 'Secret', name: 'a' },
    { field: 'spec.imagePullSecrets[0]', kind: 'Secret', name: 'b' },
  ]);
  const taken = objectOf(imageKind, { fromSandbox: { name: 'a' } });
  t.deepEqual(imageKind.references?.(taken), [{ field: 'spec.fromSandbox.name', kind: 'Sandbox', name: 'a' }]);
});

test('Image: what it is built from is kept, and what would be baked in is looked through for build secrets', (t) => {
  const other = `sha256:${'b'.repeat(64)}`;
  const built = objectOf(imageKind, {
    base: BASE,
    buildSecrets: ['token'],
    steps: [{ copy: { blob: DIGEST, dest: '/a' } }, { uvSync: { project: other } }, { env: { A: 'x', B: '' } }],
  });
  t.deepEqual(imageKind.blobs?.(built), [DIGEST, other]);
  t.deepEqual(imageKind.plaintextSecretCheck?.(built), {
    texts: [{ field: 'spec.steps[2].env.A', text: 'x' }],
    secrets: [{ name: 'token' }],
  });
  const file = objectOf(imageKind, { dockerfile: { blob: DIGEST, context: other, buildArgs: { V: '1' } } });
  t.deepEqual(imageKind.blobs?.(file), [DIGEST, other]);
  t.deepEqual(imageKind.plaintextSecretCheck?.(file).texts, [{ field: 'spec.dockerfile.buildArgs.V', text: '1' }]);
});
