/**
 * The HTTP client of black-box tests: JSON over fetch, with the bearer key. It knows nothing of the service's code,
 * so that a test sees what a user sees.
 */
import { DEFAULT_API_GROUP } from '../../src/brand.js';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; an empty document when it is no JSON. Read with `textAt`, `numberAt` and `listAt`. */
  readonly body: unknown;
}

export interface Ask {
  readonly body?: unknown;
  /** Sent as it is, with `contentType`. */
  readonly raw?: string | Uint8Array | undefined;
  readonly contentType?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** null: no Authorization header. */
  readonly key?: string | null | undefined;
}

export interface Client {
  readonly url: string;
  readonly key: string;
  ask(method: string, path: string, ask?: Ask): Promise<Answer>;
  get(path: string): Promise<Answer>;
  post(path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  put(path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  merge(path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  remove(path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
}

/** An answer that does not come within this is a failure of its own. */
const ANSWER_MS = 30_000;

/** `/apis/svc.dev/v1/namespaces/default/jobs/x`. */
export function path(plural: string, project: string, name = ''): string {
  const tail = name === '' ? '' : `/${name}`;
  return project === ''
    ? `/apis/${DEFAULT_API_GROUP}/v1/${plural}${tail}`
    : `/apis/${DEFAULT_API_GROUP}/v1/namespaces/${project}/${plural}${tail}`;
}

export const API_VERSION = `${DEFAULT_API_GROUP}/v1`;

export function objectOf(kind: string, name: string, spec: unknown, metadata: object = {}): Record<string, unknown> {
  return { apiVersion: API_VERSION, kind, metadata: { name, ...metadata }, spec };
}

export function client(url: string, key: string): Client {
  const ask = async (method: string, to: string, options: Ask = {}): Promise<Answer> => {
    const { body, raw, contentType, headers, signal } = options;
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const bearer = options.key === undefined ? key : options.key;
    const response = await fetch(new URL(to, url), {
      method,
      headers: {
        ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
        ...(sent === undefined ? {} : { 'content-type': contentType ?? 'application/json' }),
        ...headers,
      },
      signal: signal ?? AbortSignal.timeout(ANSWER_MS),
      ...(sent === undefined ? {} : { body: sent }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parsed(text) };
  };
  return {
    url,
    key,
    ask,
    get: (to) => ask('GET', to),
    post: (to, body, headers) => ask('POST', to, { body, headers }),
    put: (to, body, headers) => ask('PUT', to, { body, headers }),
    merge: (to, body, headers) => ask('PATCH', to, { body, headers, contentType: 'application/merge-patch+json' }),
    remove: (to, body, headers) => ask('DELETE', to, { body, headers }),
  };
}

/** A body that is no JSON reads as an empty document. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** What stands at these keys; undefined when any of them is missing. */
export function valueAt(document: unknown, ...keys: readonly string[]): unknown {
  let value = document;
  for (const key of keys) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

/** The text there; empty when there is none. */
export function textAt(document: unknown, ...keys: readonly string[]): string {
  const value = valueAt(document, ...keys);
  return typeof value === 'string' ? value : '';
}

/** The number there, also one that is written as text; NaN when there is none. */
export function numberAt(document: unknown, ...keys: readonly string[]): number {
  const value = valueAt(document, ...keys);
  return typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN;
}

export function listAt(document: unknown, ...keys: readonly string[]): readonly unknown[] {
  const value = valueAt(document, ...keys);
  return Array.isArray(value) ? value : [];
}
