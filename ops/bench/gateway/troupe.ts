/**
 * Troupe as the gateway measurements need it: models that the upstream serves, with prices; endpoints with limits and caps; keys that may
 * call them; and a Budget over all. One endpoint takes at most 100,000 requests a minute, so load is spread over several.
 */
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { API_GROUP } from '../../../src/brand.js';
import type { PartContext } from '../figure.js';
import { ask, unexpected } from '../load.js';
import { residentMiB, type Service } from '../service.js';
import { chatBody, inTurn, MODELS, type Chat, type Model, type Target } from './target.js';

/** Out of `dist/ops/bench/gateway` and into the sources. */
const CATALOG = fileURLToPath(new URL('../../../../ops/catalog', import.meta.url));
/** Keys, and endpoints of each model that is measured under load. */
const SPREAD = 8;
const READY_MS = 30_000;
const LOOK_MS = 50;
/** Never reached, and checked with each request. */
const PLENTY = '1000000.00';
const LIMITS = { maxConcurrent: 256, rpm: 100_000, tpm: 1_000_000_000 };

/** In USD per million tokens. Of `late` a request holds exactly what it is charged: how many a cap admits can be said. */
const PRICE: Readonly<Record<Model, object>> = {
  fast: { inputPerMillionTokensUSD: '1.00', outputPerMillionTokensUSD: '2.00' },
  'slow-50': { inputPerMillionTokensUSD: '1.00', outputPerMillionTokensUSD: '2.00' },
  'slow-5': { inputPerMillionTokensUSD: '1.00', outputPerMillionTokensUSD: '2.00' },
  late: { outputPerMillionTokensUSD: '2000.00' },
};

export interface Troupe {
  readonly service: Service;
  readonly target: Target;
  /** An endpoint of its own. */
  addEndpoint(name: string, model: Model, fields: object, labels?: Readonly<Record<string, string>>): Promise<void>;
  addBudget(name: string, fields: object): Promise<void>;
  /** Requests of this endpoint, by each key one. */
  requestsOf(endpoint: string, chat: Chat): readonly Buffer[];
  /** The service goes with the part. */
  close(): Promise<void>;
}

/** `models`: those that load is put on. */
export async function startTroupe(context: PartContext, upstream: number, models: readonly Model[]): Promise<Troupe> {
  const files = await makeFiles(upstream);
  try {
    const env = {
      TROUPE_CATALOG_DIR: files.dir,
      TROUPE_PRICEBOOK: join(files.dir, 'pricebook.yaml'),
      TROUPE_UPSTREAMS: join(files.dir, 'upstreams.yaml'),
      // Endpoints run no compute.
      TROUPE_COMPUTE: 'off',
    };
    const service = await context.fresh({ env });
    const keys = await Promise.all(Array.from({ length: SPREAD }, (_, n) => makeKey(service, n)));
    const callers = keys.map((key) => service.as(key));
    const chatRequest = (caller: Service, endpoint: string, chat: Chat): Buffer =>
      caller.request('POST', `/endpoints/default/${endpoint}/v1/chat/completions`, chatBody(chat, nameOf(chat.model)));
    const pid = Number((await service.lives()).service);
    const troupe: Troupe = {
      service,
      target: {
        name: 'Troupe',
        port: service.port,
        processorSeconds: service.processorSeconds,
        residentMiB: () => residentMiB(pid),
        requests: (chat) => callers.map((caller, n) => chatRequest(caller, `${nameOf(chat.model)}-${n}`, chat)),
      },
      async addEndpoint(name, model, fields, labels) {
        const spec = { model: nameOf(model), limits: LIMITS, maxCostUSD: PLENTY, ...fields };
        await create(service, service.path('inferenceendpoints'), 'InferenceEndpoint', { name, labels }, spec);
        await untilServed(
          service,
          callers.map((caller) => caller.request('GET', `/endpoints/default/${name}/v1/models`)),
        );
      },
      addBudget: (name, fields) =>
        create(service, orgPath('budgets'), 'Budget', { name }, fields).then(() => undefined),
      requestsOf: (endpoint, chat) => callers.map((caller) => chatRequest(caller, endpoint, chat)),
      close: files.remove,
    };
    await troupe.addBudget('all', { limitUSD: PLENTY, action: 'Block' });
    for (const model of models) {
      for (let n = 0; n < SPREAD; n += 1) await troupe.addEndpoint(`${nameOf(model)}-${n}`, model, {});
      await untilServed(service, troupe.target.requests({ model, maxTokens: 1 }));
    }
    return troupe;
  } catch (error) {
    await files.remove();
    throw error;
  }
}

