/** Both sides of every rule of Job, and which of its fields may change. */
import test from 'ava';
import { jobKind } from '../../../src/kinds/job/index.js';
import { objectOf } from '../decide.js';
import { DIGEST, many } from './samples.js';
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
import { holdRules, type Limit } from './table.js';

/** `field` takes `good` and not `bad`; the cause names `named` below it. */
function bound(rule: string, field: string, good: unknown, bad: unknown, named = ''): Limit {
  return {
    rule,
    within: [[`spec.${field}`, good]],
    beyond: [[`spec.${field}`, bad]],
    field: `spec.${field}${named}`,
  };
}

/** An input or output that is accepted, one that is not, and the field that is wrong in it. */
function element(list: 'inputs' | 'outputs', rule: string, good: object, bad: object, named: string): Limit {
  return bound(`${list}: ${rule}`, list, [good], [bad], `[0]${named}`);
}

const input = (rule: string, good: object, bad: object, named: string): Limit =>
  element('inputs', rule, { name: 'a', ...good }, { name: 'a', ...bad }, named);
const output = (rule: string, good: object, bad: object, named: string): Limit =>
  element('outputs', rule, { name: 'a', path: '/a', ...good }, { name: 'a', path: '/a', ...bad }, named);

const volume = { volume: { name: 'v' } };
const bucket = { uri: 's3://bucket/key', connection: 'store' };

