/** A rotation of the master key: afterwards nothing needs the key that was. */
import test from 'ava';
import { masterKey, masterKeys } from '../../storage/envelope/master-key.js';
import { openSecretVersions } from '../../storage/envelope/secret-versions.js';
import { rewrapSecrets } from '../../storage/rewrap.js';
import { insert, openFixture } from './fixtures.js';

const key = (fill: number) => masterKey(Buffer.alloc(32, fill));

test('after a rotation every secret opens with the new key alone, and what no key opens is left as it was', async (t) => {
  const f = await openFixture(t);
  const { postgres, fetchSealed } = f.store;
  const sealing = { lost: masterKeys(key(9)), old: masterKeys(key(1)), both: masterKeys(key(2), [key(1)]) };
  const values = new Map([['A', Buffer.from('value')]]);
  const seal = async (name: string, keys: keyof typeof sealing, count: number): Promise<void> => {
    const secrets = openSecretVersions(sealing[keys], fetchSealed);
    const sealed = Array.from({ length: count }, (_, i) => ({
      version: i + 1,
      sealed: secrets.seal('o-1', `uid-${name}`, i + 1, values),
    }));
    await f.committer.commit(insert(name, { secrets: sealed }), undefined);
  };
  await seal('lost', 'lost', 3);
  await seal('new', 'both', 3);
  await seal('old', 'old', 50);
  const lost = await fetchSealed('o-1', 'uid-lost', 1);
  const signal = AbortSignal.timeout(20_000);
  t.deepEqual(await rewrapSecrets(postgres, sealing.both, signal), { rewrapped: 50, unreadable: 3 });
  t.deepEqual(await rewrapSecrets(postgres, sealing.both, signal), { rewrapped: 0, unreadable: 3 });
  const after = openSecretVersions(masterKeys(key(2)), fetchSealed);
  for (const [name, versions] of [
    ['new', 3],
    ['old', 50],
  ] as const)
    for (let version = 1; version <= versions; version += 1)
      t.deepEqual(await after.open('o-1', `uid-${name}`, version), values);
  t.deepEqual(await fetchSealed('o-1', 'uid-lost', 1), lost);
});
