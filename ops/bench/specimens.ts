/**
 * One spec of every kind that clients write, as a person would write it who uses most of its fields. What is left of
 * 2 KB is filled with an annotation. A Pipeline repeats the fields of a Job for each stage, so it is the largest.
 */
import { Buffer } from 'node:buffer';
import type { KindDefinition } from '../../src/kinds/kind.js';
import { apiVersionOf } from '../../src/kinds/versions.js';

/** Bytes of a body as sent. */
export const SPECIMEN_BYTES = 2_048;

const DIGEST = `sha256:${'a'.repeat(64)}`;
const env = (count: number): object[] =>
  Array.from({ length: count }, (_, n) => ({ name: `SETTING_${n}`, value: `value number ${n}` }));

const RESOURCES = { cpu: '500m', memory: '256Mi', disk: '1Gi' };
const NETWORK = { egress: { policy: 'AllowList', allow: ['pypi.org', '*.pythonhosted.org'] } };

/** As a Sweep has it, too: the Sweep says when its Jobs go. */
const TEMPLATE = {
  image: 'svc/agent-tools',
  command: ['sh', '-c', 'python3 /workspace/main.py "$SVC_INDEX"'],
  completions: 100,
  parallelism: 10,
  backoffLimit: 3,
  timeout: '1h',
  maxCostUSD: '12.50',
  expectedDuration: '10m',
  resources: RESOURCES,
  network: NETWORK,
  placement: { queueTimeout: '1h' },
  recovery: { maxAttempts: 5, onInterruption: 'Resume' },
  secrets: ['database', { name: 'registry', version: 2 }],
  outputs: [{ name: 'result', path: '/svc/outputs/result' }],
  volumes: [{ volume: 'data', mountPath: '/data' }],
};

const JOB = { ...TEMPLATE, ttlSecondsAfterFinished: 86_400 };

const STAGE = { command: ['make', 'stage'], resources: RESOURCES, timeout: '30m', env: env(4) };

const SPECS: Readonly<Record<string, object>> = {
  Agent: { image: 'svc/agent-tools', maxTokens: 4_096, maxToolCalls: 20, perRunMaxCostUSD: '0.50' },
  AgentGroup: { agent: 'coder', limits: { maxActive: 5, maxPending: 100 } },
  AgentRun: { agent: 'coder', group: 'nightly', taskKey: 'review', dependsOn: ['build', 'test'] },
  APIKey: { scopes: ['jobs:read', 'jobs:write', 'events:read'] },
  App: { functions: ['quote', 'render'] },
  Budget: { limitUSD: '100.00', period: 'Monthly', action: 'Block', thresholds: [50, 80, 100] },
  CloudAccount: { provider: 'CloudA', cloudA: { accountId: '123456789012' }, sync: { interval: '1h' } },
  Connection: { type: 'Postgres', secret: 'database' },
  EnrollmentToken: { ttl: '1h', maxUses: 3 },
  Environment: { version: '1.0.0', package: { image: `ghcr.io/acme/env@${DIGEST}` } },
  Function: {
    code: { blob: DIGEST, module: 'shop.prices', qualname: 'quote' },
    env: env(10),
    resources: RESOURCES,
    network: NETWORK,
  },
  FunctionCall: { function: 'quote', input: { inline: [1, { currency: 'USD' }] } },
  Image: { base: `debian@${DIGEST}` },
  InferenceEndpoint: { model: 'svc/echo', limits: { maxConcurrent: 4, rpm: 60 } },
  Job: { ...JOB, env: env(12) },
  Member: { email: 'ada@example.com', role: 'Developer', projects: ['default'] },
  Namespace: {},
  Pipeline: {
    defaults: { image: 'svc/agent-tools', network: NETWORK, secrets: ['database'] },
    maxCostUSD: '50.00',
    maxParallel: 2,
    stages: [
      { name: 'prepare', template: { ...STAGE, outputs: [{ name: 'rows', path: '/svc/outputs/rows' }] } },
      { name: 'train', template: STAGE, inputs: [{ name: 'rows', fromStage: 'prepare', output: 'rows' }] },
      { name: 'report', template: STAGE, dependsOn: ['train'] },
    ],
  },
  Pool: { displayName: 'GPUs of the lab' },
  Sandbox: {
    image: 'svc/agent-tools',
    env: env(20),
    resources: RESOURCES,
    network: NETWORK,
    secrets: ['database'],
    lifecycle: { idleTimeout: '15m', maxLifetime: '48h', onIdle: 'Delete' },
  },
  Secret: { stringData: { USER: 'ada', PASSWORD: 'p'.repeat(32), URL: 'postgres://db.example.com/app' } },
  ServiceAccount: { description: 'runs the nightly jobs', scopes: ['jobs:read', 'jobs:write'] },
  Sweep: {
    matrix: { params: { RATE: ['0.1', '0.01', '0.001'], DEPTH: ['2', '4'] } },
    maxParallel: 3,
    template: { spec: { ...TEMPLATE, completions: 1, parallelism: 1 } },
  },
  TopUp: { amountUSD: '20.00' },
  TrainingJob: { runtime: 'svc/sft', model: `hf://acme/tiny@${'a'.repeat(40)}`, data: { volume: { name: 'corpus' } } },
  TrainingRuntime: { image: `ghcr.io/acme/trainer@${DIGEST}`, launcher: 'Torchrun', modes: ['Train', 'Evaluate'] },
  Volume: { accessMode: 'ReadWriteOnce' },
  WebhookEndpoint: {
    url: 'https://example.com/hooks',
    eventTypes: ['job.*', 'agentrun.failed'],
    projects: ['default'],
  },
  Workspace: { volume: 'home', idleTimeout: '30m', env: env(10), resources: RESOURCES },
};

/** A whole body of the kind; undefined for kinds that clients do not write. */
export function specimen(kind: KindDefinition, name: string): Record<string, unknown> | undefined {
  const spec = SPECS[kind.kind];
  if (spec === undefined) return undefined;
  const bare = bodyOf(kind, name, '', spec);
  const left = SPECIMEN_BYTES - Buffer.byteLength(JSON.stringify(bare));
  return bodyOf(kind, name, 'n'.repeat(Math.max(0, left)), spec);
}

function bodyOf(kind: KindDefinition, name: string, note: string, spec: object): Record<string, unknown> {
  const metadata = { name, labels: { app: 'bench', tier: 'batch' }, annotations: { note } };
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata, spec };
}
