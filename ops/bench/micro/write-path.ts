/**
 * Prints what the JavaScript of a write costs per request, in µs, for a 2 KB object of a kind in the form of a Job:
 * parse, prepare, encode, stamp. Not measured: HTTP, the actor, Postgres, the watch hub. Run it on a quiet machine:
 * `npx tsc && node dist/ops/bench/micro/write-path.js`. The budget of all steps of a create together is 40 µs.
 */
import { z } from 'zod';
import type { Address } from '../../../src/api/address.js';
import { decodeObject, encodeObject, stampVersion } from '../../../src/api/encode.js';
import { measure } from '../../../src/api/json-scan.js';
import { parseBody } from '../../../src/api/json.js';
import { manageCreate } from '../../../src/api/managed-fields.js';
import { mergePatch } from '../../../src/api/patches/merge.js';
import { zBytes, zCpu, zDuration, zUsd } from '../../../src/api/schema.js';
import { parseLabelSelector } from '../../../src/api/selectors/label.js';
import { compileShape } from '../../../src/api/shape.js';
import { unknownFields } from '../../../src/api/strict.js';
import type { KindDefinition } from '../../../src/kinds/kind.js';
import { prepareCreate } from '../../../src/kinds/write/create.js';
import { preparePatch } from '../../../src/kinds/write/patch.js';
import type { Prepared, RefusedWrite, WriteContext } from '../../../src/kinds/write/prepared.js';
import { prepareRemove } from '../../../src/kinds/write/remove.js';
import { prepareReplace } from '../../../src/kinds/write/replace.js';
import { readMetadata } from '../../../src/kinds/write/validate.js';

const spec = z.object({
  command: z.array(z.string()).optional(),
  args: z.array(z.string()).optional(),
  image: z.string().default('svc/agent-tools'),
  env: z
    .array(z.object({ name: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), value: z.string().optional() }))
    .max(256)
    .optional(),
  secrets: z.array(z.union([z.string(), z.object({ name: z.string(), version: z.int().optional() })])).optional(),
  completions: z.int().min(1).max(10_000).default(1),
  parallelism: z.int().min(1).max(256).default(1),
  backoffLimit: z.int().min(0).max(100).default(6),
  timeout: zDuration().optional(),
  maxCostUSD: zUsd({ above: '0' }).optional(),
  resources: z
    .object({ cpu: zCpu().default('1'), memory: zBytes().default('512Mi'), disk: zBytes().default('10Gi') })
    .prefault({}),
  recovery: z
    .object({
      maxAttempts: z.int().min(1).max(32).default(8),
      onInterruption: z.enum(['Resume', 'Fail']).default('Resume'),
    })
    .prefault({}),
  placement: z.object({ queueTimeout: zDuration().default('24h') }).prefault({}),
  outputs: z
    .array(z.object({ name: z.string().regex(/^[a-z0-9._-]{1,64}$/), path: z.string() }))
    .max(32)
    .optional(),
  ttlSecondsAfterFinished: z.int().min(0).optional(),
  state: z.enum(['Running', 'Suspended', 'Cancelled']).default('Running'),
});

const kind: KindDefinition = {
  kind: 'Job',
  plural: 'jobs',
  singular: 'job',
  shortNames: [],
  categories: [],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: new Set(),
  description: '',
  schema: {
    spec,
    status: z.object({}),
    immutable: ['command', 'args', 'image', 'env', 'secrets', 'completions', 'resources', 'outputs', 'placement'].map(
      (field) => `spec.${field}`,
    ),
    raiseOnly: ['spec.maxCostUSD'],
  },
  columns: [],
  selectableFields: {},
  initialStatus: () => ({
    phase: 'Pending',
    active: 0,
    succeeded: 0,
    failed: 0,
    conditions: [],
    observedGeneration: 0,
  }),
  machine: { decide: () => ({ outcome: 'Ignored' }) },
};

const address: Address = { org: 'bootstrap', kind: 'Job', project: 'default', name: 'bench-000001' };
const body = {
  apiVersion: 'svc.dev/v1',
  kind: 'Job',
  metadata: {
    name: 'bench-000001',
    namespace: 'default',
    labels: { app: 'bench', tier: 'batch', 'example.com/team': 'search' },
    annotations: { note: 'n'.repeat(200) },
  },
  spec: {
    command: ['sh', '-c', 'echo hello && sleep 1'],
    completions: 100,
    parallelism: 10,
    timeout: '1h',
    maxCostUSD: '12.50',
    env: Array.from({ length: 25 }, (_, i) => ({ name: `SETTING_${i}`, value: `some value with number ${i}` })),
    resources: { cpu: '500m', memory: '256Mi' },
    outputs: [{ name: 'result', path: '/svc/outputs/result' }],
  },
};
const bytes = Buffer.from(JSON.stringify(body));
const patchBytes = Buffer.from(JSON.stringify({ metadata: { labels: { tier: 'x' } } }));
const specPatchBytes = Buffer.from(JSON.stringify({ spec: { parallelism: 11 } }));

