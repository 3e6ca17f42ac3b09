/**
 * A walk through the service that hands it every kind of secret, in the right places and in wrong ones, and what
 * must not be found afterwards. Answers are judged as they come: only those that show a secret once may hold it.
 */
import { randomBytes } from 'node:crypto';
import { type Answer, type Ask, type Client, objectOf, path, textAt } from '../e2e/client.js';
import type { Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';

export const SECRETS = path('secrets', 'default');
export const JOBS = path('jobs', 'default');
const KEYS = path('apikeys', '');
const ACCOUNTS = path('serviceaccounts', 'default');
const ENDPOINTS = path('webhookendpoints', '');

/** Secrets by what they are: name → value. */
export type Known = Map<string, string>;

/** A value that is found nowhere by chance, and survives JSON and URLs as it is. */
export function newValue(what: string): string {
  return `${what}-${randomBytes(12).toString('hex')}`;
}

/** Names of the secrets that stand in a text, plainly or in a usual form. */
export function leaks(text: string, known: Known): readonly string[] {
  return [...known].flatMap(([what, value]) => {
    const bytes = Buffer.from(value);
    const forms = [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value), bytes.toString('hex')];
    // Base64 without what depends on its neighbours.
    forms.push(bytes.toString('base64').slice(0, -4), bytes.toString('base64url').slice(0, -4));
    return forms.some((form) => text.includes(form)) ? [what] : [];
  });
}

export interface Tour {
  readonly known: Known;
  /** Answers that held what they must not, as `POST /path: opaque`. */
  readonly found: string[];
  ask(method: string, to: string, ask?: Ask): Promise<Answer>;
  /** The answer may show secrets: it is the one that made them. */
  reveal(method: string, to: string, body: unknown): Promise<Answer>;
}

export function openTour(client: () => Client, known: Known): Tour {
  const found: string[] = [];
  return {
    known,
    found,
    async ask(method, to, ask) {
      const answer = await client().ask(method, to, ask);
      const said = `${answer.text}\n${JSON.stringify([...answer.headers])}`;
      for (const what of leaks(said, known)) found.push(`${method} ${to}: ${what}`);
      return answer;
    },
    async reveal(method, to, body) {
      const answer = await client().ask(method, to, { body });
      if (answer.status >= 300) throw new Error(answer.text);
      return answer;
    },
  };
}

function learn(known: Known, what: string, value: string): void {
  if (value === '') throw new Error(`no ${what} was shown`);
  known.set(what, value);
}

/** Makes one of everything that holds a secret. */
export async function make({ known, ask, reveal }: Tour): Promise<void> {
  const first = { stringData: { FIRST: given(known, 'text'), LINES: given(known, 'lines') } };
  await ask('POST', SECRETS, { body: objectOf('Secret', 'mounted', first) });
  const data = { data: { BYTES: Buffer.from(given(known, 'bytes')).toString('base64') } };
  await ask('PATCH', `${SECRETS}/mounted`, { body: { spec: data }, contentType: 'application/merge-patch+json' });

  const keyed = await reveal('POST', KEYS, objectOf('APIKey', 'shown-once', { scopes: ['jobs:read'] }));
  learn(known, 'API key', textAt(keyed.body, 'status', 'key') || textAt(keyed.body, 'status', 'token'));
  await ask('POST', ACCOUNTS, { body: objectOf('ServiceAccount', 'worker', { scopes: ['jobs:read'] }) });
  const token = await reveal('POST', `${ACCOUNTS}/worker/tokens`, {});
  learn(known, 'token', textAt(token.body, 'status', 'token'));
  const org = await reveal('POST', '/ops/v1/orgs', { name: 'another' });
  learn(known, "another org's key", textAt(org.body, 'key'));
  // Nobody answers there, and nobody may be asked there: the failing attempts have to tell without telling.
  const hook = objectOf('WebhookEndpoint', 'hook', { url: 'https://nobody.invalid/hook' });
  const made = await reveal('POST', ENDPOINTS, hook);
  learn(known, 'signing secret', textAt(made.body, 'status', 'signingSecret'));
  const rotated = await reveal('POST', `${ENDPOINTS}/hook/rotations`, {});
  learn(known, 'new signing secret', textAt(rotated.body, 'status', 'signingSecret'));
}

/** Jobs that are given secrets: one ends well, one fails, one cannot start, one is refused. */
export async function work({ known, ask }: Tour): Promise<void> {
  const resources = { cpu: '50m', memory: '64Mi', disk: '16Mi' };
  const jobs = {
    good: { command: ['sh', '-c', 'test -n "$FIRST" && test -s /run/secrets/LINES'], secrets: ['mounted'], resources },
    bad: { command: ['sh', '-c', 'exit 3'], secrets: ['mounted'], backoffLimit: 0, resources },
    lost: { command: ['/nowhere'], secrets: ['mounted'], backoffLimit: 0, resources },
  };
  for (const [name, spec] of Object.entries(jobs)) await ask('POST', JOBS, { body: objectOf('Job', name, spec) });
  const env = [{ name: 'PLAIN', value: `x${given(known, 'text')}` }];
  const plain = await ask('POST', JOBS, {
    body: objectOf('Job', 'plain', { command: ['true'], secrets: ['mounted'], env }),
  });
  if (textAt(plain.body, 'reason') !== 'SecretValueInEnv') throw new Error(plain.text);
  for (const name of Object.keys(jobs)) {
    const wanted = name === 'good' ? 'Succeeded' : 'Failed';
    await until(
      `${name} has ${wanted}`,
      async () => textAt((await ask('GET', `${JOBS}/${name}`)).body, 'status', 'phase') === wanted,
      60_000,
    );
    await ask('GET', `${JOBS}/${name}/logs`);
  }
}

