/**
 * The limits of the shapes that kinds share, told once: a kind's table takes those of the shapes that it uses.
 * Source: spec, "Conventions" 7 to 17.
 */
import type { Limit } from './table.js';
import { DIGEST, many, names } from './samples.js';

export const MAX_COST: readonly Limit[] = [
  {
    rule: 'maxCostUSD is an amount from 0',
    within: [['spec.maxCostUSD', '0.00']],
    beyond: [['spec.maxCostUSD', '-0.01']],
  },
  { rule: 'maxCostUSD is a decimal string', within: [['spec.maxCostUSD', '1.5']], beyond: [['spec.maxCostUSD', 1.5]] },
];

export const ENV: readonly Limit[] = [
  {
    rule: 'a variable has a name that a shell can take',
    within: [['spec.env[0]', { name: '_A1' }]],
    beyond: [['spec.env[0]', { name: '1A' }]],
    field: 'spec.env[0].name',
  },
  {
    rule: 'a variable has a name',
    within: [['spec.env[0]', { name: 'A', value: '' }]],
    beyond: [['spec.env[0]', { value: '' }]],
    field: 'spec.env[0].name',
  },
  {
    rule: "the service's own prefix is not taken",
    within: [['spec.env[0]', { name: 'SVCX' }]],
    beyond: [['spec.env[0]', { name: 'SVC_X' }]],
    field: 'spec.env[0].name',
  },
  {
    rule: 'a value is given or taken from somewhere, not both',
    within: [['spec.env[0]', { name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }]],
    beyond: [['spec.env[0]', { name: 'A', value: 'x', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }]],
    field: 'spec.env[0].valueFrom',
  },
  {
    rule: 'a key of a Secret has the name of the Secret',
    within: [['spec.env[0]', { name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }]],
    beyond: [['spec.env[0]', { name: 'A', valueFrom: { secretKeyRef: { key: 'k' } } }]],
    field: 'spec.env[0].valueFrom.secretKeyRef.name',
  },
  {
    rule: 'a key of a Secret is named',
    within: [['spec.env[0]', { name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'A' } } }]],
    beyond: [['spec.env[0]', { name: 'A', valueFrom: { secretKeyRef: { name: 's' } } }]],
    field: 'spec.env[0].valueFrom.secretKeyRef.key',
  },
  {
    rule: 'a key of a Secret has the form of one',
    within: [['spec.env[0]', { name: 'A', valueFrom: { secretKeyRef: { name: 's', key: '.a_b-C' } } }]],
    beyond: [['spec.env[0]', { name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'a/b' } } }]],
    field: 'spec.env[0].valueFrom.secretKeyRef.key',
  },
  {
    rule: 'a Secret of a variable has the name of an object',
    within: [['spec.env[0]', { name: 'A', valueFrom: { secretKeyRef: { name: 'my-keys', key: 'k' } } }]],
    beyond: [['spec.env[0]', { name: 'A', valueFrom: { secretKeyRef: { name: 'My keys', key: 'k' } } }]],
    field: 'spec.env[0].valueFrom.secretKeyRef.name',
  },
];

export const SECRETS: readonly Limit[] = [
  { rule: 'at most 32 secrets', within: [['spec.secrets', names(32)]], beyond: [['spec.secrets', names(33)]] },
  {
    rule: 'a secret is a name or a name with a version from 1',
    within: [['spec.secrets', ['a', { name: 'b', version: 1 }]]],
    beyond: [['spec.secrets', ['a', { name: 'b', version: 0 }]]],
    field: 'spec.secrets[1].version',
  },
  {
    rule: 'a secret has a name',
    within: [['spec.secrets', [{ name: 'a' }]]],
    beyond: [['spec.secrets', [{ version: 1 }]]],
    field: 'spec.secrets[0].name',
  },
  {
    rule: 'a secret has the name of an object',
    within: [['spec.secrets', ['my-keys']]],
    beyond: [['spec.secrets', ['My keys']]],
    field: 'spec.secrets[0].name',
  },
  {
    rule: 'a secret is mounted once',
    within: [['spec.secrets', ['a', 'b']]],
    beyond: [['spec.secrets', ['a', 'a']]],
    field: 'spec.secrets[1].name',
  },
];

