/**
 * The service that tests of the inference data plane share, with upstreams that they play themselves, and how they call it: by the vendors'
 * clients with a base URL and a key, or by plain requests.
 */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { Client as Database } from 'pg';
import { USD } from '../../../src/money/usd.js';
import { objectOf, path, textAt, type Answer, type Client } from '../../e2e/client.js';
import { shareRunning, type Running } from '../../e2e/running.js';
import { until } from '../../e2e/until.js';
import { openCatalog, type TestCatalog } from './catalog.js';
import type { Upstreams } from './upstreams.js';

export const CHAT = '/v1/chat/completions';
export const MESSAGES = '/v1/messages';

export interface Gateway {
  readonly service: Running;
  readonly upstreams: Upstreams;
  readonly owner: Client;
  close(): Promise<void>;
}

let catalog: Promise<TestCatalog> | undefined;
let users = 0;

/** One for all files of a process; each gives its objects names of its own, and answers for upstreams of its own. */
export async function shareGateway(): Promise<Gateway> {
  users += 1;
  catalog ??= openCatalog();
  const { upstreams, env, close } = await catalog;
  const service = await shareRunning(undefined, { env });
  return {
    ...{ service, upstreams, owner: service.client() },
    async close() {
      await service.close();
      users -= 1;
      if (users === 0) await close();
    },
  };
}

export function endpointsIn(project: string): string {
  return path('inferenceendpoints', project);
}

/** For as many requests as there are. */
export const NO_LIMITS = { rpm: 100_000, maxConcurrent: 256 };

/** Answers its uid. */
export async function makeEndpoint(owner: Client, name: string, spec: object, project = 'default'): Promise<string> {
  const made = await owner.post(endpointsIn(project), objectOf('InferenceEndpoint', name, spec));
  if (made.status !== 201) throw new Error(made.text);
  return textAt(made.body, 'metadata', 'uid');
}

/** Answers the key itself. */
export async function makeKey(owner: Client, name: string, spec: object = {}): Promise<string> {
  const made = await owner.post(path('apikeys', ''), objectOf('APIKey', name, spec));
  if (made.status !== 201) throw new Error(made.text);
  return textAt(made.body, 'status', 'key');
}

/** A project of its own, and a key whose calls on the shared base belong to it. */
export async function makeProject(owner: Client, project: string): Promise<string> {
  const made = await owner.post('/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: project },
  });
  if (made.status !== 201) throw new Error(made.text);
  return makeKey(owner, project, { scopes: ['inference:invoke'], projects: [project] });
}

/** A client as a user sets it up: a base URL that ends in the version, and a key. */
export function openaiOf({ url }: Pick<Client, 'url'>, apiKey: string, base = ''): OpenAI {
  return new OpenAI({ baseURL: `${url}${base}/v1`, apiKey });
}

export function anthropicOf({ url }: Pick<Client, 'url'>, apiKey: string, base = ''): Anthropic {
  return new Anthropic({ baseURL: `${url}${base}`, apiKey });
}

export function said(content: string): [{ role: 'user'; content: string }] {
  return [{ role: 'user', content }];
}

/** What Model `echo` is told to do, and what else is said. */
export function told(directive: object, text = ''): [{ role: 'user'; content: string }] {
  return said(`@echo ${JSON.stringify(directive)}\n${text}`);
}

/** A stream as it is read: all of its text so far. */
export interface Reading {
  readonly response: Response;
  text(): string;
  /** Resolves when the connection has ended, however. */
  readonly ended: Promise<'End' | 'Broken'>;
  leave(): void;
}

export async function openStream(
  { url, key }: Pick<Client, 'url' | 'key'>,
  to: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reading> {
  const leaving = new AbortController();
  const response = await fetch(new URL(to, url), {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ ...body, stream: true }),
    signal: leaving.signal,
  });
  let text = '';
  const read = async (): Promise<'End' | 'Broken'> => {
    const decoder = new TextDecoder('utf-8', { fatal: true });
    try {
      for await (const part of response.body ?? []) text += decoder.decode(part, { stream: true });
      return 'End';
    } catch {
      return 'Broken';
    }
  };
  return { response, text: () => text, ended: read(), leave: () => leaving.abort() };
}

export async function inDatabase<T extends object>(
  { databaseUrl }: Pick<Running, 'databaseUrl'>,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly T[]> {
  const database = new Database(databaseUrl);
  await database.connect();
  try {
    return (await database.query<T>(text, [...values])).rows;
  } finally {
    await database.end();
  }
}

/** What requests through an endpoint have been charged, and what is held for them, as the ledger has it (USD). */
export async function ledgerOf(service: Running, uid: string): Promise<{ spent: string; held: string }> {
  const [row] = await inDatabase<{ spent: string | null; held: string | null }>(
    service,
    'SELECT sum(spent_usd)::text AS spent, sum(held_usd)::text AS held FROM counters WHERE counter = $1',
    [`cost/${uid}`],
  );
  return { spent: new USD(row?.spent ?? '0').toFixed(), held: new USD(row?.held ?? '0').toFixed() };
}

/** Once nothing is held for it any more, what it was charged. */
export async function settledCost(service: Running, uid: string): Promise<string> {
  return until(`nothing is held for ${uid}`, async () => {
    const { spent, held } = await ledgerOf(service, uid);
    return Number(held) === 0 ? spent : undefined;
  });
}

export interface Use {
  readonly requests: number;
  readonly errors: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly openHolds: number;
  readonly costUSD: string;
}

export async function usageOf(owner: Client, name: string, project = 'default'): Promise<Use> {
  const { body } = await owner.get(`${endpointsIn(project)}/${name}`);
  return (body as { status: { usage24h: Use } }).status.usage24h;
}

export function statusesOf(answers: readonly Pick<Answer, 'status'>[]): Readonly<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
