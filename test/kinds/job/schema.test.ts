import test from 'ava';
import { jobKind } from '../../../src/kinds/job/index.js';

const LEAST = { command: ['true'] };

/** Paths of the complaints about a spec; empty when it is accepted. */
function complaints(spec: unknown): readonly string[] {
  const parsed = jobKind.schema.spec.safeParse(spec);
  return parsed.success ? [] : parsed.error.issues.map(({ path }) => path.join('.'));
}

function repeat<T>(times: number, make: (index: number) => T): T[] {
  return Array.from({ length: times }, (_, index) => make(index));
}

const sizes = { memory: '1Gi', cpu: '500m', disk: '1Gi' };

/** Both sides of each limit: what is accepted, what is refused, and where the complaint points. */
const LIMITS: readonly (readonly [string, Record<string, unknown>, Record<string, unknown>, string])[] = [
  ['completions from 1', { completions: 1 }, { completions: 0 }, 'completions'],
  ['completions to 10000', { completions: 10_000 }, { completions: 10_001 }, 'completions'],
  ['parallelism from 1', { parallelism: 1 }, { parallelism: 0 }, 'parallelism'],
  ['parallelism to 256', { parallelism: 256, completions: 256 }, { parallelism: 257, completions: 300 }, 'parallelism'],
  ['parallelism to completions', { parallelism: 3, completions: 3 }, { parallelism: 4, completions: 3 }, 'parallelism'],
  ['backoffLimit from 0', { backoffLimit: 0 }, { backoffLimit: -1 }, 'backoffLimit'],
  ['backoffLimit to 100', { backoffLimit: 100 }, { backoffLimit: 101 }, 'backoffLimit'],
  ['whole numbers', { backoffLimit: 2 }, { backoffLimit: 1.5 }, 'backoffLimit'],
  ['maxAttempts to 32', { recovery: { maxAttempts: 32 } }, { recovery: { maxAttempts: 33 } }, 'recovery.maxAttempts'],
  ['maxAttempts from 1', { recovery: { maxAttempts: 1 } }, { recovery: { maxAttempts: 0 } }, 'recovery.maxAttempts'],
  [
    'outputs to 32',
    { outputs: repeat(32, (i) => ({ name: `o${i}`, path: `/out/${i}` })) },
    { outputs: repeat(33, (i) => ({ name: `o${i}`, path: `/out/${i}` })) },
    'outputs',
  ],
  ['secrets to 32', { secrets: repeat(32, (i) => `s${i}`) }, { secrets: repeat(33, (i) => `s${i}`) }, 'secrets'],
  [
    'imagePullSecrets to 4',
    { imagePullSecrets: ['a', 'b', 'c', 'd'] },
    { imagePullSecrets: ['a', 'b', 'c', 'd', 'e'] },
    'imagePullSecrets',
  ],
  [
    'initCommand.timeout to 30m',
    { initCommand: { command: ['true'], timeout: '30m' } },
    { initCommand: { command: ['true'], timeout: '30m1s' } },
    'initCommand.timeout',
  ],
  ['initCommand.command', { initCommand: { command: ['true'] } }, { initCommand: {} }, 'initCommand.command'],
  ['scaledownWindow to 20m', { scaledownWindow: '20m' }, { scaledownWindow: '21m' }, 'scaledownWindow'],
  ['durations with a unit', { timeout: '90s' }, { timeout: '90' }, 'timeout'],
  ['timeout above zero', { timeout: '1s' }, { timeout: '0s' }, 'timeout'],
  ['ttl from 0', { ttlSecondsAfterFinished: 0 }, { ttlSecondsAfterFinished: -1 }, 'ttlSecondsAfterFinished'],
  ['activeDeadlineSeconds from 1', { activeDeadlineSeconds: 1 }, { activeDeadlineSeconds: 0 }, 'activeDeadlineSeconds'],
  ['state', { state: 'Cancelled' }, { state: 'Stopped' }, 'state'],
  ['env names', { env: [{ name: '_A1', value: '' }] }, { env: [{ name: '1A', value: '' }] }, 'env.0.name'],
  [
    'the reserved prefix',
    { env: [{ name: 'SVCX', value: '' }] },
    { env: [{ name: 'SVC_X', value: '' }] },
    'env.0.name',
  ],
  [
    'a name that the service sets',
    { env: [{ name: 'COMPLETION_INDEX', value: '' }] },
    { env: [{ name: 'A' }, { name: 'JOB_COMPLETION_INDEX', value: '7' }] },
    'env.1.name',
  ],
  [
    'such a name beside the program',
    { sidecars: [{ name: 'a', command: ['a'], env: [{ name: 'HOME', value: '' }] }] },
    { sidecars: [{ name: 'a', command: ['a'], env: [{ name: 'JOB_COMPLETION_INDEX', value: '7' }] }] },
    'sidecars.0.env.0.name',
  ],
  [
    'value or valueFrom',
    { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] },
    { env: [{ name: 'A', value: 'x', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] },
    'env.0.valueFrom',
  ],
  [
    'input names to 64',
    { inputs: [{ name: 'a'.repeat(64), output: { job: 'j', name: 'o' } }] },
    { inputs: [{ name: 'a'.repeat(65), output: { job: 'j', name: 'o' } }] },
    'inputs.0.name',
  ],
  [
    'unique inputs',
    { inputs: ['a', 'b'].map((name) => ({ name, output: { job: 'j', name: 'o' } })) },
    { inputs: ['a', 'a'].map((name) => ({ name, output: { job: 'j', name: 'o' } })) },
    'inputs.1.name',
  ],
  ['one origin', { inputs: [{ name: 'a', output: { job: 'j', name: 'o' } }] }, { inputs: [{ name: 'a' }] }, 'inputs.0'],
  [
    'only one origin',
    { inputs: [{ name: 'a', volume: { name: 'v' } }] },
    { inputs: [{ name: 'a', volume: { name: 'v' }, output: { job: 'j', name: 'o' } }] },
    'inputs.0',
  ],
  [
    'https',
    { inputs: [{ name: 'a', url: { url: 'https://example.com/a' } }] },
    { inputs: [{ name: 'a', url: { url: 'http://example.com/a' } }] },
    'inputs.0.url.url',
  ],
  [
    'no stages outside of Pipelines',
    { inputs: [] },
    { inputs: [{ name: 'a', fromStage: { stage: 's', output: 'o' } }] },
    'inputs.0.fromStage',
  ],
  [
    'output names to 64',
    { outputs: [{ name: 'a'.repeat(64), path: '/a' }] },
    { outputs: [{ name: 'a'.repeat(65), path: '/a' }] },
    'outputs.0.name',
  ],
  [
    'output prefix',
    { outputs: [{ name: 'svcx', path: '/a' }] },
    { outputs: [{ name: 'svc.x', path: '/a' }] },
    'outputs.0.name',
  ],
  [
    'the standing output',
    { outputs: [{ name: 'outputs', path: '/svc/outputs' }] },
    { outputs: [{ name: 'outputs', path: '/elsewhere' }] },
    'outputs.0.name',
  ],
  [
    'absolute paths',
    { outputs: [{ name: 'a', path: '/a' }] },
    { outputs: [{ name: 'a', path: 'a' }] },
    'outputs.0.path',
  ],
  [
    'no climbing paths',
    { outputs: [{ name: 'a', path: '/a/b..c' }] },
    { outputs: [{ name: 'a', path: '/a/../etc' }] },
    'outputs.0.path',
  ],
  [
    'no secrets as outputs',
    { outputs: [{ name: 'a', path: '/runner' }] },
    { outputs: [{ name: 'a', path: '/run/secrets/key' }] },
    'outputs.0.path',
  ],
  ['no doubled slashes around it', { outputs: [] }, { outputs: [{ name: 'a', path: '//proc//1' }] }, 'outputs.0.path'],
  ['workingDir absolute', { workingDir: '/work' }, { workingDir: 'work' }, 'workingDir'],
  [
    'mount paths',
    { volumes: [{ volume: 'v', mountPath: '/data' }] },
    { volumes: [{ volume: 'v', mountPath: '/etc' }] },
    'volumes.0.mountPath',
  ],
  [
    'revision only readOnly',
    { volumes: [{ volume: 'v', mountPath: '/data', readOnly: true, revision: 'r' }] },
    { volumes: [{ volume: 'v', mountPath: '/data', revision: 'r' }] },
    'volumes.0.revision',
  ],
  ['source', { source: { blob: `sha256:${'a'.repeat(64)}` } }, { source: { blob: 'sha256:a' } }, 'source.blob'],
  ['one source', { source: { git: { repo: 'a/b' } } }, { source: {} }, 'source'],
  ['gang sizes', { distributed: { nodes: 2 } }, { distributed: { nodes: 17 } }, 'distributed.nodes'],
  [
    'one gang size',
    { distributed: { totalGPUs: 2 } },
    { distributed: { nodes: 2, totalGPUs: 2 } },
    'distributed.nodes',
  ],
  [
    'checkpoint interval',
    { recovery: { checkpoint: { interval: 'auto' } } },
    { recovery: { checkpoint: { interval: '59s' } } },
    'recovery.checkpoint.interval',
  ],
  [
    'checkpoint paths to 64',
    { recovery: { checkpoint: { paths: repeat(64, (i) => `/p/${i}`) } } },
    { recovery: { checkpoint: { paths: repeat(65, (i) => `/p/${i}`) } } },
    'recovery.checkpoint.paths',
  ],
  [
    'allow only with AllowList',
    { network: { egress: { policy: 'AllowList', allow: ['*.example.com'] } } },
    { network: { egress: { policy: 'Open', allow: ['example.com'] } } },
    'network.egress.allow',
  ],
  [
    'allow to 128',
    { network: { egress: { policy: 'AllowList', allow: repeat(128, (i) => `h${i}.example.com`) } } },
    { network: { egress: { policy: 'AllowList', allow: repeat(129, (i) => `h${i}.example.com`) } } },
    'network.egress.allow',
  ],
  ['gpu counts', { resources: { gpu: { count: 8 } } }, { resources: { gpu: { count: 3 } } }, 'resources.gpu.count'],
  ['quantities', { resources: sizes }, { resources: { memory: '1GB' } }, 'resources.memory'],
  ['dedicated', { placement: { dedicated: true } }, { placement: { dedicated: false } }, 'placement.dedicated'],
  ['catalog images', { image: 'svc/workspace-cpu' }, { image: 'svc/nothing' }, 'image'],
  [
    'unique sidecars',
    { sidecars: [{ name: 'a', command: ['x'] }] },
    { sidecars: repeat(2, () => ({ name: 'a', command: ['x'] })) },
    'sidecars.1.name',
  ],
  [
    'names of the service',
    { sidecars: [{ name: 'mainly', command: ['x'] }] },
    { sidecars: [{ name: 'main', command: ['x'] }] },
    'sidecars.0.name',
  ],
  ['no NUL in arguments', { args: ['a'] }, { args: ['a\0b'] }, 'args.0'],
];

