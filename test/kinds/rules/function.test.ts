/** Both sides of every rule of Function. */
import test from 'ava';
import { functionKind } from '../../../src/kinds/function/index.js';
import { objectOf } from '../decide.js';
import { DIGEST, names } from './samples.js';
import {
  ENV,
  GPUS,
  imageLimits,
  INIT_COMMAND,
  MAX_COST,
  NETWORK,
  PLACEMENT,
  PULL_SECRETS,
  RECOVERY,
  RESOURCES,
  SECRETS,
  SIDECARS,
  VOLUMES,
} from './shared.js';
import { holdRules, type Change, type Limit } from './table.js';

const CODE = { blob: DIGEST, module: 'shop.prices', qualname: 'quote' };

/** `field` from `good` on, and not `bad`. */
function bound(rule: string, field: string, good: unknown, bad: unknown): Limit {
  return { rule, within: [[`spec.${field}`, good]], beyond: [[`spec.${field}`, bad]] };
}

/** All fields but the cap. */
const mutable: readonly (readonly [string, unknown, unknown])[] = [
  ['spec.args', ['a'], ['b']],
  ['spec.cluster.size', 2, 3],
  ['spec.code.qualname', 'a', 'b'],
  ['spec.command', ['a'], ['b']],
  ['spec.connections', ['a'], ['b']],
  ['spec.env', [{ name: 'A', value: '1' }], [{ name: 'A', value: '2' }]],
  ['spec.image', 'a', 'b'],
  ['spec.imagePullSecrets', ['a'], ['b']],
  ['spec.imageRef', 'a', 'b'],
  ['spec.initCommand.command', ['a'], ['b']],
  ['spec.network.egress.policy', 'Deny', 'Open'],
  ['spec.placement.profile', 'Cost', 'Speed'],
  ['spec.python', '3.11', '3.12'],
  ['spec.recovery.maxAttempts', 2, 1],
  ['spec.resources.memory', '1Gi', '2Gi'],
  ['spec.retries.maxRetries', 2, 1],
  ['spec.scaling.maxWorkers', 2, 1],
  ['spec.secrets', ['a'], ['b']],
  ['spec.serviceAccountName', 'a', 'b'],
  ['spec.sidecars', [{ name: 'a', command: ['a'] }], [{ name: 'a', command: ['b'] }]],
  ['spec.state', 'Running', 'Stopped'],
  ['spec.timeout', '2m', '1m'],
  ['spec.volumes', [{ volume: 'a', mountPath: '/a' }], [{ volume: 'b', mountPath: '/a' }]],
  ['spec.workingDir', '/a', '/b'],
];

const noCode: Change = ['spec.code', undefined];

