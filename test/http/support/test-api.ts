/** An HTTP server over an in-memory store for tests: one org with an Owner, a Viewer of one project, and a second org. */
import { createHash, randomBytes } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { Registry } from 'prom-client';
import type { Commands } from '../../../actors/work/commands.js';
import { API_GROUP } from '../../../src/brand.js';
import type { Address } from '../../../src/api/address.js';
import type { ApiObject } from '../../../src/api/object.js';
import { KINDS } from '../../../src/kinds/index.js';
import type { HttpConfig, HttpDeps } from '../../../http/deps.js';
import type { StoredCredential } from '../../../storage/store.js';
import { openHttp, type Http } from '../../../http/server.js';
import { openMapResources, type MapResources } from './map-resources.js';

export interface Call extends Omit<RequestInit, 'headers'> {
  readonly headers?: Readonly<Record<string, string>>;
}

export interface TestApi {
  readonly url: string;
  readonly http: Http;
  readonly resources: MapResources;
  readonly logged: string[];
  readonly health: { active: boolean; missing: string[]; behind: string[] };
  readonly credentials: Map<string, StoredCredential>;
  /** Calls with the Owner's key of org `acme` unless the headers say otherwise. */
  call(path: string, init?: Call): Promise<Response>;
  /** A create of an object that the store takes as it is. */
  make(kind: string, plural: string, name: string, spec?: object, metadata?: object): Promise<Response>;
}

export type TestApiOptions = Partial<Omit<HttpDeps, 'config'>> & {
  readonly limits?: Partial<HttpConfig['limits']>;
  readonly tls?: HttpConfig['tls'];
  readonly config?: Partial<HttpConfig>;
};

export const KEYS = { owner: 'svc_owner-acme', viewer: 'svc_viewer-acme', other: 'svc_owner-globex' };

export const BASE = `/apis/${API_GROUP}/v1`;
export const IN_DEFAULT = `${BASE}/namespaces/default`;
export const AS_TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';

