/** Both sides of every rule of Workspace. */
import test from 'ava';
import { rfc3339 } from '../../../src/api/time.js';
import { volumeKind } from '../../../src/kinds/volume/index.js';
import { workspaceKind } from '../../../src/kinds/workspace/index.js';
import { ask, at, contextAt, NOW, objectOf } from '../decide.js';
import { many, names, sshKey, variables } from './samples.js';
import { ENV, GPUS, imageLimits, MAX_COST, NETWORK, PLACEMENT, PULL_SECRETS, RESOURCES, SECRETS } from './shared.js';
import { holdRules } from './table.js';

const READY = '2026-01-02T09:00:00Z';

holdRules(test, {
  kind: workspaceKind,
  least: { volume: 'home' },
  defaults: [
    ['spec.idleTimeout', '1h'],
    ['spec.serviceAccountName', 'default'],
    ['spec.state', 'Running'],
    ['spec.tools', ['VSCode', 'Jupyter', 'SSH']],
  ],
  limits: [
    ...ENV,
    {
      rule: 'a variable that the service sets is not taken',
      within: [['spec.env[0]', { name: 'HOMES' }]],
      beyond: [['spec.env[0]', { name: 'HOME', value: '/root' }]],
      field: 'spec.env[0].name',
    },
    ...GPUS,
    ...MAX_COST,
    ...NETWORK,
    ...PLACEMENT,
    ...PULL_SECRETS,
    ...RESOURCES,
    ...SECRETS,
    ...imageLimits('spec.image'),
    { rule: 'a home is a Volume, or there is none', within: [], beyond: [['spec.volume', undefined]] },
    {
      rule: 'an ephemeral one has no Volume',
      within: [
        ['spec.volume', undefined],
        ['spec.ephemeral', true],
      ],
      beyond: [['spec.ephemeral', true]],
    },
    {
      rule: 'one that is not ephemeral has a Volume',
      within: [['spec.ephemeral', false]],
      beyond: [
        ['spec.volume', undefined],
        ['spec.ephemeral', false],
      ],
    },
    {
      rule: 'at most 4 connections',
      within: [['spec.connections', names(4)]],
      beyond: [['spec.connections', names(5)]],
    },
    {
      rule: 'a connection stands there once',
      within: [['spec.connections', ['a', 'b']]],
      beyond: [['spec.connections', ['a', 'a']]],
      field: 'spec.connections[1]',
    },
    { rule: 'at most 256 variables', within: [['spec.env', variables(256)]], beyond: [['spec.env', variables(257)]] },
    { rule: 'it never idles out with 0s', within: [['spec.idleTimeout', '0s']], beyond: [['spec.idleTimeout', '1s']] },
    { rule: 'idleTimeout from 10m', within: [['spec.idleTimeout', '10m']], beyond: [['spec.idleTimeout', '9m59s']] },
    { rule: 'idleTimeout to 24h', within: [['spec.idleTimeout', '24h']], beyond: [['spec.idleTimeout', '24h1s']] },
    {
      rule: 'it stops after it was ready',
      within: [['spec.schedule', { readyBy: READY, stopAt: '2026-01-02T09:00:01Z' }]],
      beyond: [['spec.schedule', { readyBy: READY, stopAt: READY }]],
      field: 'spec.schedule.stopAt',
    },
    {
      rule: 'times are RFC 3339',
      within: [['spec.schedule.readyBy', READY]],
      beyond: [['spec.schedule.readyBy', '9 o’clock']],
    },
    {
      rule: 'the ServiceAccount has a possible name',
      within: [['spec.serviceAccountName', 'ci']],
      beyond: [['spec.serviceAccountName', 'CI']],
    },
    {
      rule: 'at most 100 keys',
      within: [['spec.sshKeys', many(100, sshKey)]],
      beyond: [['spec.sshKeys', many(101, sshKey)]],
    },
    {
      rule: 'keys are lines of OpenSSH',
      within: [['spec.sshKeys[0]', sshKey()]],
      beyond: [['spec.sshKeys[0]', sshKey().replace('ssh-ed25519', 'ssh-rsa')]],
    },
    {
      rule: 'keys are whole',
      within: [['spec.sshKeys[0]', sshKey().split(' ').slice(0, 2).join(' ')]],
      beyond: [['spec.sshKeys[0]', 'ssh-ed25519 AAAA']],
    },
    {
      rule: 'keys are without options',
      within: [['spec.sshKeys[0]', sshKey()]],
      beyond: [['spec.sshKeys[0]', `command="sh" ${sshKey()}`]],
    },
    {
      rule: 'a key stands there once',
      within: [['spec.sshKeys', [sshKey()]]],
      beyond: [['spec.sshKeys', [sshKey(), sshKey()]]],
      field: 'spec.sshKeys[1]',
    },
    { rule: 'state is a known word', within: [['spec.state', 'Stopped']], beyond: [['spec.state', 'Suspended']] },
    { rule: 'tools are known ones', within: [['spec.tools', ['SSH']]], beyond: [['spec.tools[0]', 'Emacs']] },
    {
      rule: 'a tool stands there once',
      within: [['spec.tools', ['SSH', 'Jupyter']]],
      beyond: [['spec.tools', ['SSH', 'SSH']]],
      field: 'spec.tools[1]',
    },
    { rule: 'it runs on one node', within: [['spec.resources.nodes', 1]], beyond: [['spec.resources.nodes', 2]] },
  ],
  immutable: [],
  mutable: [
    ['spec.connections', ['a'], ['b']],
    ['spec.env', variables(1), variables(2)],
    ['spec.idleTimeout', '1h', '2h'],
    ['spec.image', 'svc/workspace-cpu', 'svc/workspace-rocm'],
    ['spec.imagePullSecrets', ['a'], ['b']],
    ['spec.network.egress.policy', 'Deny', 'Open'],
    ['spec.placement.profile', 'Cost', 'Speed'],
    ['spec.resources.memory', '1Gi', '2Gi'],
    ['spec.schedule.stopAt', READY, '2026-01-03T09:00:00Z'],
    ['spec.secrets', ['a'], ['b']],
    ['spec.serviceAccountName', 'default', 'ci'],
    ['spec.sshKeys', [sshKey(1)], [sshKey(2)]],
    ['spec.state', 'Running', 'Stopped'],
    ['spec.tools', ['SSH'], ['VSCode']],
    ['spec.volume', 'home', 'other'],
  ],
  raiseOnly: [['spec.maxCostUSD', '9.50', '10.00']],
});

