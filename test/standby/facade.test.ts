import test from 'ava';
import { openLeaderFacade } from '../../src/app/leader-facade.js';
import type { Leader } from '../../src/app/leader.js';
import { RefusalError } from '../../src/api/refusal.js';
import type { Blobs } from '../../storage/blobs/blobs.js';
import type { Store } from '../../storage/open.js';

/** Serves its version, and notes which credentials were used. */
function leaderAt(version: number, used: string[] = [], holdsLease = (): boolean => true): Leader {
  const leader: Pick<Leader, 'resources' | 'holdsLease' | 'behind' | 'onCredentialUse'> = {
    resources: { version: () => version } as Leader['resources'],
    holdsLease,
    behind: () => [],
    onCredentialUse: (_, uid) => void used.push(uid),
  };
  return leader as Leader;
}

test('what only the leader can serve is Unavailable before and between leaders, and served by the one there is', (t) => {
  const facade = openLeaderFacade({} as Store, {} as Blobs);
  const { resources } = facade;
  const refused = () => {
    const { refusal } = t.throws(() => resources.version(), { instanceOf: RefusalError });
    return [refusal.code, refusal.message];
  };
  facade.set({ state: 'Waiting', missing: 'a lease' });
  t.deepEqual(refused(), ['Unavailable', 'this server is not active (a lease)']);
  facade.set({ state: 'Leading', leader: leaderAt(1) });
  t.is(resources.version(), 1);
  facade.set({ state: 'Waiting', missing: 'another lease' });
  t.deepEqual(refused(), ['Unavailable', 'this server is not active (another lease)']);
  facade.set({ state: 'Leading', leader: leaderAt(2) });
  t.is(resources.version(), 2);
});

test('a use of a credential is noted by the leader, and no request is refused because there is none', (t) => {
  const used: string[] = [];
  const facade = openLeaderFacade({} as Store, {} as Blobs);
  const key = { org: 'o', kind: 'APIKey', project: '', name: 'k' };
  facade.onCredentialUse(key, 'lost');
  t.false(facade.health.active());
  facade.set({ state: 'Leading', leader: leaderAt(1, used) });
  facade.onCredentialUse(key, 'noted');
  t.deepEqual(used, ['noted']);
  t.true(facade.health.active());
});

test('a leader whose lease is over is not ready, although it has not lost it yet: another may be the leader already', (t) => {
  const facade = openLeaderFacade({} as Store, {} as Blobs);
  let holds = true;
  facade.set({ state: 'Leading', leader: leaderAt(1, [], () => holds) });
  t.deepEqual(facade.health.missing(), []);
  holds = false;
  t.regex(facade.health.missing().join(), /the lease is over/);
  t.false(facade.health.active());
});
