/** Who shares a transaction, when more wait than fit into one. */
import test from 'ava';
import type { QueuedCommit } from '../../storage/commit/queued-commit.js';
import { openGroups } from '../../storage/commit/groups.js';
import type { CommitRequest } from '../../storage/commit/request.js';

/** Only what is looked at. */
function entry(org: string, n: number, key = `${org}/${n}`, bytes = 2_000): QueuedCommit {
  const request = { address: { org, kind: 'Job', project: 'default', name: `${n}` } } as CommitRequest;
  return {
    type: 'Object',
    request,
    before: undefined,
    keys: [key],
    bytes,
    since: n,
    sealed: undefined,
    resolve: () => {},
  };
}

const many = (org: string, count: number): QueuedCommit[] => Array.from({ length: count }, (_, n) => entry(org, n));
const nameOf = ({ request: { address } }: QueuedCommit): string => `${address.org}/${address.name}`;

/** Every group to the end, each ended before the next one begins. */
function groupsOf(waiting: readonly QueuedCommit[]): string[][] {
  const groups = openGroups<QueuedCommit>();
  const all: string[][] = [];
  for (let left = waiting; left.length > 0;) {
    const taken = groups.take(left);
    groups.ended(taken.group);
    all.push(taken.group.map(nameOf));
    left = taken.left;
  }
  return all;
}

test('an org with thousands that wait holds up a commit of another by no group', (t) => {
  const [first = [], second = []] = groupsOf([...many('greedy', 5_000), ...many('modest', 33)]);
  t.is(first.length, 64);
  t.is(first.filter((name) => name.startsWith('modest')).length, 32);
  t.true(second.includes('modest/32'));
});

test('what a Node has granted waits behind nothing of the org that the Node stands in', (t) => {
  const granted = entry('operator', 0, 'node');
  const node = { ...granted, request: { address: { ...granted.request.address, kind: 'Node' } } as CommitRequest };
  const groups = openGroups<QueuedCommit>();
  t.true(groups.take([...many('operator', 5_000), node]).group.includes(node));
});

test('large commits of one org hold up no small one of another, though few wait', (t) => {
  const large = Array.from({ length: 30 }, (_, n) => entry('greedy', n, `greedy/${n}`, 3 * 1024 * 1024));
  const [first] = groupsOf([...large, entry('modest', 0)]);
  t.deepEqual(first, ['greedy/0', 'modest/0', 'greedy/1']);
});

test('of more orgs than fit into a group none has a second turn before each has had its first', (t) => {
  const orgs = Array.from({ length: 150 }, (_, n) => `o-${n}`);
  const groups = groupsOf([...orgs.flatMap((org) => many(org, 10)), entry('last', 0)]);
  const begun = groups.slice(0, 3).flat();
  t.is(new Set(begun.map((name) => name.split('/')[0])).size, 151);
  t.is(groups.flat().length, 1_501);
});

test('commits of one org keep their order, alone and beside others, and none goes twice', (t) => {
  const alone = many('acme', 200);
  t.deepEqual(groupsOf(alone).flat(), alone.map(nameOf));
  const beside = groupsOf([...alone, ...many('other', 200)]).flat();
  t.deepEqual(
    beside.filter((name) => name.startsWith('acme')),
    alone.map(nameOf),
  );
  t.is(beside.length, 400);
});

test('what is under way is not taken again until it has ended, and what waits for it stays in its order', (t) => {
  const groups = openGroups<QueuedCommit>();
  const waiting = [
    entry('acme', 0, 'one'),
    entry('acme', 1, 'one'),
    entry('acme', 2, 'one'),
    entry('acme', 3, 'two'),
    ...many('other', 100),
  ];
  const { group, left } = groups.take(waiting);
  t.deepEqual(
    group.map(nameOf).filter((name) => name.startsWith('acme')),
    ['acme/0', 'acme/3'],
  );
  t.deepEqual(left.slice(0, 2).map(nameOf), ['acme/1', 'acme/2']);
  t.false(groups.take(left).group.some((each) => nameOf(each) === 'acme/1'));
  groups.ended(group);
  t.is(groups.take(left).group.map(nameOf).indexOf('acme/1'), 0);
});

test('whatever waits and is under way, each goes once, and those of one object in their order', (t) => {
  let seed = 1;
  const below = (n: number): number => (seed = (seed * 48_271) % 2_147_483_647) % n;
  for (let round = 0; round < 100; round += 1) {
    const groups = openGroups<QueuedCommit>();
    const coming = Array.from({ length: below(300) }, (_, n) => {
      const org = `o-${below(6)}`;
      return entry(org, n, `${org}/${below(20)}`, below(1_024 * 1_024));
    });
    const gone: QueuedCommit[] = [];
    const underWay: QueuedCommit[][] = [];
    let waiting: QueuedCommit[] = [];
    for (let n = 0; n < coming.length || waiting.length > 0 || underWay.length > 0;) {
      const next = below(100);
      waiting.push(...coming.slice(n, n + next));
      n += next;
      if (underWay.length < 2) {
        const { group, left } = groups.take(waiting);
        waiting = left;
        gone.push(...group);
        if (group.length > 0) underWay.push(group);
      }
      if (below(2) === 0) groups.ended(underWay.splice(below(underWay.length), 1)[0] ?? []);
    }
    t.is(gone.length, coming.length);
    t.is(new Set(gone).size, coming.length);
    for (const key of new Set(coming.map(({ keys }) => keys[0]))) {
      const order = gone.filter(({ keys }) => keys[0] === key).map(({ since }) => since);
      t.deepEqual(
        order,
        order.toSorted((a, b) => a - b),
      );
    }
  }
});
