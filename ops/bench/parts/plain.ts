/** Measures create, get and merge-patch of plain objects. */
import { randomInt, randomUUID } from 'node:crypto';
import type { Figure, Part, PartContext } from '../figure.js';
import { load, type LoadResult } from '../load.js';
import { SERVICE_ACCOUNT, SUSPENDED_JOB, type BenchKind } from '../objects.js';
import type { Service } from '../service.js';

/** Objects that gets and patches range over. */
const OBJECTS = 10_000;
const MERGE_PATCH = { 'Content-Type': 'application/merge-patch+json' };

export const create: Part = {
  name: 'create',
  about: 'POST of 2 KB objects at 64 connections; ServiceAccounts, suspended Jobs, and with Idempotency-Key',
  async run(context) {
    const service = await context.fresh();
    const accounts = await creates(context, service, SERVICE_ACCOUNT, 'c', {});
    const keyed = await creates(context, service, SERVICE_ACCOUNT, 'k', { 'Idempotency-Key': '' });
    const jobs = await creates(context, service, SUSPENDED_JOB, 'j', {});
    const alone = await creates({ ...context, connections: 1 }, service, SERVICE_ACCOUNT, 'a', {});
    return [
      ...figures('create', accounts, {
        rate: 6_000,
        p50: 10,
        kubernetes: 1_461,
        kubernetesP50: 36,
        kubernetesP99: 121,
      }),
      ...figures('create with Idempotency-Key', keyed, {}),
      ...figures('create a suspended Job', jobs, {}),
      ...figures('create, one connection', alone, { kubernetes: 630, kubernetesP50: 1.4 }),
    ];
  },
};

export const get: Part = {
  name: 'get',
  about: `GET of 2 KB objects, any of ${OBJECTS}, at 64 connections`,
  async run(context) {
    const service = await context.fresh();
    await fill(service, SERVICE_ACCOUNT, OBJECTS);
    const path = service.path(SERVICE_ACCOUNT.plural);
    const requests = Array.from({ length: OBJECTS }, (_, n) => service.request('GET', `${path}/${nameOf(n)}`));
    const none = Buffer.alloc(0);
    const result = await load(service, {
      ...context,
      request: () => requests[randomInt(OBJECTS)] ?? none,
      expect: 200,
    });
    return figures('get', result, { rate: 20_000, kubernetes: 3_805 });
  },
};

export const patch: Part = {
  name: 'patch',
  about: `merge-patch of one annotation of 2 KB objects, any of ${OBJECTS}, at 64 connections; and all on one object`,
  async run(context) {
    const service = await context.fresh();
    await fill(service, SERVICE_ACCOUNT, OBJECTS);
    const path = service.path(SERVICE_ACCOUNT.plural);
    const patchOf = (target: number, n: number, headers: Readonly<Record<string, string>>): Buffer =>
      service.request('PATCH', `${path}/${nameOf(target)}`, patchBody(n), { ...MERGE_PATCH, ...headers });
    const spread = await load(service, {
      ...context,
      request: (n) => patchOf(randomInt(OBJECTS), n, {}),
      expect: 200,
    });
    const keyed = await load(service, {
      ...context,
      request: (n) => patchOf(randomInt(OBJECTS), n, { 'Idempotency-Key': randomUUID() }),
      expect: 200,
    });
    const hot = await load(service, { ...context, request: (n) => patchOf(0, n, {}), expect: 200 });
    return [
      ...figures('merge-patch', spread, { rate: 6_000, kubernetes: 1_236 }),
      ...figures('merge-patch with Idempotency-Key', keyed, {}),
      ...figures('merge-patch of one object', hot, {}),
    ];
  },
};

export function nameOf(n: number): string {
  return `o-${String(n).padStart(6, '0')}`;
}

export function patchBody(n: number): string {
  return `{"metadata":{"annotations":{"bench/seq":"${String(n).padStart(7, '0')}"}}}`;
}

/** Creates exactly so many objects, `nameOf(from)` and on. */
export async function fill(
  service: Service,
  kind: BenchKind,
  count: number,
  { from = 0, path = service.path(kind.plural) }: { readonly from?: number; readonly path?: string } = {},
): Promise<LoadResult> {
  return load(service, {
    connections: Math.min(64, count),
    warmUpSeconds: 0,
    seconds: 600,
    most: count,
    request: (n) => service.request('POST', path, kind.body(nameOf(from + n))),
    expect: 201,
  });
}

function creates(
  context: PartContext,
  service: Service,
  kind: BenchKind,
  prefix: string,
  headers: Readonly<Record<string, string>>,
): Promise<LoadResult> {
  const path = service.path(kind.plural);
  return load(service, {
    ...context,
    request: (n) =>
      service.request(
        'POST',
        path,
        kind.body(`${prefix}-${n}`),
        'Idempotency-Key' in headers ? { 'Idempotency-Key': randomUUID() } : {},
      ),
    expect: 201,
  });
}

interface Targets {
  readonly rate?: number | undefined;
  readonly p50?: number | undefined;
  readonly kubernetes?: number | undefined;
  readonly kubernetesP50?: number | undefined;
  readonly kubernetesP99?: number | undefined;
}

function figures(name: string, result: LoadResult, targets: Targets): Figure[] {
  return [
    { name, value: result.perSecond, unit: 'per second', atLeast: targets.rate, kubernetes: targets.kubernetes },
    { name: `${name}, p50`, value: result.p50Ms, unit: 'ms', atMost: targets.p50, kubernetes: targets.kubernetesP50 },
    { name: `${name}, p99`, value: result.p99Ms, unit: 'ms', kubernetes: targets.kubernetesP99 },
    { name: `${name}, processor time each`, value: result.processorMicros.service, unit: 'µs' },
    { name: `${name}, that of Postgres`, value: result.processorMicros.postgres, unit: 'µs' },
  ];
}