holdRules(test, {
  kind: jobKind,
  // Two indexes, so that parallelism has room to change; that one is the default is told in ../job/schema.test.ts.
  least: { command: ['true'], completions: 2 },
  defaults: [
    ['spec.backoffLimit', 6],
    ['spec.image', 'svc/agent-tools'],
    ['spec.parallelism', 1],
    ['spec.state', 'Running'],
  ],
  limits: [
    {
      rule: 'a spec of at most 256 KiB, since each of its Attempts has all of it',
      within: [['spec.args', Array(2).fill('x'.repeat(100_000))]],
      beyond: [['spec.args', Array(3).fill('x'.repeat(100_000))]],
      field: 'spec',
    },
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
    bound('a program is named', 'command', ['sh'], undefined),
    bound('a catalog image is in the catalog', 'image', 'svc/workspace-cpu', 'svc/nothing'),
    bound('an alias of some seconds', 'activeDeadlineSeconds', 1, 0),
    bound('no negative failures', 'backoffLimit', 0, -1),
    bound('at most 100 failures', 'backoffLimit', 100, 101),
    bound('a time to be done by', 'completeByTime', '2026-01-02T03:04:05Z', 'tomorrow'),
    bound('at least one index', 'completions', 1, 0),
    bound('at most 10000 indexes', 'completions', 10_000, 10_001),
    bound('at least one at a time', 'parallelism', 1, 0),
    {
      rule: 'at most 256 at a time',
      within: [
        ['spec.parallelism', 256],
        ['spec.completions', 300],
      ],
      beyond: [
        ['spec.parallelism', 257],
        ['spec.completions', 300],
      ],
    },
    {
      rule: 'no more at a time than there are',
      within: [
        ['spec.parallelism', 3],
        ['spec.completions', 3],
      ],
      beyond: [
        ['spec.parallelism', 4],
        ['spec.completions', 3],
      ],
    },
    bound('an expected time is a duration', 'expectedDuration', '90m', '90'),
    bound('warm for no negative time', 'scaledownWindow', '0s', '-1s'),
    bound('warm for at most 20m', 'scaledownWindow', '20m', '20m1s'),
    bound('a state that is known', 'state', 'Suspended', 'Stopped'),
    bound('Cancelled is a state', 'state', 'Cancelled', 'Canceled'),
    bound('some time to run', 'timeout', '1ms', '0s'),
    bound('kept for no negative time', 'ttlSecondsAfterFinished', 0, -1),
    bound('whole seconds', 'ttlSecondsAfterFinished', 1, 0.5),
    bound('the working directory is absolute', 'workingDir', '/a', 'a'),
    bound('GPUs of a gang', 'distributed', { nodes: 2, gpusPerNode: 8 }, { nodes: 2, gpusPerNode: 3 }, '.gpusPerNode'),
    bound(
      'a launcher that is known',
      'distributed',
      { nodes: 2, launcher: 'Ray' },
      { nodes: 2, launcher: 'Mpi' },
      '.launcher',
    ),
    bound(
      'no negative retries of assembly',
      'distributed',
      { nodes: 2, maxAssemblyRetries: 0 },
      { nodes: 2, maxAssemblyRetries: -1 },
      '.maxAssemblyRetries',
    ),
    bound(
      'at most 5 retries of assembly',
      'distributed',
      { nodes: 2, maxAssemblyRetries: 5 },
      { nodes: 2, maxAssemblyRetries: 6 },
      '.maxAssemblyRetries',
    ),
    bound(
      'a network that is known',
      'distributed',
      { nodes: 2, network: 'Global' },
      { nodes: 2, network: 'Near' },
      '.network',
    ),
    bound('a gang from 2 nodes', 'distributed', { nodes: 2 }, { nodes: 1 }, '.nodes'),
    bound('a gang to 16 nodes', 'distributed', { nodes: 16 }, { nodes: 17 }, '.nodes'),
    bound('a gang from 2 GPUs', 'distributed', { totalGPUs: 2 }, { totalGPUs: 1 }, '.totalGPUs'),
    bound('a gang to 64 GPUs', 'distributed', { totalGPUs: 64 }, { totalGPUs: 65 }, '.totalGPUs'),
    bound('a gang has a size', 'distributed', { totalGPUs: 2 }, {}, '.nodes'),
    {
      rule: 'nodes may be given in short',
      within: [
        ['spec.resources.nodes', 2],
        ['spec.distributed', { launcher: 'Torchrun' }],
      ],
      beyond: [
        ['spec.resources.nodes', 1],
        ['spec.distributed', { launcher: 'Torchrun' }],
      ],
      field: 'spec.distributed.nodes',
    },
    {
      rule: 'nodes in short and in full are the same',
      within: [
        ['spec.resources.nodes', 2],
        ['spec.distributed', { nodes: 2 }],
      ],
      beyond: [
        ['spec.resources.nodes', 2],
        ['spec.distributed', { nodes: 3 }],
      ],
      field: 'spec.distributed.nodes',
    },
    {
      rule: 'nodes in short are a size as well',
      within: [
        ['spec.resources.nodes', 1],
        ['spec.distributed', { totalGPUs: 8 }],
      ],
      beyond: [
        ['spec.resources.nodes', 2],
        ['spec.distributed', { totalGPUs: 8 }],
      ],
      field: 'spec.distributed.nodes',
    },
    bound('a gang has one size', 'distributed', { nodes: 2 }, { nodes: 2, totalGPUs: 2 }, '.nodes'),
    bound(
      'a start from 5m',
      'distributed',
      { nodes: 2, startupTimeout: '5m' },
      { nodes: 2, startupTimeout: '4m59s' },
      '.startupTimeout',
    ),
    bound(
      'a start to 60m',
      'distributed',
      { nodes: 2, startupTimeout: '60m' },
      { nodes: 2, startupTimeout: '60m1s' },
      '.startupTimeout',
    ),
    bound(
      'a transport that is known',
      'distributed',
      { nodes: 2, transport: 'Auto' },
      { nodes: 2, transport: 'Relay' },
      '.transport',
    ),
    {
      rule: 'GPUs of a node and of a gang are the same',
      within: [
        ['spec.resources.gpu.count', 8],
        ['spec.distributed', { nodes: 2, gpusPerNode: 8 }],
      ],
      beyond: [
        ['spec.resources.gpu.count', 4],
        ['spec.distributed', { nodes: 2, gpusPerNode: 8 }],
      ],
      field: 'spec.distributed.gpusPerNode',
    },
    input('names of 64', { name: 'a'.repeat(64), ...volume }, { name: 'a'.repeat(65), ...volume }, '.name'),
    input('names begin with a letter', { name: 'A_1', ...volume }, { name: '_1', ...volume }, '.name'),
    input('one origin', volume, {}, ''),
    input('one origin only', volume, { ...volume, bucket }, ''),
    input('a Volume is named', volume, { volume: { revision: 'r' } }, '.volume.name'),
    input(
      'an index from 0',
      { output: { job: 'j', name: 'o', index: 0 } },
      { output: { job: 'j', name: 'o', index: -1 } },
      '.output.index',
    ),
    input(
      'an index to 9999',
      { output: { job: 'j', name: 'o', index: 9999 } },
      { output: { job: 'j', name: 'o', index: 10_000 } },
      '.output.index',
    ),
    input('a bucket has a key', { bucket }, { bucket: { ...bucket, uri: 's3://bucket/' } }, '.bucket.uri'),
    input('a bucket has a connection', { bucket }, { bucket: { uri: bucket.uri } }, '.bucket.connection'),
    input(
      'a bucket and a key have no line breaks',
      { bucket: { ...bucket, uri: 's3://bucket/a b' } },
      { bucket: { ...bucket, uri: 's3://bucket/a\nb' } },
      '.bucket.uri',
    ),
    input(
      'a bucket has the name of one',
      { bucket: { ...bucket, uri: 's3://my.bucket-1/a' } },
      { bucket: { ...bucket, uri: 's3://my bucket/a' } },
      '.bucket.uri',
    ),
    input(
      'a Connection is named as an object',
      { bucket },
      { bucket: { ...bucket, connection: 'My store' } },
      '.bucket.connection',
    ),
    input('a Volume is named as an object', volume, { volume: { name: 'My data' } }, '.volume.name'),
    input(
      'a Job is named as an object',
      { output: { job: 'j', name: 'o' } },
      { output: { job: 'J_1', name: 'o' } },
      '.output.job',
    ),
    input(
      'an output has the name of one',
      { output: { job: 'j', name: 'a.b_c-1' } },
      { output: { job: 'j', name: 'A' } },
      '.output.name',
    ),
    input(
      'a directory lies below the home',
      { fromWorkspace: { name: 'w', path: 'a/.b/c' } },
      { fromWorkspace: { name: 'w', path: 'a/../../c' } },
      '.fromWorkspace.path',
    ),
    input(
      'a directory of a home is relative',
      { fromWorkspace: { name: 'w', path: 'a' } },
      { fromWorkspace: { name: 'w', path: '/a' } },
      '.fromWorkspace.path',
    ),
    input(
      'no credentials in a URL',
      { url: { url: 'https://example.org/a' } },
      { url: { url: 'https://ada:secret@example.org/a' } },
      '.url.url',
    ),
    input(
      'a sum is whole',
      { bucket: { ...bucket, sha256: 'a'.repeat(64) } },
      { bucket: { ...bucket, sha256: 'a'.repeat(63) } },
      '.bucket.sha256',
    ),
    input('https only', { url: { url: 'https://example.org/a' } }, { url: { url: 'ftp://example.org/a' } }, '.url.url'),
    input(
      'a Workspace is named',
      { fromWorkspace: { name: 'w' } },
      { fromWorkspace: { path: 'a' } },
      '.fromWorkspace.name',
    ),
    input('no stages outside of Pipelines', volume, { fromStage: { stage: 's', output: 'o' } }, '.fromStage'),
    bound(
      'inputs have different names',
      'inputs',
      [
        { name: 'a', ...volume },
        { name: 'b', ...volume },
      ],
      [
        { name: 'a', ...volume },
        { name: 'a', ...volume },
      ],
      '[1].name',
    ),
    bound(
      'at most 32 outputs',
      'outputs',
      many(32, (i) => ({ name: `o${i}`, path: '/a' })),
      many(33, (i) => ({ name: `o${i}`, path: '/a' })),
    ),
    bound(
      'outputs have different names',
      'outputs',
      [
        { name: 'a', path: '/a' },
        { name: 'b', path: '/a' },
      ],
      [
        { name: 'a', path: '/a' },
        { name: 'a', path: '/b' },
      ],
      '[1].name',
    ),
    output('names of 64', { name: 'a'.repeat(64) }, { name: 'a'.repeat(65) }, '.name'),
    output('names in small letters', { name: 'a.b_c-1' }, { name: 'A' }, '.name'),
    output("the service's own prefix is not taken", { name: 'svcx' }, { name: 'svc.x' }, '.name'),
    output('the standing one has its place', { name: 'outputs', path: '/svc/outputs' }, { name: 'outputs' }, '.name'),
    output('absolute paths', { path: '/a/b' }, { path: 'a/b' }, '.path'),
    output('ranks that are known', { fromRanks: 'Zero' }, { fromRanks: 'One' }, '.fromRanks'),
    output(
      'a sink names its Connection as an object',
      { sink: { connection: 'c', table: 't' } },
      { sink: { connection: 'postgres://c', table: 't' } },
      '.sink.connection',
    ),
    output('a name is no directory', { name: '...' }, { name: '..' }, '.name'),
    output(
      'rows are added or replaced',
      { sink: { connection: 'c', table: 't', mode: 'Replace' } },
      { sink: { connection: 'c', table: 't', mode: 'Merge' } },
      '.sink.mode',
    ),
    bound('Connections have names of objects', 'connections', ['db'], ['My db'], '[0]'),
    bound('an Image has the name of an object', 'imageRef', 'mine', 'svc/mine'),
    bound('a ServiceAccount has the name of an object', 'serviceAccountName', 'ci', 'CI'),
    bound('a source is one', 'source', { blob: DIGEST }, {}),
    bound('a source is one only', 'source', { git: { repo: 'a/b' } }, { blob: DIGEST, git: { repo: 'a/b' } }),
    bound(
      'a repository is owner/name or a URL',
      'source',
      { git: { repo: 'a/b.git' } },
      { git: { repo: 'b' } },
      '.git.repo',
    ),
    bound(
      'a repository is fetched over https',
      'source',
      { git: { repo: 'https://example.org/a/b' } },
      { git: { repo: 'git@example.org:a/b' } },
      '.git.repo',
    ),
    bound(
      'a repository has no credentials',
      'source',
      { git: { repo: 'https://example.org/a/b' } },
      { git: { repo: 'https://ada:secret@example.org/a/b' } },
      '.git.repo',
    ),
    bound(
      'a repository leads nowhere else',
      'source',
      { git: { repo: 'a/.b' } },
      { git: { repo: 'a/..' } },
      '.git.repo',
    ),
    bound(
      'a ref is no option',
      'source',
      { git: { repo: 'a/b', ref: 'feature/x' } },
      { git: { repo: 'a/b', ref: '--upload-pack=x' } },
      '.git.ref',
    ),
    bound(
      'files of a repository have an absolute place',
      'source',
      { git: { repo: 'a/b', path: '/a' } },
      { git: { repo: 'a/b', path: 'a' } },
      '.git.path',
    ),
    bound('a blob is a digest', 'source', { blob: DIGEST }, { blob: 'sha256:a' }, '.blob'),
  ],
  immutable: [
    ['spec.args', ['a'], ['b']],
    ['spec.command', ['a'], ['b']],
    ['spec.completeByTime', '2026-01-02T03:04:05Z', '2026-01-02T03:04:06Z'],
    ['spec.completions', 1, 2],
    ['spec.connections', ['a'], ['b']],
    ['spec.distributed', { nodes: 2 }, { nodes: 3 }],
    ['spec.env', [{ name: 'A', value: '1' }], [{ name: 'A', value: '2' }]],
    ['spec.expectedDuration', '1h', '2h'],
    ['spec.image', 'a', 'b'],
    ['spec.imagePullSecrets', ['a'], ['b']],
    ['spec.imageRef', 'a', 'b'],
    ['spec.initCommand', { command: ['a'] }, { command: ['b'] }],
    ['spec.inputs', [{ name: 'a', ...volume }], [{ name: 'b', ...volume }]],
    ['spec.network.egress.policy', 'Deny', 'Open'],
    ['spec.outputs', [{ name: 'a', path: '/a' }], [{ name: 'a', path: '/b' }]],
    ['spec.placement.profile', 'Cost', 'Speed'],
    ['spec.recovery.checkpoint.format', 'Snapshot', 'Dcp'],
    ['spec.recovery.checkpoint.integration', 'Auto', 'None'],
    ['spec.recovery.checkpoint.maxSize', '1Ti', '2Ti'],
    ['spec.recovery.checkpoint.paths', ['/a'], ['/b']],
    ['spec.recovery.continuity', 'Restartable', 'Ephemeral'],
    ['spec.recovery.minProgressDuration', '1m', '2m'],
    ['spec.recovery.onInterruption', 'Resume', 'Fail'],
    ['spec.resources.memory', '1Gi', '2Gi'],
    ['spec.scaledownWindow', '1m', '2m'],
    ['spec.secrets', ['a'], ['b']],
    ['spec.serviceAccountName', 'a', 'b'],
    ['spec.sidecars', [{ name: 'a', command: ['a'] }], [{ name: 'a', command: ['b'] }]],
    ['spec.source', { blob: DIGEST }, { git: { repo: 'a/b' } }],
    ['spec.volumes', [{ volume: 'a', mountPath: '/a' }], [{ volume: 'b', mountPath: '/a' }]],
    ['spec.workingDir', '/a', '/b'],
  ],
  mutable: [
    ['spec.activeDeadlineSeconds', 60, 30],
    ['spec.backoffLimit', 2, 1],
    ['spec.parallelism', 2, 1],
    ['spec.recovery.checkpoint.interval', '2m', '1m'],
    ['spec.recovery.checkpoint.retainAfterFinish', '2h', '1h'],
    ['spec.recovery.maxAttempts', 2, 1],
    ['spec.state', 'Running', 'Suspended'],
    ['spec.timeout', '2h', '1h'],
    ['spec.ttlSecondsAfterFinished', 60, 30],
  ],
  raiseOnly: [['spec.maxCostUSD', '9.50', '10.00']],
});

