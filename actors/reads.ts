/**
 * Reads for HTTP and admission: single objects and lists. Keys and versions always come from Postgres, bodies from the
 * cache where its version is the listed one; so a list is one exact snapshot and sees every acknowledged write.
 *
 * A list is read in steps: some keys after the last one, then their bodies in groups. Every step is bounded in rows and
 * bytes, is read only when the step before it has been taken, and costs the same at any place of a collection of any
 * size. So a list holds one step of keys and one group of bodies. Bodies are handed on in pieces, each in a slice of the
 * event loop (`slices.ts`), so that what is done with them holds up nobody for more than one piece.
 */
import type { Address } from '../src/api/address.js';
import type { KeyRange, Keys, ObjectKey, Objects } from '../storage/store.js';
import { refuse } from '../src/api/refusal.js';
import type { ObjectCache } from './cache.js';
import type { ReadTurn } from './read-turns.js';
import type { Slices } from './slices.js';
import type { ListPage, PageRequest } from './resource-service.js';

export interface ReadDeps {
  readonly cache: ObjectCache;
  readonly objects: Objects;
}

export interface ListDeps extends ReadDeps {
  readonly turn: ReadTurn;
  readonly slices: Slices;
}

/** Keys read at once. One takes about 150 bytes. */
const KEYS_AT_ONCE = 1_000;
/** Bodies read at once. One is always read. */
const GROUP_OBJECTS = 250;
const GROUP_BYTES = 512 * 1024;
/** Bodies handed on at once: few enough that parsing and rendering them takes a few milliseconds. One is always handed on. */
const PIECE_OBJECTS = 100;
const PIECE_BYTES = 128 * 1024;
/**
 * Behind the first keys of a collection, a full cache takes one in so many of the bodies that a list reads: a list larger
 * than the cache would else push out everything, itself included, and find nothing of it the next time.
 */
const ADMIT_ONE_IN = 16;
/** Share of its bytes from which the cache counts as full here. */
const FULL = 0.9;

export async function readObject(address: Address, deps: ReadDeps): Promise<Buffer | undefined> {
  const cached = deps.cache.get(address);
  if (cached) return cached.body;
  const begun = deps.cache.version();
  const stored = await deps.objects.read(address);
  if (stored) deps.cache.fill(stored, begun);
  return stored?.body;
}

export async function listObjects(request: PageRequest, deps: ListDeps): Promise<ListPage> {
  const { range: asked, version, after, limit = Number.POSITIVE_INFINITY, signal } = request;
  const { org, project, name } = asked;
  const range = { org, kind: asked.kind.kind, project, name, after, limit: Math.min(limit, KEYS_AT_ONCE) };
  if (version !== undefined) {
    const first = await keysAt(range, version, deps);
    return { version, items: bodies(range, version, first, limit, signal, deps) };
  }
  const first = await deps.turn(range.org, () => deps.objects.keys(range));
  return {
    version: first.version,
    count: first.count,
    items: bodies(range, first.version, first, limit, signal, deps),
  };
}

/** Every object of a project, as it is now. */
export async function* searchObjects(
  range: Pick<KeyRange, 'org' | 'kind' | 'project'>,
  signal: AbortSignal,
  deps: ListDeps,
): AsyncGenerator<readonly Buffer[]> {
  const first = await deps.turn(range.org, () => deps.objects.keys({ ...range, limit: KEYS_AT_ONCE }));
  yield* bodies({ ...range, limit: KEYS_AT_ONCE }, first.version, first, Number.POSITIVE_INFINITY, signal, deps);
}

/** At most `limit` bodies at `version`, beginning with the keys that have been read. */
async function* bodies(
  range: KeyRange,
  version: number,
  first: Keys,
  limit: number,
  signal: AbortSignal,
  deps: ListDeps,
): AsyncGenerator<readonly Buffer[]> {
  let { keys, reached } = first;
  let left = limit;
  // First pages are asked for again and again.
  let admitOneIn = range.after === undefined ? 1 : ADMIT_ONE_IN;
  for (;;) {
    for (const group of groupsOf(keys)) {
      if (signal.aborted) return;
      for (const piece of piecesOf(await groupBodies(range, version, group, admitOneIn, deps))) {
        await deps.slices.next(range.org);
        if (signal.aborted) return;
        yield piece;
      }
    }
    left -= keys.length;
    if (reached === undefined || left <= 0 || signal.aborted) return;
    const next = { ...range, after: reached, limit: Math.min(left, KEYS_AT_ONCE) };
    ({ keys, reached } = await keysAt(next, version, deps));
    admitOneIn = ADMIT_ONE_IN;
  }
}

async function keysAt(range: KeyRange, version: number, deps: ListDeps): Promise<Keys> {
  const read = await deps.turn(range.org, () => deps.objects.keysAt(range, version));
  if (read.outcome === 'Expired') throw expired(version);
  return read;
}

function groupsOf(keys: readonly ObjectKey[]): Generator<readonly ObjectKey[]> {
  return cut(keys, (key) => key.bytes, GROUP_OBJECTS, GROUP_BYTES);
}

function piecesOf(group: readonly Buffer[]): Generator<readonly Buffer[]> {
  return cut(group, (body) => body.length, PIECE_OBJECTS, PIECE_BYTES);
}

function* cut<T>(
  all: readonly T[],
  bytesOf: (one: T) => number,
  mostObjects: number,
  mostBytes: number,
): Generator<readonly T[]> {
  let from = 0;
  let bytes = 0;
  for (const [at, one] of all.entries()) {
    const more = bytesOf(one);
    if (at > from && (at - from === mostObjects || bytes + more > mostBytes)) {
      yield all.slice(from, at);
      from = at;
      bytes = 0;
    }
    bytes += more;
  }
  if (from < all.length) yield all.slice(from);
}

async function groupBodies(
  range: KeyRange,
  version: number,
  keys: readonly ObjectKey[],
  admitOneIn: number,
  deps: ListDeps,
): Promise<readonly Buffer[]> {
  const { org, kind } = range;
  const found = new Map<string, Buffer>();
  const missing: ObjectKey[] = [];
  for (const key of keys) {
    const cached = deps.cache.get({ org, kind, project: key.project, name: key.name });
    if (cached?.version === key.version) found.set(nameOf(key), cached.body);
    else missing.push(key);
  }
  if (missing.length > 0) {
    await deps.turn(range.org, () => readMissing(range, version, missing, found, admitOneIn, deps));
  }
  return keys.flatMap((key) => found.get(nameOf(key)) ?? []);
}

/** The listed states, also of objects that have changed since, or change while the list is on its way. */
async function readMissing(
  { org, kind }: KeyRange,
  version: number,
  missing: readonly ObjectKey[],
  found: Map<string, Buffer>,
  admitOneIn: number,
  { cache, objects }: ListDeps,
): Promise<void> {
  const begun = cache.version();
  for (const [at, row] of (await objects.readMany(org, kind, missing)).entries()) {
    found.set(nameOf(row.address), row.body);
    if (at % admitOneIn === 0 || cache.bytes < cache.maxBytes * FULL) cache.fill(row, begun);
  }
  const changed = missing.filter((key) => !found.has(nameOf(key)));
  if (changed.length === 0) return;
  const states = await objects.statesAt(org, kind, changed, version);
  if (states.outcome === 'Expired') throw expired(version);
  for (const { address, body } of states.objects) found.set(nameOf(address), body);
}

function expired(version: number): Error {
  return refuse('Expired', `version ${version} is no longer kept; list again without a version`);
}

function nameOf({ project, name }: { readonly project: string; readonly name: string }): string {
  return `${project}/${name}`;
}
