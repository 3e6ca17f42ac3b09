/** Raises each code that the service can answer with so far over HTTP: against a whole service, or against its HTTP layers alone. */
import { Client as Database } from 'pg';
import { openCommands } from '../../actors/work/commands.js';
import { openFiles } from '../../actors/work/files/open.js';
import type { AttachDeps } from '../../actors/work/attach.js';
import { printProcessId } from '../../http/routes/process-id.js';
import { encodeObject } from '../../src/api/encode.js';
import type { ErrorCode } from '../../src/api/errors/codes.js';
import { client as clientOf, objectOf, path, textAt, type Answer, type Client } from '../e2e/client.js';
import type { Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { BLOB_BYTES, BODY_BYTES } from '../faults/restarted.js';
import {
  BASE,
  IN_DEFAULT,
  object as stored,
  openTestApi,
  type TestApi,
  type TestApiOptions,
} from '../http/support/test-api.js';

const ACCOUNTS = path('serviceaccounts', 'default');
const SECRETS = path('secrets', 'default');
const JOBS = path('jobs', 'default');
const BLOBS = path('blobs', 'default');
const SANDBOXES = path('sandboxes', 'default');

export type Raise = (service: Running, client: Client) => Promise<Answer>;

const FAILED = encodeObject({
  apiVersion: 'svc.dev/v1',
  kind: 'Sandbox',
  metadata: { name: 'a', namespace: 'default', uid: 'u', generation: 1, creationTimestamp: '2026-01-02T03:04:05Z' },
  spec: {},
  status: { phase: 'Failed', reason: 'StartupFailed' },
});
const STARTING = encodeObject({
  apiVersion: 'svc.dev/v1',
  kind: 'Workspace',
  metadata: { name: 'a', namespace: 'default', uid: 'u', generation: 1, creationTimestamp: '2026-01-02T03:04:05Z' },
  spec: {},
  status: { phase: 'Starting' },
});
const RUNNING = encodeObject({
  apiVersion: 'svc.dev/v1',
  kind: 'Sandbox',
  metadata: { name: 'a', namespace: 'default', uid: 'u', generation: 1, creationTimestamp: '2026-01-02T03:04:05Z' },
  spec: {},
  status: { phase: 'Running', attempt: { name: 'a-1', epoch: 1 } },
});
/** Its disk has one byte. */
const TINY = {
  kinds: [{ kind: 'Sandbox', workPlan: () => ({ amounts: { disk: 1 } }) }],
  engine: {},
  activity: { begin: () => () => undefined },
  now: Date.now,
} as unknown as AttachDeps;
const NO_COMMANDS = { kinds: [], engine: undefined, now: Date.now } as unknown as AttachDeps;
/** Asks for a link to a tool of a Workspace that has only SSH among its tools, and no keys. */
async function linkTo(api: TestApi, tool: string): Promise<Response> {
  const workspace = stored('Workspace', 'a', 'default', { tools: ['SSH'] });
  await api.resources.put({ org: 'acme', kind: 'Workspace', project: 'default', name: 'a' }, workspace);
  return api.call(`${IN_DEFAULT}/workspaces/a/tools/${tool}/links`, { method: 'POST' });
}

let names = 0;
const fresh = (): string => `e${(names += 1)}`;

async function made(client: Client, to: string, object: unknown): Promise<Answer> {
  const answer = await client.post(to, object);
  if (answer.status !== 201) throw new Error(answer.text);
  return answer;
}

/** A client of a new org that pays in advance, with so much on its wallet. */
async function prepaidOrg(service: Running, client: Client, balance: string, disputed = false): Promise<Client> {
  const answer = await made(client, '/ops/v1/orgs', { name: fresh() });
  const database = new Database({ connectionString: service.databaseUrl });
  await database.connect();
  try {
    await database.query(
      `INSERT INTO money_orgs (org, mode, mode_sequence, wallet_usd, disputed) VALUES ($1, 'Prepaid', 1, $2, $3)`,
      [textAt(answer.body, 'org'), balance, disputed],
    );
  } finally {
    await database.end();
  }
  return clientOf(service.url, textAt(answer.body, 'key'));
}

async function account(client: Client): Promise<string> {
  const name = fresh();
  await made(client, ACCOUNTS, objectOf('ServiceAccount', name, {}));
  return `${ACCOUNTS}/${name}`;
}

async function promoCode(client: Client): Promise<string> {
  const code = `code-${fresh()}`;
  await made(client, '/ops/v1/promocodes', { code, amountUSD: '1' });
  return code;
}

async function job(client: Client, completions: number): Promise<string> {
  const name = fresh();
  await made(client, JOBS, objectOf('Job', name, { command: ['true'], completions }));
  return `${JOBS}/${name}`;
}

/** Asks a new Sandbox to run something until this is why it cannot. */
async function commandIn(client: Client, spec: object, reason: ErrorCode): Promise<Answer> {
  const name = fresh();
  await made(client, SANDBOXES, objectOf('Sandbox', name, { image: 'svc/agent-tools', ...spec }));
  return until(reason, async () => {
    const answer = await client.post(`${SANDBOXES}/${name}/exec`, { command: ['true'] });
    if (textAt(answer.body, 'reason') !== reason) throw new Error(answer.text);
    return answer;
  });
}

/** Of a whole service. */
export const RAISED: Readonly<Partial<Record<ErrorCode, Raise>>> = {
  async AdmissionsPaused(_service, client) {
    await client.post('/ops/v1/admissions', { paused: true });
    try {
      return await client.post(JOBS, objectOf('Job', fresh(), { command: ['true'] }));
    } finally {
      await client.post('/ops/v1/admissions', { paused: false });
    }
  },
  async AlreadyExists(_service, client) {
    const to = await account(client);
    return client.post(ACCOUNTS, objectOf('ServiceAccount', to.slice(ACCOUNTS.length + 1), {}));
  },
  BadRequest: (_service, client) => client.ask('POST', ACCOUNTS, { raw: '{"kind":', contentType: 'application/json' }),
  async Conflict(_service, client) {
    const to = await account(client);
    const name = to.slice(ACCOUNTS.length + 1);
    return client.put(to, objectOf('ServiceAccount', name, { description: 'b' }, { resourceVersion: '1' }));
  },
  async BudgetExceeded(_service, client) {
    const project = fresh();
    await made(client, '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: project } });
    const spec = { limitUSD: '0.000000001', scope: { project } };
    await made(client, path('budgets', ''), objectOf('Budget', fresh(), spec));
    return client.post(path('jobs', project), objectOf('Job', fresh(), { command: ['true'] }));
  },
  async ArrearsOutstanding(service, client) {
    const paying = await prepaidOrg(service, client, '-1');
    return paying.post(JOBS, objectOf('Job', fresh(), { command: ['true'] }));
  },
  async InsufficientCredits(service, client) {
    const paying = await prepaidOrg(service, client, '0');
    return paying.post(JOBS, objectOf('Job', fresh(), { command: ['true'] }));
  },
  /** The stored answer was damaged, so that the same request cannot be answered again. */
  async EncryptionFailed(service, client) {
    const key = { 'idempotency-key': fresh() };
    const body = { expiresIn: '1h' };
    await client.post(`${await account(client)}/tokens`, body, key);
    const database = new Database({ connectionString: service.databaseUrl });
    await database.connect();
    try {
      const { rows } = await database.query<{ path: string }>(
        `UPDATE idempotency SET response = set_byte(response, length(response) - 1, get_byte(response, length(response) - 1) # 1)
         WHERE response IS NOT NULL AND key = $1 RETURNING key AS path`,
        [key['idempotency-key']],
      );
      if (rows.length !== 1) throw new Error(`${rows.length} answers are kept`);
    } finally {
      await database.end();
    }
    return client.post(`${ACCOUNTS}/e${names}/tokens`, body, key);
  },
  async FieldImmutable(_service, client) {
    const name = fresh();
    await made(client, SECRETS, objectOf('Secret', name, { type: 'Opaque' }));
    return client.merge(`${SECRETS}/${name}`, { spec: { type: 'Registry' } });
  },
  async Forbidden(_service, client) {
    const key = await made(client, path('apikeys', ''), objectOf('APIKey', fresh(), { scopes: ['jobs:read'] }));
    return client.ask('POST', ACCOUNTS, {
      body: objectOf('ServiceAccount', fresh(), {}),
      key: textAt(key.body, 'status', 'key'),
    });
  },
  async IdempotencyKeyReused(_service, client) {
    const key = { 'idempotency-key': fresh() };
    await client.post(ACCOUNTS, objectOf('ServiceAccount', fresh(), {}), key);
    return client.post(ACCOUNTS, objectOf('ServiceAccount', fresh(), {}), key);
  },
  Invalid: (_service, client) => client.post(JOBS, objectOf('Job', fresh(), { command: ['true'], completions: 0 })),
  MethodNotAllowed: (_service, client) => client.put(ACCOUNTS, objectOf('ServiceAccount', fresh(), {})),
  NotFound: (_service, client) => client.get(`${ACCOUNTS}/nobody`),
  OutputIndexRequired: async (_service, client) => client.get(`${await job(client, 2)}/logs`),
  OutputNotFound: async (_service, client) => client.get(`${await job(client, 1)}/outputs/nothing`),
  async PreconditionFailed(_service, client) {
    const to = await account(client);
    return client.merge(to, { spec: { description: 'b' } }, { 'if-match': '"1"' });
  },
  async PaymentDisputed(service, client) {
    const paying = await prepaidOrg(service, client, '100', true);
    return paying.post(JOBS, objectOf('Job', fresh(), { command: ['true'] }));
  },
  PaymentMethodRequired: (_service, client) =>
    client.merge(path('wallet', ''), {
      autoRecharge: { enabled: true, belowUSD: '5.00', amountUSD: '10.00', monthlyLimitUSD: '20.00' },
    }),
  PriceConsentRequired: (_service, client) =>
    client.post(
      path('jobs', 'default'),
      objectOf('Job', fresh(), { command: ['true'], placement: { maxRateUSDPerHour: '0.00' } }),
    ),
  async TopUpLimitReached(_service, client) {
    for (let n = 0; n < 5; n++)
      await made(client, path('topups', ''), objectOf('TopUp', fresh(), { amountUSD: '5.00' }));
    return client.post(path('topups', ''), objectOf('TopUp', fresh(), { amountUSD: '5.00' }));
  },
  async PromoCodeExpired(_service, client) {
    const code = await promoCode(client);
    await client.remove(`/ops/v1/promocodes/${code}`);
    return client.post(path('wallet/redemptions', ''), { code });
  },
  async PromoCodeUsed(_service, client) {
    const code = await promoCode(client);
    await made(client, path('wallet/redemptions', ''), { code });
    return client.post(path('wallet/redemptions', ''), { code });
  },
  QuotaExceeded: (_service, client) =>
    client.ask('POST', BLOBS, { raw: new Uint8Array(BLOB_BYTES + 1), contentType: 'application/octet-stream' }),
  RequestEntityTooLarge: (_service, client) =>
    client.ask('POST', ACCOUNTS, { raw: `"${'a'.repeat(BODY_BYTES)}"`, contentType: 'application/json' }),
  SHA256Mismatch: (_service, client) =>
    client.ask('POST', BLOBS, {
      raw: 'bytes',
      contentType: 'application/octet-stream',
      headers: { 'x-content-sha256': '0'.repeat(64) },
    }),
  SandboxNotRunning: (_service, client) => commandIn(client, { state: 'Stopped' }, 'SandboxNotRunning'),
  /** It waits for a machine that nobody has. */
  SandboxStarting: (_service, client) => commandIn(client, { resources: { cpu: '100000' } }, 'SandboxStarting'),
  async SecretValueInEnv(_service, client) {
    const name = fresh();
    await made(client, SECRETS, objectOf('Secret', name, { stringData: { TOKEN: 'correct-horse-battery-staple' } }));
    const env = [{ name: 'PLAIN', value: 'correct-horse-battery-staple' }];
    return client.post(JOBS, objectOf('Job', fresh(), { command: ['true'], secrets: [{ name }], env }));
  },
  Unauthorized: (_service, client) => client.ask('GET', ACCOUNTS, { key: null }),
  Unsupported: (_service, client) =>
    client.post(JOBS, objectOf('Job', fresh(), { command: ['true'], resources: { gpu: { count: 1 } } })),
  UnsupportedMediaType: (_service, client) => client.ask('POST', ACCOUNTS, { raw: 'x', contentType: 'text/plain' }),
};

type Teardown = Parameters<typeof openTestApi>[0];

interface AtDoor {
  readonly options?: TestApiOptions;
  raise(api: TestApi): Promise<Response>;
}

const ONE = { method: 'POST', headers: { 'content-type': 'application/json' } } as const;

/** What needs a clock, a crowd or a fault: by the HTTP layers alone. */
export const RAISED_AT_DOOR: Readonly<Partial<Record<ErrorCode, AtDoor>>> = {
  Expired: {
    async raise(api) {
      for (const name of ['a', 'b', 'c']) await api.make('Secret', 'secrets', name);
      const page = (await (await api.call(`${IN_DEFAULT}/secrets?limit=1`)).json()) as {
        readonly metadata: { readonly continue: string };
      };
      api.resources.compact(api.resources.version() + 1);
      return api.call(`${IN_DEFAULT}/secrets?limit=1&continue=${page.metadata.continue}`);
    },
  },
  FileTooLarge: {
    options: { files: openFiles({ ...TINY, read: async () => RUNNING }) },
    raise: (api) => api.call(`${IN_DEFAULT}/sandboxes/a/files?path=/a`, { method: 'PUT', body: 'too much' }),
  },
  InternalError: {
    options: {
      events: {
        async list() {
          throw new Error('a fault of our own');
        },
      },
    },
    raise: (api) => api.call(`${BASE}/events`),
  },
  RequestInProgress: {
    async raise(api) {
      const release = api.resources.hold();
      const body = JSON.stringify({ apiVersion: BASE.slice('/apis/'.length), kind: 'Secret', metadata: { name: 'a' } });
      const send = (): Promise<Response> =>
        api.call(`${IN_DEFAULT}/secrets`, { ...ONE, headers: { ...ONE.headers, 'idempotency-key': 'k' }, body });
      const first = send();
      while (api.resources.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
      const second = await send();
      release();
      await first;
      return second;
    },
  },
  /** Nothing runs here, so one that has failed is shown to the part that looks at it. */
  SandboxFailed: {
    options: {
      commands: openCommands({ ...NO_COMMANDS, read: async () => FAILED }),
    },
    raise: (api) => api.call(`${IN_DEFAULT}/sandboxes/a/exec`, { ...ONE, body: '{"command":["true"]}' }),
  },
  /** A process that reads nothing. */
  StdinBackpressure: {
    options: { commands: { ...openCommands(NO_COMMANDS), writeProcess: async () => 'Full' } },
    raise: (api) =>
      api.call(`${IN_DEFAULT}/sandboxes/a/processes/${printProcessId({ uid: 'u', epoch: 1, id: 'p' })}/stdin`, {
        ...ONE,
        body: 'x',
      }),
  },
  TooManyRequests: {
    options: { limits: { rates: { key: 1, org: 1, address: 1_000_000 } } },
    async raise(api) {
      const burst = await Promise.all(Array.from({ length: 50 }, () => api.call(`${IN_DEFAULT}/secrets`)));
      return burst.find(({ status }) => status === 429) ?? burst[0] ?? Response.error();
    },
  },
  NoSSHKey: { raise: (api) => linkTo(api, 'ssh') },
  WorkspaceToolUnavailable: { raise: (api) => linkTo(api, 'jupyter') },
  WorkspaceStarting: {
    options: { commands: openCommands({ ...NO_COMMANDS, read: async () => STARTING }) },
    raise: (api) => api.call(`${IN_DEFAULT}/workspaces/a/exec`, { ...ONE, body: '{"command":["true"]}' }),
  },
  Unavailable: {
    async raise(api) {
      api.health.active = false;
      return api.call(`${IN_DEFAULT}/secrets`);
    },
  },
};

export async function raiseAtApi(t: Teardown, { options, raise }: AtDoor): Promise<Response> {
  return raise(await openTestApi(t, options));
}

/** Codes that stand in the source and that no request can bring about yet. */
export const NOT_RAISED: ReadonlyMap<string, string> = new Map([
  ['PaymentVerificationUnavailable', 'by a processor that is away: test/actors/payments/availability.test.ts'],
  ['PaymentsNotConfigured', 'by a setting: test/actors/payments/availability.test.ts'],
  ['CapacityUnavailable', 'in the dialects of models alone: test/inference/upstreams.test.ts'],
]);