test('Job: what it names is looked for, each by the path of its field', (t) => {
  const job = objectOf(jobKind, {
    command: ['true'],
    connections: ['db'],
    imageRef: 'mine',
    imagePullSecrets: ['pull'],
    inputs: [
      { name: 'a', ...volume },
      { name: 'b', bucket },
      { name: 'c', output: { job: 'first', name: 'o' } },
      { name: 'd', fromWorkspace: { name: 'desk' } },
    ],
    outputs: [{ name: 'o', path: '/o', sink: { connection: 'db', table: 't' } }],
    placement: { pool: 'rack' },
    secrets: ['a'],
    serviceAccountName: 'ci',
    sidecars: [
      { name: 's', command: ['a'], env: [{ name: 'Y', valueFrom: { secretKeyRef: { name: 'd', key: 'k' } } }] },
    ],
    volumes: [{ volume: 'data', mountPath: '/data' }],
  });
  t.deepEqual(
    jobKind
      .references?.(job)
      ?.map(({ field, kind, name }) => `${field} ${kind}/${name}`)
      .toSorted(),
    [
      'spec.connections[0] Connection/db',
      'spec.imagePullSecrets[0] Secret/pull',
      'spec.imageRef Image/mine',
      'spec.inputs[0].volume.name Volume/v',
      'spec.inputs[1].bucket.connection Connection/store',
      'spec.inputs[2].output.job Job/first',
      'spec.inputs[3].fromWorkspace.name Workspace/desk',
      'spec.outputs[0].sink.connection Connection/db',
      'spec.placement.pool Pool/rack',
      'spec.secrets[0].name Secret/a',
      'spec.serviceAccountName ServiceAccount/ci',
      'spec.sidecars[0].env[0].valueFrom.secretKeyRef.name Secret/d',
      'spec.volumes[0].volume Volume/data',
    ],
  );
});
