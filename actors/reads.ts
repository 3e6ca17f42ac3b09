/**
 * Owns reads of the front door: single objects and lists. Keys and versions always come from Postgres, bodies from the
 * cache where its version is the listed one; so a list is one exact snapshot, sees every acknowledged write, and holds
 * no more than a chunk of bodies in memory.
 */
import type { Address } from '../src/api/address.js';
import type { KeyRange, ObjectKey, Objects, StoredObject } from '../storage/store.js';
import { refuse } from '../src/api/refusal.js';
import type { ObjectCache } from './cache.js';
import type { ListPage, PageRequest } from './stage.js';

export interface ReadDeps {
  readonly cache: ObjectCache;
  readonly objects: Objects;
}

/** Bodies fetched and handed on at once: about 1 MiB of 2 KB objects. */
const CHUNK = 500;

export async function readObject(address: Address, deps: ReadDeps): Promise<Buffer | undefined> {
  const cached = deps.cache.get(address);
  if (cached) return cached.body;
  const begun = deps.cache.version();
  const stored = await deps.objects.read(address);
  if (stored) deps.cache.fill(stored, begun);
  return stored?.body;
}

export async function listObjects(request: PageRequest, deps: ReadDeps): Promise<ListPage> {
  const range: KeyRange = {
    org: request.range.org,
    kind: request.range.kind.kind,
    project: request.range.project,
    name: request.range.name,
    after: request.after,
    limit: request.limit,
  };
  if (request.version !== undefined) return olderPage(range, request.version, deps);
  const { version, keys } = await deps.objects.keys(range);
  return { version, count: keys.length, items: bodies(range, version, keys, request.signal, deps) };
}

/** Every object of the range, as it is now. */
export async function* searchObjects(
  range: KeyRange,
  signal: AbortSignal,
  deps: ReadDeps,
): AsyncGenerator<readonly Buffer[]> {
  const { version, keys } = await deps.objects.keys(range);
  yield* bodies(range, version, keys, signal, deps);
}

async function* bodies(
  range: KeyRange,
  version: number,
  keys: readonly ObjectKey[],
  signal: AbortSignal,
  deps: ReadDeps,
): AsyncGenerator<readonly Buffer[]> {
  for (let i = 0; i < keys.length && !signal.aborted; i += CHUNK) {
    yield await chunk(range, version, keys.slice(i, i + CHUNK), deps);
  }
}

async function chunk(
  range: KeyRange,
  version: number,
  keys: readonly ObjectKey[],
  deps: ReadDeps,
): Promise<readonly Buffer[]> {
  const { org, kind } = range;
  const found = new Map<ObjectKey, Buffer>();
  const missing: ObjectKey[] = [];
  for (const key of keys) {
    const cached = deps.cache.get({ org, kind, project: key.project, name: key.name });
    if (cached?.version === key.version) found.set(key, cached.body);
    else missing.push(key);
  }
  if (missing.length > 0) {
    const begun = deps.cache.version();
    const rows = new Map((await deps.objects.readMany(org, kind, missing)).map((row) => [nameOf(row.address), row]));
    for (const key of missing) {
      const body = await bodyAt(range, version, key, rows.get(nameOf(key)), begun, deps);
      if (body) found.set(key, body);
    }
  }
  return keys.flatMap((key) => found.get(key) ?? []);
}

/** The listed state of one object, also when it changed while the list was on its way. */
async function bodyAt(
  range: KeyRange,
  version: number,
  key: ObjectKey,
  row: StoredObject | undefined,
  begun: number,
  deps: ReadDeps,
): Promise<Buffer | undefined> {
  if (row?.version === key.version) {
    deps.cache.fill(row, begun);
    return row.body;
  }
  const one = { org: range.org, kind: range.kind, project: key.project, name: key.name };
  const page = await deps.objects.pageAt(one, version);
  if (page.outcome === 'Expired') throw expired(version);
  return page.objects[0]?.body;
}

async function olderPage(range: KeyRange, version: number, deps: ReadDeps): Promise<ListPage> {
  const page = await deps.objects.pageAt(range, version);
  if (page.outcome === 'Expired') throw expired(version);
  async function* items(objects: readonly StoredObject[]): AsyncGenerator<readonly Buffer[]> {
    for (let i = 0; i < objects.length; i += CHUNK) yield objects.slice(i, i + CHUNK).map(({ body }) => body);
  }
  return { version, count: page.objects.length, items: items(page.objects) };
}

function expired(version: number): Error {
  return refuse('Expired', `version ${version} is no longer kept; list again without a version`);
}

function nameOf({ project, name }: { readonly project: string; readonly name: string }): string {
  return `${project}/${name}`;
}
