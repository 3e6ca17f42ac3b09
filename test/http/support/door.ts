/** Owns a front door over a MapStage for tests: one org with an Owner, a Viewer of one project, and a second org. */
import { randomBytes } from 'node:crypto';
import { createHash } from 'node:crypto';
import { Registry } from 'prom-client';
import type { ExecutionContext } from 'ava';
import { API_GROUP } from '../../../src/brand.js';
import type { ApiObject } from '../../../src/api/object.js';
import type { KindDefinition } from '../../../src/kinds/kind.js';
import { KINDS } from '../../../src/kinds/index.js';
import type { Address } from '../../../src/api/address.js';
import type { FoundCredential, HttpDeps } from '../../../http/deps.js';
import { openHttp, type Http } from '../../../http/server.js';
import { openMapStage, type MapStage } from './map-stage.js';

export interface Door {
  readonly url: string;
  readonly http: Http;
  readonly stage: MapStage;
  readonly logged: string[];
  health: { active: boolean; missing: string[] };
  /** Calls with the Owner's key of org `acme` unless the headers say otherwise. */
  call(path: string, init?: RequestInit): Promise<Response>;
}

export const KEYS = { owner: 'svc_owner-acme', viewer: 'svc_viewer-acme', other: 'svc_owner-globex' } as const;

export function bearer(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` };
}

export function object(
  kind: string,
  name: string,
  project: string,
  spec: unknown,
  more: Partial<ApiObject['metadata']> = {},
): ApiObject {
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

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

async function person(stage: MapStage, org: string, name: string, spec: Record<string, unknown>): Promise<void> {
  await stage.put(
    { org, kind: 'Member', project: '', name },
    object('Member', name, '', { email: `${name}@${org}.test`, ...spec }),
  );
  await stage.put({ org, kind: 'APIKey', project: '', name: `${name}-key` }, object('APIKey', `${name}-key`, '', {}));
}

function credential(org: string, name: string): FoundCredential {
  const address: Address = { org, kind: 'APIKey', project: '', name: `${name}-key` };
  return { address, uid: `uid-APIKey-${name}-key`, detail: { actsAs: { member: name }, scopes: ['*:*'] } };
}

export async function openDoor(
  t: ExecutionContext,
  more: Partial<HttpDeps> & {
    kinds?: readonly KindDefinition[];
    limits?: Partial<HttpDeps['config']['limits']>;
    tls?: HttpDeps['config']['tls'];
  } = {},
): Promise<Door> {
  const stage = openMapStage();
  await person(stage, 'acme', 'owner', { role: 'Owner' });
  await person(stage, 'acme', 'viewer', { role: 'Viewer', projects: ['default'] });
  await person(stage, 'globex', 'owner', { role: 'Owner' });
  const credentials = new Map([
    [sha256(KEYS.owner), credential('acme', 'owner')],
    [sha256(KEYS.viewer), credential('acme', 'viewer')],
    [sha256(KEYS.other), credential('globex', 'owner')],
  ]);
  const health = { active: true, missing: [] as string[] };
  const logged: string[] = [];
  const note = (fields: object, message: string): void => {
    logged.push(`${message} ${JSON.stringify(fields)}`);
  };
  const unwired = (): never => {
    throw new Error('not wired in this test');
  };
  const { limits, tls, ...rest } = more;
  const deps: HttpDeps = {
    config: {
      host: '127.0.0.1',
      port: 0,
      group: API_GROUP,
      productVersion: 'v0.1.0',
      tls,
      limits: {
        bodyBytes: 3 * 1024 * 1024,
        requestSeconds: 10,
        inFlightRequests: 100,
        streams: 100,
        drainSeconds: 2,
        ...limits,
      },
    },
    stage,
    kinds: KINDS,
    credentials: { find: async (hash) => credentials.get(hash) },
    health: { active: () => health.active, stuck: () => undefined, missing: () => health.missing, facts: () => ({}) },
    logs: { open: unwired },
    outputs: { list: unwired, find: unwired },
    blobs: { put: unwired, head: unwired, get: unwired },
    operators: {
      supervisors: unwired,
      restartSupervisor: unwired,
      actor: unwired,
      restartActor: unwired,
      admissions: unwired,
      orgs: unwired,
      createOrg: unwired,
    },
    events: { list: unwired },
    log: { info: note, warn: note, error: note },
    metrics: new Registry(),
    clock: Date.now,
    randomBytes: (length) => randomBytes(length),
    ...rest,
  };
  const http = await openHttp(deps);
  t.teardown(() => http.close());
  const url = `http://127.0.0.1:${http.httpPort}`;
  return {
    url,
    http,
    stage,
    health,
    logged,
    call: (path, init = {}) =>
      fetch(url + path, { ...init, headers: { ...bearer(KEYS.owner), ...(init.headers as object) } }),
  };
}
