import test from 'ava';
import type { ApiObject } from '../../../src/api/object.js';
import { API_GROUP } from '../../../src/brand.js';
import { jobKind } from '../../../src/kinds/job/index.js';
import { checkLabelName, checkLabelValue } from '../../../src/api/names.js';
import { attemptName, ownerLabel, readAttemptName } from '../../../src/kinds/attempts/names.js';
import { jobLabels } from '../../../src/kinds/job/draft.js';
import { floorsOf, limitsOf } from '../../../src/kinds/shapes/resources.js';

const MI = 2 ** 20;

function job(spec: Record<string, unknown>, name = 'train'): ApiObject {
  return {
    apiVersion: `${API_GROUP}/v1`,
    kind: 'Job',
    metadata: { name, namespace: 'research', uid: 'u-1', generation: 1, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: jobKind.schema.spec.parse({ command: ['python3'], ...spec }),
    status: {},
  };
}

test('The plan carries command, arguments and the variables of the service, which win', (t) => {
  const made = job({ args: ['-c', 'pass'], completions: 9 });
  // As a version before stored it, which did not refuse the name.
  const stored = {
    ...made,
    spec: { ...(made.spec as object), env: [{ name: 'JOB_COMPLETION_INDEX', value: 'mine' }] },
  };
  const plan = jobKind.workPlan?.(stored, 7, 3);
  t.deepEqual(plan?.main.command, ['python3', '-c', 'pass']);
  const env = new Map(plan?.main.env.map(({ name, value }) => [name, value]));
  t.is(env.get('SVC_INDEX'), '7');
  t.is(env.get('JOB_COMPLETION_INDEX'), '7');
  t.is(env.get('SVC_EPOCH'), '3');
  t.is(env.get('SVC_JOB_NAME'), 'train');
  t.is(env.get('SVC_PROJECT'), 'research');
  t.is(env.get('SVC_COMPLETIONS'), '9');
  t.is(plan?.workingDir, '/workspace');
  t.deepEqual(plan?.outputs, [{ name: 'outputs', path: '/svc/outputs' }]);
});

test('Inputs, secrets, init command and sidecars are planned by name', (t) => {
  const digest = `sha256:${'a'.repeat(64)}`;
  const plan = jobKind.workPlan?.(
    job({
      env: [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'creds', key: 'token' } } }],
      secrets: ['creds', { name: 'pinned', version: 2 }],
      initCommand: { command: ['setup'], timeout: '90s' },
      sidecars: [{ name: 'proxy', command: ['proxy'] }],
      inputs: [
        { name: 'data', output: { job: 'prepare', name: 'table' } },
        { name: 'page', url: { url: 'https://example.com/x' } },
      ],
      outputs: [{ name: 'model', path: '/model' }],
      source: { blob: digest },
      workingDir: '/work',
    }),
    0,
    1,
  );
  t.deepEqual(
    plan?.main.env.find(({ name }) => name === 'TOKEN'),
    { name: 'TOKEN', fromSecret: { name: 'creds', key: 'token' } },
  );
  t.deepEqual(plan?.secrets, [{ name: 'creds' }, { name: 'pinned', version: 2 }]);
  t.is(plan?.init?.timeoutSeconds, 90);
  t.is(plan?.sidecars[0]?.name, 'proxy');
  t.true(plan?.sidecars[0]?.env.some(({ name }) => name === 'SVC_INDEX'));
  t.deepEqual(plan?.inputs, [
    { name: 'source', from: 'blob', digest, workingDir: '/work' },
    { name: 'data', from: 'output', job: 'prepare', output: 'table', index: 0 },
    { name: 'page', from: 'url', url: 'https://example.com/x', sha256: undefined },
  ]);
  t.deepEqual(
    plan?.outputs.map(({ name }) => name),
    ['model', 'outputs'],
  );
});

test('What a Job refers to is checked at admission, with the path of each', (t) => {
  const references = jobKind.references?.(
    job({
      env: [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'creds', key: 'token' } } }],
      secrets: ['other'],
      inputs: [{ name: 'data', output: { job: 'prepare', name: 'table' } }],
    }),
  );
  t.deepEqual(references, [
    { field: 'spec.secrets[0].name', kind: 'Secret', name: 'other' },
    { field: 'spec.env[0].valueFrom.secretKeyRef.name', kind: 'Secret', name: 'creds' },
    { field: 'spec.inputs[0].output.job', kind: 'Job', name: 'prepare' },
  ]);
});

test('Limits have defaults, and only stated amounts are set aside in full', (t) => {
  t.deepEqual(limitsOf(undefined), { milliCpu: 1_000, memory: 512 * MI, disk: 10_240 * MI });
  t.deepEqual(limitsOf({ cpu: '0' }).milliCpu, 1_000);
  t.true(floorsOf(undefined).milliCpu < 50);
  t.deepEqual(floorsOf({ cpu: '2', memory: '4Gi', disk: '1Gi' }), {
    milliCpu: 2_000,
    memory: 4_096 * MI,
    disk: 1_024 * MI,
  });
});

test('Names of Attempts are DNS labels that differ by incarnation, index and epoch', (t) => {
  const long = { name: `${'a'.repeat(60)}.${'b'.repeat(100)}`, uid: 'u-1' };
  const name = attemptName(long, 9_999, 1_234);
  t.true(name.length <= 63, name);
  t.regex(name, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
  t.not(attemptName({ name: 'a', uid: 'u-1' }, 0, 1), attemptName({ name: 'a', uid: 'u-2' }, 0, 1));
  t.not(attemptName({ name: 'a', uid: 'u-1' }, 1, 11), attemptName({ name: 'a', uid: 'u-1' }, 11, 1));
  t.true((jobLabels(long.name, 0)[`${API_GROUP}/job`] ?? '').length <= 63);
});

test('the name of an Attempt is a label that reads back, however long or dotted the name of its owner is', (t) => {
  for (const length of [1, 50, 51, 52, 53, 63, 64, 253]) {
    for (const [index, epoch] of [
      [0, 1],
      [9999, 12],
    ] as const) {
      const owner = { name: `a${'.b'.repeat(200)}`.slice(0, length).replace(/\.$/, 'c'), uid: 'u' };
      const name = attemptName(owner, index, epoch);
      t.is(checkLabelName(name), undefined, name);
      t.deepEqual(readAttemptName(owner, name), { index, epoch }, name);
      t.is(readAttemptName({ ...owner, uid: 'v' }, name), undefined, 'another incarnation');
      t.is(readAttemptName(owner, `x${name}`), undefined);
    }
  }
  t.is(readAttemptName({ name: 'a', uid: 'u' }, 'a'), undefined);
});

test('the label of an owner is its name up to 63 characters, and cut and marked beyond', (t) => {
  t.is(ownerLabel('a'.repeat(63)), 'a'.repeat(63));
  const long = ownerLabel('a'.repeat(64));
  t.is(long.length, 63);
  t.not(long, ownerLabel('a'.repeat(65)), 'the mark tells them apart');
  t.is(checkLabelValue(ownerLabel(`${'a'.repeat(55)}.${'b'.repeat(30)}`)), undefined);
  t.is(checkLabelValue(long), undefined);
});