/** Of the Model and, with a number behind it, of its endpoints. */
function nameOf(model: Model): string {
  return `bench-${model}`;
}

export function orgPath(plural: string): string {
  return `/apis/${API_GROUP}/v1/${plural}`;
}

async function makeFiles(upstream: number): Promise<{ readonly dir: string; remove(): Promise<void> }> {
  const dir = await mkdtemp(join(tmpdir(), 'troupe-bench-gateway-'));
  const spec = {
    contextTokens: 131_072,
    maxOutputTokens: 65_536,
    modalities: { input: ['Text'], output: ['Text'] },
    operations: ['/v1/chat/completions'],
    capabilities: { streaming: true },
  };
  const served = MODELS.map((model) => ({ name: nameOf(model), as: model }));
  const entry = { dialect: 'OpenAI', baseURL: `http://127.0.0.1:${upstream}/v1`, maxConcurrent: 4_096, models: served };
  await cp(CATALOG, dir, { recursive: true });
  await change(join(dir, 'models.yaml'), (models) => ({ ...models, ...ofEach(() => spec) }));
  await change(join(dir, 'pricebook.yaml'), (book) => ({
    ...book,
    pricebookVersion: 'bench',
    models: { ...(book['models'] as object), ...ofEach((model) => PRICE[model]) },
  }));
  await writeFile(join(dir, 'upstreams.yaml'), stringify({ upstreams: [{ name: 'local', ...entry }] }));
  return { dir, remove: () => rm(dir, { recursive: true, force: true }) };
}

function ofEach(make: (model: Model) => object): Record<string, object> {
  return Object.fromEntries(MODELS.map((model) => [nameOf(model), make(model)]));
}

async function change(path: string, to: (content: Record<string, unknown>) => object): Promise<void> {
  const content = z.record(z.string(), z.unknown()).parse(parse(await readFile(path, 'utf8')));
  await writeFile(path, stringify(to(content)));
}

const madeKey = z.looseObject({ status: z.looseObject({ key: z.string() }) });

async function makeKey(service: Service, n: number): Promise<string> {
  const spec = { scopes: ['inference:invoke'], projects: ['default'] };
  const made = await create(service, orgPath('apikeys'), 'APIKey', { name: `bench-${n}` }, spec);
  return madeKey.parse(made).status.key;
}

async function create(service: Service, path: string, kind: string, metadata: object, spec: object): Promise<unknown> {
  const body = JSON.stringify({ apiVersion: `${API_GROUP}/v1`, kind, metadata, spec });
  const reply = await ask(service, service.request('POST', path, body));
  if (reply.status !== 201) throw unexpected(reply.status, reply.body, 201);
  return JSON.parse(reply.body.toString('utf8'));
}

/** Resolves when each is answered with 200, one after another. Endpoints and the standing of upstreams come into being a moment after what they are made of. */
async function untilServed(service: Service, requests: readonly Buffer[]): Promise<void> {
  const deadline = performance.now() + READY_MS;
  const request = inTurn(requests);
  for (let n = 0; n < requests.length;) {
    const { status, body } = await ask(service, request(n));
    if (status === 200) n += 1;
    else if (performance.now() > deadline) throw unexpected(status, body, 200);
    else await sleep(LOOK_MS);
  }
}