holdRules(test, {
  kind: functionKind,
  least: { code: CODE },
  defaults: [['spec.state', 'Running']],
  limits: [
    ...ENV,
    ...GPUS,
    ...INIT_COMMAND,
    ...MAX_COST,
    ...NETWORK,
    ...PLACEMENT,
    ...PULL_SECRETS,
    ...RECOVERY,
    ...RESOURCES,
    ...SECRETS,
    ...SIDECARS,
    ...VOLUMES,
    ...imageLimits('spec.image'),
    { rule: 'it has code or a command', within: [noCode, ['spec.command', ['serve']]], beyond: [noCode] },
    bound('code is a digest', 'code.blob', DIGEST, 'sha256:a'),
    bound('a module is one of Python', 'code.module', 'a.b_1', 'a-b'),
    bound('no module is without a name', 'code.module', 'a', 'a..b'),
    bound('a qualified name is not empty', 'code.qualname', 'Shop.quote', ''),
    bound('a class has a name of Python', 'code.cls.name', 'Shop', '1Shop'),
    bound('at most 128 methods', 'code.cls.methods', names(128), names(129)),
    {
      rule: 'a method stands there once',
      within: [['spec.code.cls.methods', ['a', 'b']]],
      beyond: [['spec.code.cls.methods', ['a', 'a']]],
      field: 'spec.code.cls.methods[1]',
    },
    bound('a command names a program', 'command', ['serve'], []),
    bound('a launcher that is known', 'cluster.launcher', 'Plain', 'Torchrun'),
    bound('a cluster from 2 nodes', 'cluster.size', 2, 1),
    bound('a cluster to 16 nodes', 'cluster.size', 16, 17),
    bound('a network that is known', 'cluster.network', 'Regional', 'Near'),
    bound('a transport that is known', 'cluster.transport', 'Auto', 'Relay'),
    bound('Python from 3.10', 'python', '3.10', '3.9'),
    bound('Python to 3.13', 'python', '3.13', '3.14'),
    bound('Python 3.10 is a text', 'python', '3.10', 3.1),
    bound('Python without a patch', 'python', '3.11', '3.11.4'),
    bound('delays that do not shrink', 'retries.backoffCoefficient', 1, 0.99),
    bound('delays that do not explode', 'retries.backoffCoefficient', 100, 100.1),
    bound('a first delay', 'retries.initialDelay', '0s', '-1s'),
    bound('a longest delay', 'retries.maxDelay', '1m', 60),
    bound('no negative retries', 'retries.maxRetries', 0, -1),
    bound('whole retries', 'retries.maxRetries', 2, 2.5),
    bound('at least one worker', 'scaling.maxWorkers', 1, 0),
    bound('no negative workers', 'scaling.minWorkers', 0, -1),
    {
      rule: 'at least as many workers as are kept warm',
      within: [['spec.scaling', { minWorkers: 2, maxWorkers: 2 }]],
      beyond: [['spec.scaling', { minWorkers: 3, maxWorkers: 2 }]],
      field: 'spec.scaling.minWorkers',
    },
    bound('an idle worker may go at once', 'scaling.scaledownWindow', '0s', '-1s'),
    bound('an idle worker is kept for 20m', 'scaling.scaledownWindow', '20m', '20m1s'),
    bound('a worker takes a call', 'scaling.targetConcurrency', 1, 0),
    bound('state is a known word', 'state', 'Stopped', 'Suspended'),
    bound('calls have some time', 'timeout', '1ms', '0s'),
    bound('the working directory is absolute', 'workingDir', '/a', 'a'),
    {
      rule: 'an image is named in one way',
      within: [['spec.imageRef', 'mine']],
      beyond: [
        ['spec.imageRef', 'mine'],
        ['spec.image', 'python:3.12'],
      ],
    },
    {
      rule: 'a connection stands there once',
      within: [['spec.connections', ['a', 'b']]],
      beyond: [['spec.connections', ['a', 'a']]],
      field: 'spec.connections[1]',
    },
  ],
  immutable: [],
  mutable,
  raiseOnly: [['spec.maxCostUSD', '9.50', '10.00']],
});

function everyName() {
  return objectOf(functionKind, {
    code: CODE,
    connections: ['db'],
    env: [{ name: 'X', valueFrom: { secretKeyRef: { name: 'c', key: 'k' } } }],
    imageRef: 'mine',
    imagePullSecrets: ['pull'],
    placement: { pool: 'rack' },
    secrets: ['a'],
    serviceAccountName: 'ci',
    sidecars: [
      {
        name: 'b',
        command: ['a'],
        image: 'svc/nothing',
        env: [{ name: 'Y', valueFrom: { secretKeyRef: { name: 'd', key: 'k' } } }],
      },
    ],
    volumes: [{ volume: 'data', mountPath: '/data' }],
  });
}

test('Function: what it names is looked for, each by the path of its field', (t) => {
  t.deepEqual(functionKind.references?.(everyName()), [
    { field: 'spec.connections[0]', kind: 'Connection', name: 'db' },
    { field: 'spec.env[0].valueFrom.secretKeyRef.name', kind: 'Secret', name: 'c' },
    { field: 'spec.imagePullSecrets[0]', kind: 'Secret', name: 'pull' },
    { field: 'spec.imageRef', kind: 'Image', name: 'mine', reason: 'ImageNotFound' },
    { field: 'spec.placement.pool', kind: 'Pool', name: 'rack' },
    { field: 'spec.secrets[0].name', kind: 'Secret', name: 'a' },
    { field: 'spec.serviceAccountName', kind: 'ServiceAccount', name: 'ci' },
    { field: 'spec.sidecars[0].env[0].valueFrom.secretKeyRef.name', kind: 'Secret', name: 'd' },
    { field: 'spec.sidecars[0].image', kind: 'Image', project: 'svc', name: 'nothing', reason: 'ImageNotFound' },
    { field: 'spec.volumes[0].volume', kind: 'Volume', name: 'data' },
  ]);
});