export function bearer(key: string): { authorization: string } {
  return { authorization: `Bearer ${key}` };
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

export function object(kind: string, name: string, project: string, spec: unknown = {}, more: object = {}): ApiObject {
  return {
    apiVersion: kind === 'Namespace' ? 'v1' : `${API_GROUP}/v1`,
    kind,
    metadata: {
      name,
      ...(project === '' ? {} : { namespace: project }),
      uid: `uid-${kind}-${name}`,
      generation: 1,
      creationTimestamp: '2026-01-02T03:04:05Z',
      ...more,
    },
    spec,
    status: {},
  };
}

async function person(resources: MapResources, org: string, name: string, spec: object): Promise<void> {
  const member = object('Member', name, '', { email: `${name}@${org}.test`, ...spec });
  await resources.put({ org, kind: 'Member', project: '', name }, member);
  const key = `${name}-key`;
  await resources.put({ org, kind: 'APIKey', project: '', name: key }, object('APIKey', key, ''));
}

export function credential(org: string, name: string): StoredCredential {
  const address: Address = { org, kind: 'APIKey', project: '', name: `${name}-key` };
  return {
    address,
    uid: `uid-APIKey-${name}-key`,
    detail: { actsAs: { member: name }, scopes: ['*:*', 'operator:*'] },
  };
}

/** Commands of an HTTP server behind which nothing runs; a test gives those that it is about. */
export const NO_COMMANDS: Commands = {
  start: unwired,
  startProcess: unwired,
  processes: unwired,
  writeProcess: unwired,
  signalProcess: unwired,
  readProcess: unwired,
  connect: unwired,
  stay: unwired,
};

function unwired(): never {
  throw new Error('not wired in this test');
}

/** A ledger whose months are all kept. */
export const NO_MONTHS: HttpDeps['ledger']['months'] = {
  ...{ list: async () => [], find: async () => undefined },
  ...{ close: unwired, read: unwired, exported: unwired, detach: unwired },
};

/** A deployment that sells nothing. */
export const NO_PAYMENTS: HttpDeps['payments'] = {
  ...{ processor: undefined, desk: undefined },
  ...{ settle: unwired, landing: unwired, notice: unwired, refund: unwired },
  storageFull: () => undefined,
};

/** A ledger whose sums no test asks for. */
export const NO_SPEND: HttpDeps['ledger']['spend'] = { rows: unwired, rate: unwired };

const LIMITS: HttpConfig['limits'] = {
  bodyBytes: 3 * 1024 * 1024,
  requestSeconds: 10,
  inFlight: { all: 100, org: 100, key: 100 },
  bodyMemoryBytes: 2 ** 30,
  streams: 100,
  streamsPerKey: 100,
  rates: { key: 1_000_000, org: 1_000_000, address: 1_000_000 },
  drainSeconds: 2,
};

export async function openTestApi(
  t: Pick<ExecutionContext, 'teardown'>,
  options: TestApiOptions = {},
): Promise<TestApi> {
  const { limits, tls, config, ...rest } = options;
  const resources = openMapResources();
  await person(resources, 'acme', 'owner', { role: 'Owner' });
  await person(resources, 'acme', 'viewer', { role: 'Viewer', projects: ['default'] });
  await person(resources, 'globex', 'owner', { role: 'Owner' });
  const credentials = new Map([
    [sha256(KEYS.owner), credential('acme', 'owner')],
    [sha256(KEYS.viewer), credential('acme', 'viewer')],
    [sha256(KEYS.other), credential('globex', 'owner')],
  ]);
  const health: TestApi['health'] = { active: true, missing: [], behind: [] };
  const logged: string[] = [];
  const note = (fields: object, message: string): void => {
    logged.push(`${message} ${JSON.stringify(fields)}`);
  };
  const http = await openHttp({
    config: {
      host: '127.0.0.1',
      port: 0,
      group: API_GROUP,
      productVersion: 'v0.1.0',
      tls,
      metricsOpen: true,
      accessLog: false,
      ...config,
      limits: { ...LIMITS, ...limits },
    },
    resources,
    inference: {
      models: unwired,
      find: unwired,
      admit: unwired,
      refused: unwired,
      forward: unwired,
      follow: unwired,
      spool: unwired,
    },
    kinds: KINDS,
    credentials: { find: async (hash) => credentials.get(hash) },
    health: {
      active: () => health.active,
      behind: () => health.behind,
      missing: () => health.missing,
      facts: () => ({ engine: 'none' }),
    },
    logs: { open: unwired },
    commands: NO_COMMANDS,
    files: { read: unwired, list: unwired, write: unwired, remove: unwired, pack: unwired, unpack: unwired },
    outputs: { list: unwired, find: unwired },
    slots: { from: unwired },
    deliveries: { list: unwired, replay: unwired },
    blobs: { put: unwired, head: unwired, get: unwired },
    operators: {
      supervisors: unwired,
      parked: unwired,
      restartSupervisor: unwired,
      actor: unwired,
      restartActor: unwired,
      admissions: unwired,
      ledger: { state: unwired, request: unwired },
      orgs: unwired,
      createOrg: unwired,
      recoverOrg: unwired,
    },
    promotions: { make: unwired, find: unwired, list: unwired, withdraw: unwired, redeem: unwired, finish: unwired },
    events: { list: unwired },
    ledger: { wallet: unwired, entries: unwired, months: NO_MONTHS, spend: NO_SPEND },
    payments: NO_PAYMENTS,
    browserSessionKey: randomBytes(32),
    log: { info: note, warn: note, error: note },
    metrics: new Registry(),
    clock: Date.now,
    randomBytes: (length) => randomBytes(length),
    ...rest,
  });
  t.teardown(() => http.close());
  const url = `http://127.0.0.1:${http.httpPort}`;
  const call: TestApi['call'] = (path, init = {}) =>
    fetch(url + path, {
      ...init,
      headers: { ...bearer(KEYS.owner), ...(init.body ? { 'content-type': 'application/json' } : {}), ...init.headers },
    });
  return {
    url,
    http,
    resources,
    health,
    logged,
    credentials,
    call,
    make: (kind, plural, name, spec = {}, metadata = {}) =>
      call(`${IN_DEFAULT}/${plural}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ apiVersion: `${API_GROUP}/v1`, kind, metadata: { name, ...metadata }, spec }),
      }),
  };
}