export const PULL_SECRETS: readonly Limit[] = [
  {
    rule: 'at most 4 imagePullSecrets',
    within: [['spec.imagePullSecrets', names(4)]],
    beyond: [['spec.imagePullSecrets', names(5)]],
  },
  {
    rule: 'imagePullSecrets have names of objects',
    within: [['spec.imagePullSecrets', ['hub']]],
    beyond: [['spec.imagePullSecrets', ['https://hub']]],
    field: 'spec.imagePullSecrets[0]',
  },
];

export const RESOURCES: readonly Limit[] = [
  { rule: 'cpu is in cores', within: [['spec.resources.cpu', '500m']], beyond: [['spec.resources.cpu', '1Xi']] },
  { rule: 'memory is in bytes', within: [['spec.resources.memory', '1Gi']], beyond: [['spec.resources.memory', '-1']] },
  ...['memory', 'disk'].map((amount) => ({
    rule: `${amount} is 1Mi or more, so that 100m, a tenth of a byte, is not taken for 100Mi`,
    within: ['1Mi', '0', '107374182400m'].map((text) => [`spec.resources.${amount}`, text] as const),
    beyond: ['100m', '1', '1023Ki'].map((text) => [`spec.resources.${amount}`, text] as const),
  })),
  { rule: 'disk is in bytes', within: [['spec.resources.disk', '1Ti']], beyond: [['spec.resources.disk', 'big']] },
];

export const GPUS: readonly Limit[] = [
  ...[
    [1, 0],
    [2, 3],
    [4, 5],
    [8, 9],
  ].map(([good, bad]): Limit => ({
    rule: `${good} GPUs, and not ${bad}`,
    within: [['spec.resources.gpu.count', good]],
    beyond: [['spec.resources.gpu.count', bad]],
  })),
  {
    rule: 'a known interconnect',
    within: [['spec.resources.gpu.interconnect', 'NVLink']],
    beyond: [['spec.resources.gpu.interconnect', 'PCIe']],
  },
  {
    rule: 'from one type of GPU',
    within: [['spec.resources.gpu.type', ['h100']]],
    beyond: [['spec.resources.gpu.type', []]],
  },
  {
    rule: 'to 8 types of GPU',
    within: [['spec.resources.gpu.type', names(8)]],
    beyond: [['spec.resources.gpu.type', names(9)]],
  },
  {
    rule: 'a type of GPU is an id or a family',
    within: [['spec.resources.gpu.type', ['H100-SXM.80_G']]],
    beyond: [['spec.resources.gpu.type', ['h100:8']]],
    field: 'spec.resources.gpu.type[0]',
  },
  {
    rule: 'no type of GPU may be null',
    within: [['spec.resources.gpu.type', null]],
    beyond: [['spec.resources.gpu.type', [null]]],
    field: 'spec.resources.gpu.type[0]',
  },
];

