/** What the committer does when the connection breaks around COMMIT: a proxy between it and Postgres cuts just there. */
import test from 'ava';
import { connect, createServer, type Socket } from 'node:net';
import { openCommitter } from '../../storage/commit/committer.js';
import type { CommittedChange } from '../../storage/commit/member.js';
import { openPostgres } from '../../storage/postgres.js';
import { insert, openFixture, seal, update, versionOf } from './fixtures.js';

type Cut =
  /** COMMIT reaches Postgres, its answer does not come back. */
  | 'answer'
  /** COMMIT does not reach Postgres. */
  | 'commit'
  /** As 'answer', and for a while nothing can connect. */
  | 'answer and away';

interface Proxy {
  readonly url: string;
  /** Arms the next COMMIT. */
  cut(how: Cut): void;
  cuts(): number;
  close(): void;
}

async function openProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  let armed: Cut | undefined;
  let cuts = 0;
  let away = false;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    if (away) {
      client.destroy();
      return;
    }
    const upstream = connect(Number(port), hostname);
    let lost = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        // Let Postgres go on with what it has been sent.
        if (!lost) upstream.destroy();
      });
    }
    client.on('data', (data) => {
      if (armed === undefined || !data.includes('COMMIT')) {
        upstream.write(data);
        return;
      }
      const how = armed;
      armed = undefined;
      cuts += 1;
      if (how === 'commit') {
        client.destroy();
        return;
      }
      lost = true;
      if (how === 'answer and away') {
        away = true;
        setTimeout(() => (away = false), 700);
      }
      upstream.end(data);
      client.destroy();
    });
    upstream.on('data', (data) => client.write(data));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  const at = server.address();
  if (at === null || typeof at === 'string') throw new Error('no port');
  url.port = String(at.port);
  return {
    url: url.href,
    cut: (how) => (armed = how),
    cuts: () => cuts,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

for (const how of ['answer', 'commit', 'answer and away'] as const) {
  test(`a batch whose ${how} is lost is committed exactly once and published in order`, async (t) => {
    const f = await openFixture(t);
    const proxy = await openProxy(f.url);
    t.teardown(() => proxy.close());
    const postgres = openPostgres({ url: proxy.url });
    t.teardown(() => postgres.close());
    const published: CommittedChange[] = [];
    const committer = await openCommitter({
      postgres,
      epoch: f.lease.epoch,
      seal,
      publish: (changes) => published.push(...changes),
      onFenced: () => t.fail(),
      objectsPerOrg: 1_000,
    });
    t.teardown(() => committer.close());
    const versions: number[] = [];
    for (let round = 0; round < 5; round++) {
      proxy.cut(how);
      const results = await Promise.all(
        Array.from({ length: 120 }, (_, i) => committer.commit(insert(`r${round}-${i}`), undefined)),
      );
      for (const result of results) versions.push(versionOf(result));
    }
    t.is(proxy.cuts(), 5);
    const all = Array.from({ length: 600 }, (_, i) => i + 1);
    t.deepEqual(
      versions.toSorted((a, b) => a - b),
      all,
    );
    t.deepEqual(
      published.map(({ version }) => version),
      all,
    );
    t.is(await f.store.objects.count('o-1'), 600);
  });
}

test('a batch that lost its answer and its lease is told what is true: the first is committed, the next is fenced', async (t) => {
  const f = await openFixture(t);
  const proxy = await openProxy(f.url);
  t.teardown(() => proxy.close());
  const postgres = openPostgres({ url: proxy.url });
  t.teardown(() => postgres.close());
  let fenced = 0;
  const committer = await openCommitter({
    postgres,
    epoch: f.lease.epoch,
    seal,
    publish: () => {},
    onFenced: () => (fenced += 1),
    objectsPerOrg: 1_000,
  });
  t.teardown(() => committer.close());
  versionOf(await committer.commit(insert('warm'), undefined));
  proxy.cut('answer and away');
  const first = committer.commit(insert('a'), undefined);
  while (proxy.cuts() === 0) await new Promise(setImmediate);
  await f.store.postgres.write({ name: 'steal', text: 'UPDATE clock SET epoch = epoch + 1' });
  const version = versionOf(await first);
  t.deepEqual(await committer.commit(update('a', version), Buffer.alloc(0)), { outcome: 'Fenced' });
  t.is(fenced, 1);
});