for (const [name, accepted, refused, path] of LIMITS) {
  test(`The limit of ${name} is held on both sides`, (t) => {
    t.deepEqual(complaints({ ...LEAST, ...accepted }), []);
    t.deepEqual(complaints({ ...LEAST, ...refused }), [path]);
  });
}

test('A Job without a program is refused at its command', (t) => {
  t.deepEqual(complaints({}), ['command']);
  t.deepEqual(complaints({ args: ['true'] }), []);
});

test('Defaults are written into the spec, so that readers see what applies', (t) => {
  t.deepEqual(jobKind.schema.spec.parse({ ...LEAST, secrets: ['a'] }), {
    ...LEAST,
    backoffLimit: 6,
    completions: 1,
    image: 'svc/agent-tools',
    parallelism: 1,
    secrets: [{ name: 'a' }],
    state: 'Running',
  });
});

const UNSUPPORTED: readonly (readonly [string, Record<string, unknown>])[] = [
  ['spec.completeByTime', { completeByTime: '2026-01-01T00:00:00Z' }],
  ['spec.connections', { connections: ['c'] }],
  ['spec.distributed', { distributed: { nodes: 2 } }],
  ['spec.image', { image: 'python:3.12' }],
  ['spec.imagePullSecrets', { imagePullSecrets: ['s'] }],
  ['spec.imageRef', { imageRef: 'mine' }],
  ['spec.inputs[0].volume', { inputs: [{ name: 'a', volume: { name: 'v' } }] }],
  ['spec.inputs[0].bucket', { inputs: [{ name: 'a', bucket: { uri: 's3://b/k', connection: 'c' } }] }],
  ['spec.inputs[0].fromWorkspace', { inputs: [{ name: 'a', fromWorkspace: { name: 'w' } }] }],
  ['spec.outputs[0].fromRanks', { outputs: [{ name: 'a', path: '/a', fromRanks: 'All' }] }],
  ['spec.outputs[0].sink', { outputs: [{ name: 'a', path: '/a', sink: { table: 't' } }] }],
  ['spec.placement.offerings', { placement: { offerings: ['o'] } }],
  ['spec.placement.interruptible', { placement: { interruptible: 'Allow' } }],
  ['spec.recovery.checkpoint', { recovery: { checkpoint: { interval: '1m' } } }],
  ['spec.recovery.continuity', { recovery: { continuity: 'Checkpointed' } }],
  ['spec.recovery.minProgressDuration', { recovery: { minProgressDuration: '1m' } }],
  ['spec.resources.nodes', { resources: { nodes: 2 } }],
  ['spec.resources.gpu', { resources: { gpu: { count: 1 } } }],
  ['spec.scaledownWindow', { scaledownWindow: '1m' }],
  ['spec.serviceAccountName', { serviceAccountName: 'default' }],
  ['spec.sidecars[0].image', { sidecars: [{ name: 'a', command: ['x'], image: 'svc/workspace-cpu' }] }],
  ['spec.sidecars[0].startupTimeout', { sidecars: [{ name: 'a', command: ['x'], startupTimeout: '1m' }] }],
  ['spec.source.git', { source: { git: { repo: 'a/b' } } }],
  ['spec.volumes', { volumes: [{ volume: 'v', mountPath: '/data' }] }],
];

