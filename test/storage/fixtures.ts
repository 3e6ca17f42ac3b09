/** What the tests of storage share: a store on a fresh database, commit requests, a committer that remembers what it published. */
import type { Address } from '../../src/api/address.js';
import { encodeObject } from '../../src/api/encode.js';
import { openCommitter } from '../../storage/commit/committer.js';
import type { CommittedChange, Committer, CommitRequest, ObjectWrite } from '../../storage/commit/request.js';
import { openStore, type Store } from '../../storage/open.js';
import type { Lease, LogLimit } from '../../storage/store.js';
import { openTestDatabase } from '../support/postgres.js';

export interface Fixture {
  readonly url: string;
  readonly store: Store;
  readonly lease: Lease;
  readonly committer: Committer;
  readonly published: CommittedChange[];
  /** Why it was fenced; undefined: it was not. */
  readonly fenced: () => string | undefined;
  close(): Promise<void>;
}

/** Marks what it seals, so that a test sees that nothing is stored in the clear. */
export const seal = (parts: readonly string[], plain: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${parts.length}`), Buffer.from(plain).map((byte) => byte ^ 0x5a)]);
export const open = (_: readonly string[], sealed: Buffer): Buffer =>
  Buffer.from(sealed.subarray(1).map((byte) => byte ^ 0x5a));

/** Closed when the test ends. */
export async function openFixture(
  t: { teardown(release: () => Promise<void>): void },
  options: { readonly objectsPerOrg?: number; readonly url?: string } = {},
): Promise<Fixture> {
  const database = options.url === undefined ? await openTestDatabase() : { url: options.url, close: async () => {} };
  const store = await openStore({ url: database.url, seal, open });
  const lease = await store.acquire({ holder: 'test', poll: 20 }, AbortSignal.timeout(10_000));
  const published: CommittedChange[] = [];
  let fenced: string | undefined;
  const committer = await openCommitter({
    postgres: store.postgres,
    epoch: lease.epoch,
    seal,
    publish: (changes) => published.push(...changes),
    onFenced: (why) => (fenced = why),
    objectsPerOrg: options.objectsPerOrg ?? 200_000,
  });
  const fixture: Fixture = {
    url: database.url,
    store,
    lease,
    committer,
    published,
    fenced: () => fenced,
    async close() {
      await committer.close();
      await lease.release();
      await store.close();
      await database.close();
    },
  };
  t.teardown(() => fixture.close());
  return fixture;
}

export function address(name: string, more: Partial<Address> = {}): Address {
  return { org: 'o-1', kind: 'Job', project: 'default', name, ...more };
}

/** Bytes with a blank version; `text` fills them. */
export function bodyOf(of: Address, uid: string, text = ''): Buffer {
  return encodeObject({
    apiVersion: 'svc.dev/v1',
    kind: of.kind,
    metadata: {
      name: of.name,
      namespace: of.project,
      uid,
      generation: 1,
      creationTimestamp: '2026-01-02T03:04:05Z',
    },
    spec: { text },
    status: {},
  });
}

export function requestOf(
  of: Address,
  uid: string,
  write: ObjectWrite,
  more: Partial<CommitRequest> = {},
): CommitRequest {
  return {
    address: of,
    uid,
    write,
    private: null,
    active: false,
    effects: [],
    events: [],
    timers: [],
    slots: [],
    secrets: [],
    credentials: [],
    revokeCredentials: false,
    money: [],
    ...more,
  };
}

export function insert(name: string, more: Partial<CommitRequest> = {}, text = ''): CommitRequest {
  const of = more.address ?? address(name);
  const uid = more.uid ?? `uid-${name}`;
  return requestOf(of, uid, { op: 'insert', body: bodyOf(of, uid, text) }, more);
}

export function update(name: string, expected: number, more: Partial<CommitRequest> = {}, text = ''): CommitRequest {
  const of = more.address ?? address(name);
  const uid = more.uid ?? `uid-${name}`;
  return requestOf(of, uid, { op: 'update', expected, body: bodyOf(of, uid, text) }, more);
}

export function remove(name: string, expected: number, more: Partial<CommitRequest> = {}, text = ''): CommitRequest {
  const of = more.address ?? address(name);
  const uid = more.uid ?? `uid-${name}`;
  return requestOf(of, uid, { op: 'delete', expected, body: bodyOf(of, uid, text) }, more);
}

/** The version, or a failed test. */
export function versionOf(result: { readonly outcome: string; readonly version?: number }): number {
  if (result.outcome !== 'Committed' || result.version === undefined)
    throw new Error(`not committed: ${JSON.stringify(result)}`);
  return result.version;
}

/** So many changes, whatever their size. */
export function logLimit(changes: number): LogLimit {
  return { changes, bytes: Number.MAX_SAFE_INTEGER };
}