export const NETWORK: readonly Limit[] = [
  {
    rule: 'a known egress policy',
    within: [['spec.network.egress.policy', 'Open']],
    beyond: [['spec.network.egress.policy', 'Closed']],
  },
  {
    rule: 'allowed hosts are for AllowList',
    within: [['spec.network.egress', { policy: 'AllowList', allow: ['example.org'] }]],
    beyond: [['spec.network.egress', { policy: 'Open', allow: ['example.org'] }]],
    field: 'spec.network.egress.allow',
  },
  {
    rule: 'at most 128 allowed hosts',
    within: [['spec.network.egress', { policy: 'AllowList', allow: many(128, (i) => `h${i}.org`) }]],
    beyond: [['spec.network.egress', { policy: 'AllowList', allow: many(129, (i) => `h${i}.org`) }]],
    field: 'spec.network.egress.allow',
  },
  {
    rule: 'a star is the first label',
    within: [['spec.network.egress', { policy: 'AllowList', allow: ['*.example.org'] }]],
    beyond: [['spec.network.egress', { policy: 'AllowList', allow: ['a.*.org'] }]],
    field: 'spec.network.egress.allow[0]',
  },
  {
    rule: 'allowed hosts have names, not addresses',
    within: [['spec.network.egress', { policy: 'AllowList', allow: ['1.example.org'] }]],
    beyond: [['spec.network.egress', { policy: 'AllowList', allow: ['10.0.0.1'] }]],
    field: 'spec.network.egress.allow[0]',
  },
  {
    rule: 'labels of allowed hosts have at most 63 characters',
    within: [['spec.network.egress', { policy: 'AllowList', allow: [`${'a'.repeat(63)}.org`] }]],
    beyond: [['spec.network.egress', { policy: 'AllowList', allow: [`${'a'.repeat(64)}.org`] }]],
    field: 'spec.network.egress.allow[0]',
  },
  {
    rule: 'presets are of the curated ones',
    within: [['spec.network.egress', { policy: 'AllowList', presets: ['pypi', 'npm'] }]],
    beyond: [['spec.network.egress', { policy: 'AllowList', presets: ['pypi', 'everything'] }]],
    field: 'spec.network.egress.presets[1]',
  },
  {
    rule: 'presets are for AllowList',
    within: [['spec.network.egress', { policy: 'AllowList', presets: ['pypi'] }]],
    beyond: [['spec.network.egress', { policy: 'Open', presets: ['pypi'] }]],
    field: 'spec.network.egress.presets',
  },
];

export const PLACEMENT: readonly Limit[] = [
  {
    rule: 'dedicated is true or unset',
    within: [['spec.placement.dedicated', true]],
    beyond: [['spec.placement.dedicated', false]],
  },
  {
    rule: 'interruptible is a known word',
    within: [['spec.placement.interruptible', 'Prefer']],
    beyond: [['spec.placement.interruptible', 'Always']],
  },
  {
    rule: 'profile is a known word',
    within: [['spec.placement.profile', 'Speed']],
    beyond: [['spec.placement.profile', 'Fast']],
  },
  {
    rule: 'the highest rate is an amount',
    within: [['spec.placement.maxRateUSDPerHour', '2.50']],
    beyond: [['spec.placement.maxRateUSDPerHour', '2,50']],
  },
  {
    rule: 'offerings have names of objects',
    within: [['spec.placement.offerings', ['cpu-small']]],
    beyond: [['spec.placement.offerings', ['CPU small']]],
    field: 'spec.placement.offerings[0]',
  },
  {
    rule: 'a Pool has the name of an object',
    within: [['spec.placement.pool', 'rack-1']],
    beyond: [['spec.placement.pool', 'rack/1']],
  },
  {
    rule: 'regions are region classes',
    within: [['spec.placement.regions', ['eu-central']]],
    beyond: [['spec.placement.regions', ['eu central']]],
    field: 'spec.placement.regions[0]',
  },
  {
    rule: 'the wait for a place may last for ever',
    within: [['spec.placement.queueTimeout', '0s']],
    beyond: [['spec.placement.queueTimeout', 'never']],
  },
];

