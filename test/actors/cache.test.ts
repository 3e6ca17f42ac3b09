/** The cache under reads that race with commits: it never holds an older version than one that was committed. */
import test from 'ava';
import { openCache, type ObjectCache } from '../../actors/cache.js';
import { THING } from './support.js';

const at = (name: string) => ({ ...THING, name });
const stored = (name: string, version: number, size = 10) => ({
  ...{ address: at(name), uid: `u-${name}`, version },
  ...{ body: Buffer.alloc(size, `${version}`), private: null },
});

function commit(cache: ObjectCache, name: string, version: number, type: 'MODIFIED' | 'DELETED' = 'MODIFIED'): void {
  cache.committed({
    ...{ version, type, address: at(name), uid: `u-${name}`, before: undefined },
    after: Buffer.alloc(600),
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
  commit(cache, 'a', 2, 'DELETED');
  cache.fill(stored('a', 1), begun);
  t.is(cache.get(at('a')), undefined);
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