function scheduled(readyBy: number) {
  return objectOf(workspaceKind, { ephemeral: true, schedule: { readyBy: rfc3339(readyBy) } });
}

test('Workspace: a machine must be wanted 15 minutes ahead when it is asked for', (t) => {
  const context = contextAt(Math.floor(NOW / 1000) * 1000);
  const soonest = context.now + 15 * 60_000;
  t.is(ask(workspaceKind, at(scheduled(soonest)), { type: 'Created' }, context).outcome, 'Next');
  const tooSoon = ask(workspaceKind, at(scheduled(soonest - 1000)), { type: 'Created' }, context);
  t.is(tooSoon.outcome, 'Refused');
  if (tooSoon.outcome !== 'Refused') return;
  t.is(tooSoon.refusal.code, 'Invalid');
  t.is(tooSoon.refusal.causes?.[0]?.field, 'spec.schedule.readyBy');
  const moved = ask(
    workspaceKind,
    at(scheduled(soonest - 1000)),
    { type: 'Updated', before: scheduled(soonest) },
    context,
  );
  t.is(moved.outcome, 'Refused');
});

test('Workspace: one that is to be stopped in the past is not created, and one that runs is stopped by such a time', (t) => {
  const context = contextAt(Math.floor(NOW / 1000) * 1000);
  const until = (stopAt: number) => objectOf(workspaceKind, { ephemeral: true, schedule: { stopAt: rfc3339(stopAt) } });
  t.is(ask(workspaceKind, at(until(context.now + 1000)), { type: 'Created' }, context).outcome, 'Next');
  for (const stopAt of [context.now, context.now - 3_600_000]) {
    const refused = ask(workspaceKind, at(until(stopAt)), { type: 'Created' }, context);
    t.is(refused.outcome, 'Refused');
    if (refused.outcome !== 'Refused') return;
    t.is(refused.refusal.code, 'Invalid');
    t.is(refused.refusal.causes?.[0]?.field, 'spec.schedule.stopAt');
    const before = until(context.now + 1000);
    t.is(ask(workspaceKind, at(until(stopAt)), { type: 'Updated', before }, context).outcome, 'Next');
  }
});

test('Workspace: a time that has come near may stay in a spec that changes elsewhere', (t) => {
  const near = scheduled(NOW + 1000);
  t.is(ask(workspaceKind, at(near), { type: 'Updated', before: near }).outcome, 'Next');
});

