/** The cache under reads that race with commits: it never holds an older version than one that was committed. */
import test from 'ava';
import { openCache, type ObjectCache } from '../../actors/cache.js';
import { THING } from './support.js';

const at = (name: string) => ({ ...THING, name });
const stored = (name: string, version: number, size = 10) => ({
  ...{ address: at(name), uid: `u-${name}`, version },
  ...{ body: Buffer.alloc(size, `${version}`), private: null },
});

function commit(
  cache: ObjectCache,
  name: string,
  version: number,
  { type = 'MODIFIED', size = 600 }: { type?: 'MODIFIED' | 'DELETED'; size?: number } = {},
): void {
  cache.committed({
    ...{ version, type, address: at(name), uid: `u-${name}`, before: undefined },
    after: Buffer.alloc(size),
  });
}

test('a read that began before a commit brings in nothing older, also when the entry of that commit was evicted', (t) => {
  const cache = openCache(2_000);
  commit(cache, 'a', 1);
  const begun = cache.version();
  commit(cache, 'a', 2);
  for (let version = 3; version < 10; version += 1) commit(cache, `other-${version}`, version);
  t.is(cache.get(at('a')), undefined, 'it was evicted');
  cache.fill(stored('a', 1), begun);
  t.is(cache.get(at('a')), undefined);
  cache.fill(stored('a', 2), begun);
  t.is(cache.get(at('a'))?.version, 2);
});

test('a read that began before a deletion does not bring the object back', (t) => {
  const cache = openCache(100_000);
  commit(cache, 'a', 1);
  const begun = cache.version();
  commit(cache, 'a', 2, { type: 'DELETED' });
  cache.fill(stored('a', 1), begun);
  t.is(cache.get(at('a')), undefined);
});

test('a read that began before a commit brings in nothing older, also when the entry was forgotten or is too large to be kept', (t) => {
  const cache = openCache(2_000);
  for (const [name, size] of [
    ['forgotten', 600],
    ['large', 3_000],
  ] as const) {
    const begun = cache.version();
    commit(cache, name, begun + 2, { size });
    cache.forget(at(name));
    cache.fill(stored(name, begun + 1), begun);
    t.is(cache.get(at(name)), undefined, name);
    cache.fill(stored(name, begun + 2), begun);
    t.is(cache.get(at(name))?.version, begun + 2, name);
  }
});

test('private state that is known counts in the bytes of the cache', (t) => {
  const cache = openCache(2_000);
  commit(cache, 'a', 1);
  const bytes = cache.bytes;
  cache.setPrivate(at('a'), 1, null);
  t.is(cache.get(at('a'))?.private, null);
  t.is(cache.bytes, bytes);
  cache.setPrivate(at('a'), 1, 'x'.repeat(100));
  t.is(cache.bytes, bytes + 100);
  cache.setPrivate(at('a'), 2, null);
  t.is(cache.get(at('a'))?.private?.length, 100, 'of another version');
});

test('a read that lasts longer than commits are remembered brings in nothing, and the next one does', (t) => {
  const cache = openCache(2_000, 3);
  commit(cache, 'a', 1);
  const begun = cache.version();
  commit(cache, 'a', 2);
  for (let version = 3; version < 10; version += 1) commit(cache, `other-${version}`, version);
  cache.fill(stored('a', 1), begun);
  t.is(cache.get(at('a')), undefined);
  cache.fill(stored('a', 2), cache.version());
  t.is(cache.get(at('a'))?.version, 2);
  cache.fill(stored('unchanged', 1), cache.version());
  t.is(cache.get(at('unchanged'))?.version, 1);
});
