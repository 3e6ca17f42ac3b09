/** A kind for these tests, in the form of a Job: defaults, immutable and raise-only fields, one field that is not built. */
import { z } from 'zod';
import type { Address } from '../../../src/api/address.js';
import type { ApiObject } from '../../../src/api/object.js';
import { zBytes, zCpu, zDuration, zUsd } from '../../../src/api/schema.js';
import { isObject } from '../../../src/api/safe-value.js';
import { EVERY_OPERATION } from '../../../src/kinds/declare.js';
import type { KindDefinition } from '../../../src/kinds/kind.js';
import type { DecisionContext } from '../../../src/kinds/machine.js';
import { prepareCreate } from '../../../src/kinds/write/create.js';
import type { Prepared, RefusedWrite, WriteContext } from '../../../src/kinds/write/prepared.js';

export const sampleSpec = z.object({
  command: z.array(z.string()).min(1),
  args: z.array(z.string()).optional(),
  env: z
    .array(z.object({ name: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), value: z.string().optional() }))
    .max(256)
    .optional(),
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
  network: z.object({ policy: z.enum(['Deny', 'Open']) }).optional(),
  outputs: z
    .array(z.object({ name: z.string(), path: z.string() }))
    .max(32)
    .optional(),
  state: z.enum(['Running', 'Suspended', 'Cancelled']).default('Running'),
});

export const sampleKind: KindDefinition = {
  kind: 'Job',
  plural: 'jobs',
  singular: 'job',
  shortNames: [],
  categories: [],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: EVERY_OPERATION,
  description: 'A sample.',
  schema: {
    spec: sampleSpec,
    status: z.object({}),
    immutable: ['spec.command', 'spec.completions', 'spec.env', 'spec.network'],
    raiseOnly: ['spec.maxCostUSD'],
  },
  columns: [],
  selectableFields: {},
  initialStatus: () => ({ phase: 'Pending' }),
  unsupported: (spec) => (isObject(spec) && spec['network'] !== undefined ? ['spec.network'] : []),
  machine: { decide: () => ({ outcome: 'Ignored' }) },
};

export const address: Address = { org: 'o-1', kind: 'Job', project: 'default', name: 'a' };

export const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);

export function contextAt(now: number): DecisionContext {
  let count = 0;
  return {
    now,
    uid: () => `uid-${(count += 1)}`,
    randomBytes: (length) => new Uint8Array(length),
  };
}

export function context(more: Partial<WriteContext> = {}): WriteContext {
  return {
    context: contextAt(NOW),
    fieldValidation: 'Strict',
    fieldManager: 'kubectl',
    dryRun: false,
    duplicates: [],
    ...more,
  };
}

export function body(
  spec: Record<string, unknown> = {},
  metadata: Record<string, unknown> = {},
): Record<string, unknown> {
  return {
    apiVersion: 'svc.dev/v1',
    kind: 'Job',
    metadata: { name: 'a', ...metadata },
    spec: { command: ['true'], ...spec },
  };
}

/** The object of a create that must succeed. */
export function born(spec: Record<string, unknown> = {}, metadata: Record<string, unknown> = {}): ApiObject {
  return expectPrepared(prepareCreate(sampleKind, address, body(spec, metadata), context())).object;
}

export function expectPrepared(result: Prepared | RefusedWrite): Prepared {
  if (result.outcome === 'Prepared') return result;
  throw new Error(`refused: ${JSON.stringify(result.refusal)}`);
}

/** The refusal as `code field/reason …`, or `prepared`. */
export function verdict(result: Prepared | RefusedWrite): string {
  if (result.outcome === 'Prepared') return 'prepared';
  const { code, causes } = result.refusal;
  return [code, ...(causes ?? []).map((cause) => `${cause.field}/${cause.reason}`)].join(' ');
}

/** A member of something that should be an object; undefined when it is none or lacks it. */
export function memberOf(value: unknown, ...keys: readonly string[]): unknown {
  let found = value;
  for (const key of keys) found = isObject(found) ? found[key] : undefined;
  return found;
}