/** Requests that are wrong, with a secret in what is wrong about them. */
export async function stumble(tour: Tour): Promise<void> {
  const { known, ask } = tour;
  const text = given(known, 'text');
  const token = known.get('token') ?? '';
  const raws: readonly (readonly [raw: string, contentType: string])[] = [
    [`{"kind":"Secret","spec":{"stringData":{"A":"${text}"}`, 'application/json'],
    [`{"kind":"Secret","spec":{"stringData":{"A":${text}}}}`, 'application/json'],
    [`kind: Secret\nspec: {stringData: {A: [${text}\n: b`, 'application/yaml'],
    [`A=${text}`, 'application/x-www-form-urlencoded'],
    [JSON.stringify(objectOf('Secret', 'x', { stringData: { A: text } })), 'text/plain'],
    [`\0${text}`, 'application/vnd.kubernetes.protobuf'],
  ];
  for (const [raw, contentType] of raws) await ask('POST', SECRETS, { raw, contentType });
  const specs: readonly object[] = [
    { stringData: { A: [text] } },
    { stringData: { 'not a key!': text } },
    { stringData: text },
    { data: { A: `${text}!` } },
    { type: 'Registry', stringData: { A: text } },
    { stringData: { A: text }, data: { A: text } },
    { immutable: text },
  ];
  for (const spec of specs) {
    for (const query of ['', '?fieldValidation=Strict', '?dryRun=All']) {
      await ask('POST', SECRETS + query, { body: objectOf('Secret', 'wrong', spec) });
    }
    await ask('PATCH', `${SECRETS}/mounted`, { body: { spec }, contentType: 'application/merge-patch+json' });
  }
  const patch = [{ op: 'test', path: '/spec/stringData/FIRST', value: text }];
  await ask('PATCH', `${SECRETS}/mounted`, { body: patch, contentType: 'application/json-patch+json' });
  await ask('PUT', `${SECRETS}/mounted`, { body: objectOf('Secret', 'other', { stringData: { A: text } }) });

  for (const key of [text, `${token}x`, token.slice(0, -1), `svc_${text}`]) await ask('GET', JOBS, { key });
  for (const header of ['authorization', 'proxy-authorization', 'cookie', 'idempotency-key', 'if-match', 'x-api-key']) {
    for (const sent of [text, `Basic ${Buffer.from(text).toString('base64')}`]) {
      await ask('POST', SECRETS, { key: null, headers: { [header]: sent }, body: {} });
      await ask('GET', SECRETS, { headers: header === 'authorization' ? {} : { [header]: sent } });
    }
  }
  // What stands in an address is said back by some refusals: it must only not be kept.
  const { found } = tour;
  const before = found.length;
  for (const query of [`token=${token}`, `access_token=${token}`, `fieldSelector=${text}`, `labelSelector=a=${text}`]) {
    await ask('GET', `${JOBS}?${query}`);
    await ask('GET', `/ops/v1/orgs?${query}`);
    await ask('GET', `/nowhere?${query}`);
  }
  found.length = before;
}

/** Everything that may be read, the streams among it. */
export async function readAll({ ask }: Tour, service: Running): Promise<void> {
  for (const plural of ['secrets', 'jobs', 'attempts', 'serviceaccounts', 'agentruns', 'volumes']) {
    const at = path(plural, 'default');
    for (const to of [at, `${at}?watch=true&timeoutSeconds=1`]) await ask('GET', to);
    await ask('GET', at, { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } });
  }
  for (const plural of ['apikeys', 'members', 'webhookendpoints', 'nodes', 'offerings'])
    await ask('GET', path(plural, ''));
  await ask('GET', `${path('events', '')}?limit=1000`);
  await ask('GET', `${path('events', 'default')}?limit=1000`);
  await ask('GET', `${ENDPOINTS}/hook/deliveries`);
  for (const to of ['orgs', 'supervisors', 'supervisors/Secret', 'supervisors/Secret/parked', 'admissions']) {
    await ask('GET', `/ops/v1/${to}`);
  }
  for (const to of ['/metrics', '/readyz', '/livez', '/version', '/openapi.json', '/docs/errors/Unauthorized']) {
    await ask('GET', new URL(to, service.url).pathname);
  }
}

function given(known: Known, what: string): string {
  const found = known.get(what);
  if (found === undefined) throw new Error(`no value ${what}`);
  return found;
}