test('Workspace: what it names is looked for, each by the path of its field', (t) => {
  const workspace = objectOf(workspaceKind, {
    volume: 'home',
    connections: ['db'],
    env: [{ name: 'X', valueFrom: { secretKeyRef: { name: 'c', key: 'k' } } }],
    image: 'svc/nothing',
    imagePullSecrets: ['pull'],
    placement: { pool: 'rack' },
    secrets: ['a'],
  });
  const found = workspaceKind.references?.(workspace) ?? [];
  t.deepEqual(JSON.parse(JSON.stringify(found)) as unknown, [
    { field: 'spec.connections[0]', kind: 'Connection', name: 'db' },
    { field: 'spec.env[0].valueFrom.secretKeyRef.name', kind: 'Secret', name: 'c' },
    { field: 'spec.image', kind: 'Image', project: 'svc', name: 'nothing', reason: 'ImageNotFound' },
    { field: 'spec.imagePullSecrets[0]', kind: 'Secret', name: 'pull' },
    { field: 'spec.placement.pool', kind: 'Pool', name: 'rack' },
    { field: 'spec.secrets[0].name', kind: 'Secret', name: 'a' },
    { field: 'spec.serviceAccountName', kind: 'ServiceAccount', name: 'default' },
    { field: 'spec.volume', kind: 'Volume', name: 'home' },
  ]);
});

test('Workspace: a home has one writer', (t) => {
  const home = workspaceKind.references?.(objectOf(workspaceKind, { volume: 'home' })).at(-1);
  t.is(home?.objection?.(objectOf(volumeKind, { accessMode: 'ReadWriteOnce' })), undefined);
  t.regex(home?.objection?.(objectOf(volumeKind, { accessMode: 'ReadWriteMany' })) ?? '', /must be ReadWriteOnce/);
});

for (const [path, spec] of [
  ['spec.connections', { connections: ['a'] }],
  ['spec.image', { image: 'python:3.12' }],
  ['spec.imagePullSecrets', { imagePullSecrets: ['a'] }],
  ['spec.placement.pool', { placement: { pool: 'rack' } }],
  ['spec.resources.gpu', { resources: { gpu: { count: 1 } } }],
] as const) {
  test(`Workspace: ${path} is named as not built yet`, (t) => {
    t.deepEqual(workspaceKind.unsupported?.(workspaceKind.schema.spec.parse({ ephemeral: true, ...spec }), 'Catalog'), [
      path,
    ]);
  });
}

test('Workspace: everything that this service carries out is supported', (t) => {
  const spec = {
    volume: 'home',
    connections: [],
    env: variables(1),
    idleTimeout: '0s',
    image: 'svc/workspace-cpu',
    network: { egress: { policy: 'Deny' } },
    placement: { queueTimeout: '1m' },
    resources: { cpu: '500m', nodes: 1 },
    schedule: { readyBy: READY, stopAt: '2026-01-02T10:00:00Z' },
    secrets: ['a'],
    serviceAccountName: 'ci',
    sshKeys: [sshKey()],
    state: 'Stopped',
    tools: ['SSH'],
  };
  t.deepEqual(workspaceKind.unsupported?.(workspaceKind.schema.spec.parse(spec), 'Catalog'), []);
});

test('Workspace: its work is its home and nothing else, and has the disk that it asks for, whatever its Volume holds', (t) => {
  const MI = 2 ** 20;
  const bare = objectOf(workspaceKind, { volume: 'home', resources: { disk: '100Mi' } });
  const digest = `sha256:${'a'.repeat(64)}`;
  const planned = (home: object | undefined) =>
    workspaceKind.workPlan?.({ ...bare, status: { ...Object(bare.status), home } }, 0, 1);
  const plan = planned({ volume: 'home', revision: '1', digest, size: '50Mi' });
  t.is(plan?.home, '/home/svc');
  t.is(plan?.workingDir, '/home/svc');
  t.true(plan?.idle);
  t.is(plan?.image, 'svc/workspace-cpu');
  t.deepEqual(plan?.inputs, [{ name: 'svc.home', from: 'blob', digest, workingDir: '/home/svc', saved: true }]);
  t.deepEqual(
    plan?.outputs.map(({ name, path }) => ({ name, path })),
    [{ name: 'svc.home', path: '/home/svc' }],
  );
  t.is(plan?.amounts.disk, 100 * MI);
  t.is(planned({ volume: 'home', size: '200Mi' })?.amounts.disk, 100 * MI);
  t.deepEqual(planned({ volume: 'home' })?.inputs, [], 'the Volume is empty');
  t.deepEqual(planned(undefined)?.outputs, [], 'an ephemeral one keeps nothing');
});