let seconds = 1_767_322_800_000;
const ctx: WriteContext = {
  context: { now: seconds, uid: () => '00000000-0000-4000-8000-000000000000', randomBytes: (n) => new Uint8Array(n) },
  fieldValidation: 'Warn',
  fieldManager: 'bench',
  dryRun: false,
  duplicates: [],
  currentVersion: 41,
};

function later(): WriteContext {
  seconds += 1;
  return { ...ctx, context: { ...ctx.context, now: seconds } };
}

function prepared(result: Prepared | RefusedWrite): Prepared {
  if (result.outcome === 'Prepared') return result;
  throw new Error(JSON.stringify(result.refusal));
}

function read(from: Buffer): Record<string, unknown> {
  const parsed = parseBody(from, 'json');
  if (parsed.outcome === 'Parsed') return parsed.value;
  throw new Error(parsed.refusal.message);
}

const parsedBody = read(bytes);
const current = prepared(prepareCreate(kind, address, parsedBody, ctx)).object;
const stored = stampVersion(encodeObject(current), 41);
const shape = compileShape(spec);
const labelSelector = parseLabelSelector('app=bench,tier in (batch,web),!legacy');

const steps: readonly (readonly [string, () => unknown])[] = [
  ['JSON.parse of the body, for comparison', () => JSON.parse(bytes.toString())],
  ['parseBody', () => parseBody(bytes, 'json')],
  ['  of it the pass over the bytes', () => measure(bytes)],
  ['prepareCreate', () => prepareCreate(kind, address, parsedBody, later())],
  ['  of it the spec by zod', () => spec.safeParse(parsedBody['spec'])],
  ['  of it unknown fields of the spec', () => unknownFields(shape, parsedBody['spec'], 'spec')],
  ['  of it metadata', () => readMetadata(parsedBody['metadata'], { causes: [], unknown: [] })],
  ['  of it managed fields', () => manageCreate({ manager: 'm', apiVersion: 'v1', now: 0 }, current)],
  ['encodeObject', () => encodeObject(current)],
  ['stampVersion', () => stampVersion(stored, 41)],
  ['decodeObject', () => decodeObject(stored)],
  [
    'create: parse, prepare, encode, stamp',
    () => stampVersion(encodeObject(prepared(prepareCreate(kind, address, read(bytes), later())).object), 42),
  ],
  ['merge patch of a label: parse, decode, prepare, encode, stamp', () => patch(patchBytes)],
  ['merge patch of the spec: the same', () => patch(specPatchBytes)],
  [
    'replace with the same: parse, decode, prepare',
    () => prepareReplace(kind, decodeObject(stored), read(bytes), later()),
  ],
  [
    'delete: decode, prepare, encode, stamp',
    () => stampVersion(encodeObject(prepared(prepareRemove(kind, decodeObject(stored), {}, later())).object), 42),
  ],
  ['mergePatch alone', () => mergePatch(current, { spec: { parallelism: 11 } })],
  [
    'label selector on one object',
    () => labelSelector.outcome === 'Selector' && labelSelector.selector.matches(current.metadata.labels),
  ],
];

function patch(from: Buffer): Buffer {
  const change = prepared(preparePatch(kind, decodeObject(stored), { type: 'merge', patch: read(from) }, later()));
  return stampVersion(encodeObject(change.object), 42);
}

/** CPU time, best of several rounds: on a shared machine the least disturbed one says most. */
const ROUNDS = 5;
const WARM_UP = 5_000;
const CALLS = 20_000;

let sink: unknown;

function time(step: () => unknown): number {
  for (let i = 0; i < WARM_UP; i++) sink = step();
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage();
    for (let i = 0; i < CALLS; i++) sink = step();
    const spent = process.cpuUsage(before);
    best = Math.min(best, (spent.user + spent.system) / CALLS);
  }
  return best;
}

process.stdout.write(`body ${bytes.length} bytes, stored ${stored.length} bytes, Node ${process.version}\n`);
for (const [name, step] of steps) process.stdout.write(`${time(step).toFixed(2).padStart(8)} µs  ${name}\n`);
process.stdout.write(sink === undefined ? 'nothing\n' : '');