for (const [path, spec] of UNSUPPORTED) {
  test(`${path} is named as not built yet`, (t) => {
    t.deepEqual(jobKind.unsupported?.(jobKind.schema.spec.parse({ ...LEAST, ...spec }), 'Catalog'), [path]);
  });
}

test('Everything that this service carries out is supported', (t) => {
  const spec = {
    ...LEAST,
    args: ['x'],
    env: [{ name: 'A', value: 'b' }],
    secrets: ['s'],
    workingDir: '/work',
    completions: 4,
    parallelism: 2,
    timeout: '1h',
    initCommand: { command: ['true'] },
    sidecars: [{ name: 'side', command: ['sleep', '1'], image: 'svc/agent-tools' }],
    inputs: [{ name: 'a', output: { job: 'j', name: 'o' } }],
    outputs: [{ name: 'o', path: '/o' }],
    network: { egress: { policy: 'Deny' } },
    placement: { queueTimeout: '1h' },
    recovery: { maxAttempts: 2, onInterruption: 'Fail' },
    resources: { ...sizes, nodes: 1 },
    source: { blob: `sha256:${'0'.repeat(64)}` },
    ttlSecondsAfterFinished: 60,
    volumes: [],
  };
  t.deepEqual(jobKind.unsupported?.(jobKind.schema.spec.parse(spec), 'Catalog'), []);
});

test('What the spec lists as mutable is mutable, and nothing else', (t) => {
  const { immutable, raiseOnly } = jobKind.schema;
  for (const path of ['parallelism', 'backoffLimit', 'timeout', 'ttlSecondsAfterFinished', 'state', 'maxCostUSD']) {
    t.false(immutable.includes(`spec.${path}`), path);
  }
  for (const path of [
    'recovery.maxAttempts',
    'recovery.checkpoint.interval',
    'recovery.checkpoint.retainAfterFinish',
  ]) {
    t.false(
      immutable.some((fixed) => `spec.${path}`.startsWith(fixed)),
      path,
    );
  }
  for (const path of ['command', 'env', 'image', 'completions', 'resources', 'recovery.onInterruption', 'placement']) {
    t.true(immutable.includes(`spec.${path}`), path);
  }
  t.deepEqual(raiseOnly, ['spec.maxCostUSD']);
});
