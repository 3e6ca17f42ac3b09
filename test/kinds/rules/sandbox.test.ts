/** Both sides of every rule of Sandbox. */
import test from 'ava';
import { sandboxKind } from '../../../src/kinds/sandbox/index.js';
import { objectOf } from '../decide.js';
import { variables } from './samples.js';
import { ENV, imageLimits, MAX_COST, NETWORK, RESOURCES, SECRETS } from './shared.js';
import { holdRules } from './table.js';

const IMAGE = 'svc/agent-tools';

holdRules(test, {
  kind: sandboxKind,
  least: { image: IMAGE },
  defaults: [
    ['spec.continuity.mode', 'Snapshotted'],
    ['spec.lifecycle.idleTimeout', '5m'],
    ['spec.lifecycle.maxLifetime', '24h'],
    ['spec.lifecycle.onIdle', 'Stop'],
    ['spec.state', 'Running'],
    ['spec.workingDir', '/workspace'],
  ],
  limits: [
    ...ENV,
    ...MAX_COST,
    ...NETWORK,
    ...RESOURCES,
    ...SECRETS,
    ...imageLimits('spec.image'),
    { rule: 'an image is named', within: [['spec.image', IMAGE]], beyond: [['spec.image', undefined]] },
    { rule: 'at most 256 variables', within: [['spec.env', variables(256)]], beyond: [['spec.env', variables(257)]] },
    {
      rule: 'continuity is a known mode',
      within: [['spec.continuity.mode', 'Ephemeral']],
      beyond: [['spec.continuity.mode', 'Kept']],
    },
    {
      rule: 'it never idles out with 0s',
      within: [['spec.lifecycle.idleTimeout', '0s']],
      beyond: [['spec.lifecycle.idleTimeout', '1s']],
    },
    {
      rule: 'idleTimeout from 1m',
      within: [['spec.lifecycle.idleTimeout', '1m']],
      beyond: [['spec.lifecycle.idleTimeout', '59s']],
    },
    {
      rule: 'idleTimeout to 24h',
      within: [['spec.lifecycle.idleTimeout', '24h']],
      beyond: [['spec.lifecycle.idleTimeout', '24h1s']],
    },
    {
      rule: 'maxLifetime from 1m',
      within: [['spec.lifecycle.maxLifetime', '1m']],
      beyond: [['spec.lifecycle.maxLifetime', '59s']],
    },
    {
      rule: 'maxLifetime to 720h',
      within: [['spec.lifecycle.maxLifetime', '720h']],
      beyond: [['spec.lifecycle.maxLifetime', '720h1s']],
    },
    {
      rule: 'onIdle is a known word',
      within: [['spec.lifecycle.onIdle', 'Delete']],
      beyond: [['spec.lifecycle.onIdle', 'Pause']],
    },
    { rule: 'state is a known word', within: [['spec.state', 'Stopped']], beyond: [['spec.state', 'Suspended']] },
    {
      rule: 'the working directory is absolute',
      within: [['spec.workingDir', '/home']],
      beyond: [['spec.workingDir', 'home']],
    },
    { rule: 'a command names a program', within: [['spec.command', ['sh']]], beyond: [['spec.command', []]] },
    { rule: 'arguments have no NUL', within: [['spec.args', ['']]], beyond: [['spec.args[0]', 'a\0b']] },
    {
      rule: 'no GPUs: it runs on CPU nodes',
      within: [['spec.resources', { cpu: '1' }]],
      beyond: [['spec.resources.gpu', { count: 1 }]],
    },
    { rule: 'it runs on one node', within: [['spec.resources.nodes', 1]], beyond: [['spec.resources.nodes', 2]] },
    {
      rule: 'what is wrong over several fields is told with what is wrong in one',
      within: [],
      beyond: [
        ['spec.resources.nodes', 2],
        ['spec.lifecycle.idleTimeout', '1s'],
        ['spec.state', 'Paused'],
      ],
    },
  ],
  immutable: [['spec.image', IMAGE, 'python:3.12']],
  mutable: [
    ['spec.args', ['a'], ['b']],
    ['spec.command', ['sh'], ['bash']],
    ['spec.continuity.mode', 'Snapshotted', 'Ephemeral'],
    ['spec.env', variables(1), variables(2)],
    ['spec.lifecycle.idleTimeout', '5m', '0s'],
    ['spec.lifecycle.maxLifetime', '24h', '48h'],
    ['spec.lifecycle.onIdle', 'Stop', 'Delete'],
    ['spec.network.egress.policy', 'Deny', 'Open'],
    ['spec.resources.memory', '1Gi', '2Gi'],
    ['spec.secrets', ['a'], ['b']],
    ['spec.state', 'Running', 'Stopped'],
    ['spec.workingDir', '/workspace', '/home'],
  ],
  raiseOnly: [['spec.maxCostUSD', '9.50', '10.00']],
});

test('Sandbox: what it names is looked for, each by the path of its field', (t) => {
  const sandbox = objectOf(sandboxKind, {
    image: 'svc/nothing',
    secrets: ['a', { name: 'b', version: 2 }],
    env: [{ name: 'X', valueFrom: { secretKeyRef: { name: 'c', key: 'k' } } }],
  });
  t.deepEqual(sandboxKind.references?.(sandbox), [
    { field: 'spec.secrets[0].name', kind: 'Secret', name: 'a' },
    { field: 'spec.secrets[1].name', kind: 'Secret', name: 'b' },
    { field: 'spec.env[0].valueFrom.secretKeyRef.name', kind: 'Secret', name: 'c' },
    { field: 'spec.image', kind: 'Image', project: 'svc', name: 'nothing', reason: 'ImageNotFound' },
  ]);
  for (const image of ['svc/agent-tools', 'svc/workspace-rocm', 'python:3.12']) {
    t.deepEqual(sandboxKind.references?.(objectOf(sandboxKind, { image })), [], image);
  }
});

for (const [path, spec] of [
  ['spec.args', { args: ['a'] }],
  ['spec.image', { image: 'python:3.12' }],
] as const) {
  test(`Sandbox: ${path} is named as not built yet`, (t) => {
    t.deepEqual(sandboxKind.unsupported?.(sandboxKind.schema.spec.parse({ image: IMAGE, ...spec }), 'Catalog'), [path]);
  });
}

test('Sandbox: an engine that runs any image takes one that is in no catalog', (t) => {
  const spec = sandboxKind.schema.spec.parse({ image: 'ghcr.io/team/tools:1' });
  t.deepEqual(sandboxKind.unsupported?.(spec, 'Any'), []);
});

test('Sandbox: everything that this service carries out is supported', (t) => {
  const spec = {
    image: IMAGE,
    command: ['sh'],
    args: ['-c', 'true'],
    continuity: { mode: 'Ephemeral' },
    env: variables(1),
    lifecycle: { idleTimeout: '0s', maxLifetime: '1h', onIdle: 'Delete' },
    network: { egress: { policy: 'AllowList', allow: ['example.org'], presets: ['pypi'] } },
    resources: { cpu: '500m', nodes: 1 },
    secrets: ['a'],
    state: 'Stopped',
    workingDir: '/home',
  };
  t.deepEqual(sandboxKind.unsupported?.(sandboxKind.schema.spec.parse(spec), 'Catalog'), []);
});