export const RECOVERY: readonly Limit[] = [
  {
    rule: 'maxAttempts from 1',
    within: [['spec.recovery.maxAttempts', 1]],
    beyond: [['spec.recovery.maxAttempts', 0]],
  },
  {
    rule: 'maxAttempts to 32',
    within: [['spec.recovery.maxAttempts', 32]],
    beyond: [['spec.recovery.maxAttempts', 33]],
  },
  {
    rule: 'continuity is a known word',
    within: [['spec.recovery.continuity', 'Ephemeral']],
    beyond: [['spec.recovery.continuity', 'None']],
  },
  {
    rule: 'onInterruption is a known word',
    within: [['spec.recovery.onInterruption', 'Fail']],
    beyond: [['spec.recovery.onInterruption', 'Stop']],
  },
  {
    rule: 'checkpoints every minute at most',
    within: [['spec.recovery.checkpoint.interval', '1m']],
    beyond: [['spec.recovery.checkpoint.interval', '59s']],
  },
  {
    rule: 'checkpoints every 6 hours at least',
    within: [['spec.recovery.checkpoint.interval', '6h']],
    beyond: [['spec.recovery.checkpoint.interval', '6h1s']],
  },
  {
    rule: 'checkpoints when the service thinks fit',
    within: [['spec.recovery.checkpoint.interval', 'auto']],
    beyond: [['spec.recovery.checkpoint.interval', 'often']],
  },
  {
    rule: 'checkpoints of at most 2Ti',
    within: [['spec.recovery.checkpoint.maxSize', '2Ti']],
    beyond: [['spec.recovery.checkpoint.maxSize', '2049Gi']],
  },
  {
    rule: 'at most 64 paths in a checkpoint',
    within: [['spec.recovery.checkpoint.paths', many(64, (i) => `/p${i}`)]],
    beyond: [['spec.recovery.checkpoint.paths', many(65, (i) => `/p${i}`)]],
  },
];

export const INIT_COMMAND: readonly Limit[] = [
  {
    rule: 'the first command takes at most 30m',
    within: [['spec.initCommand', { command: ['true'], timeout: '30m' }]],
    beyond: [['spec.initCommand', { command: ['true'], timeout: '30m1s' }]],
    field: 'spec.initCommand.timeout',
  },
  {
    rule: 'the first command names a program',
    within: [['spec.initCommand', { command: ['true'] }]],
    beyond: [['spec.initCommand', { timeout: '1m' }]],
    field: 'spec.initCommand.command',
  },
];

export const SIDECARS: readonly Limit[] = [
  {
    rule: 'a sidecar names a program',
    within: [['spec.sidecars', [{ name: 'a', command: ['true'] }]]],
    beyond: [['spec.sidecars', [{ name: 'a' }]]],
    field: 'spec.sidecars[0].command',
  },
  {
    rule: 'sidecars have different names',
    within: [['spec.sidecars', ['a', 'b'].map((name) => ({ name, command: ['true'] }))]],
    beyond: [['spec.sidecars', ['a', 'a'].map((name) => ({ name, command: ['true'] }))]],
    field: 'spec.sidecars[1].name',
  },
];

export const VOLUMES: readonly Limit[] = [
  {
    rule: 'no Volume over a system path',
    within: [['spec.volumes', [{ volume: 'v', mountPath: '/data' }]]],
    beyond: [['spec.volumes', [{ volume: 'v', mountPath: '/etc/x' }]]],
    field: 'spec.volumes[0].mountPath',
  },
  {
    rule: 'a mount names its Volume as an object',
    within: [['spec.volumes', [{ volume: 'v-1', mountPath: '/data' }]]],
    beyond: [['spec.volumes', [{ volume: 'V_1', mountPath: '/data' }]]],
    field: 'spec.volumes[0].volume',
  },
  {
    rule: 'a mount names its Volume',
    within: [['spec.volumes', [{ volume: 'v', mountPath: '/data' }]]],
    beyond: [['spec.volumes', [{ mountPath: '/data' }]]],
    field: 'spec.volumes[0].volume',
  },
  {
    rule: 'an exact revision is read only',
    within: [['spec.volumes', [{ volume: 'v', mountPath: '/data', readOnly: true, revision: 'r' }]]],
    beyond: [['spec.volumes', [{ volume: 'v', mountPath: '/data', revision: 'r' }]]],
    field: 'spec.volumes[0].revision',
  },
];

/** Of a field that names an image. */
export function imageLimits(path: string): readonly Limit[] {
  return [
    {
      rule: `${path} is a reference of an image`,
      within: [[path, `registry.example.org:5000/team/app:v1@${DIGEST}`]],
      beyond: [[path, 'Team/app']],
    },
    { rule: `${path} has no blanks`, within: [[path, 'python:3.12']], beyond: [[path, 'python 3.12']] },
  ];
}
