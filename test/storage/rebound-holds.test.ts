/** The holds that are renewed for a Budget that was made or changed under them, on real Postgres. */
import test from 'ava';
import { openReboundHolds } from '../../storage/ledger/rebound-holds.js';
import type { MoneyOperation } from '../../src/money/operation.js';
import type { Statement } from '../../storage/postgres.js';
import { openFixture, type Fixture } from './fixtures.js';
import { budget, place } from './money.js';

async function ledger(f: Fixture, org: string, ...operations: MoneyOperation[]): Promise<void> {
  const result = await f.committer.ledger(org, operations);
  if (result.outcome !== 'Committed') throw new Error(JSON.stringify(result));
}

const names = (org: string, from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => `${org}/${String(from + i).padStart(3, '0')}`);

async function marked(f: Fixture): Promise<readonly string[]> {
  const rows = await f.store.postgres.readRows<[string]>({
    name: 'marked',
    text: 'SELECT uid FROM budgets WHERE rebind_at IS NOT NULL ORDER BY uid',
  });
  return rows.map(([uid]) => uid);
}

/** Keys that are found round by round, until a Budget binds nothing anew. `between`: before the last of a round is done. */
async function allRounds(
  f: Fixture,
  most: number,
  between: (round: number) => Promise<void> = () => Promise.resolve(),
): Promise<string[][]> {
  const find = openReboundHolds(f.store.postgres);
  const rounds: string[][] = [];
  while ((await marked(f)).length > 0) {
    if (rounds.length > 20) throw new Error('it does not end');
    const { due, done } = await find(most);
    rounds.push([...due.values()].flatMap((holds) => holds.map(({ key }) => key)));
    await between(rounds.length);
    await done();
  }
  return rounds;
}

test('all holds in scope of a new Budget are found once, so many at a time, orgs beside each other, and then none', async (t) => {
  const f = await openFixture(t);
  for (const org of ['o-1', 'o-2']) {
    const scope = (key: string) => ({ labels: { team: Number(key.slice(-1)) % 2 === 0 ? 'x' : 'y' } });
    await ledger(f, org, ...names(org, 0, 25).map((key) => place(key, `uid-${key}`, '0.01', scope(key))));
    await ledger(f, org, budget(`${org}-b`, '9', { selector: 'team=x' }));
  }
  await ledger(f, 'o-3', budget('o-3-b', '9'));
  const found = await allRounds(f, 21);
  t.true(found.every((keys) => keys.length <= 21));
  const all = ['o-1', 'o-2'].flatMap((org) => names(org, 0, 25).filter((key) => Number(key.slice(-1)) % 2 === 0));
  t.deepEqual(found.flat().toSorted(), all);
  t.true(found[0]?.some((key) => key.startsWith('o-1')) && found[0].some((key) => key.startsWith('o-2')));
  t.is((await openReboundHolds(f.store.postgres)(100)).due.size, 0);
});

test('what was not renewed is found again, also by the next process, and a Budget that changes meanwhile has its turn afterwards', async (t) => {
  const f = await openFixture(t);
  const keys = names('o-1', 0, 6);
  await ledger(f, 'o-1', ...keys.map((key) => place(key, `uid-${key}`, '1')), budget('b', '9'));
  await ledger(f, 'o-1', budget('b', '10'));
  const find = openReboundHolds(f.store.postgres);
  const first = async (): Promise<unknown> => (await find(3)).due.get('o-1')?.map(({ key }) => key);
  t.deepEqual(await first(), keys.slice(0, 3));
  t.deepEqual(await first(), keys.slice(0, 3), 'the ledger did not answer');
  await (await find(3)).done();
  t.deepEqual(await first(), keys.slice(3));
  t.deepEqual(await marked(f), ['b']);

  // Another process begins anew. In its second round the Budget is lowered below what is held, and another one is made,
  // in whose scope there is nothing.
  for (const key of keys) await ledger(f, 'o-1', { op: 'Renew', key });
  const rounds = await allRounds(f, 3, async (round) => {
    if (round === 2) await ledger(f, 'o-1', budget('b', '5'), budget('c', '9', { selector: 'team=x' }));
  });
  const whole = [keys.slice(0, 3), keys.slice(3), []];
  t.deepEqual(rounds, [...whole, ...whole]);
  await ledger(f, 'o-1', budget('b', '4', { action: 'Notify' }), budget('c', '7', { selector: 'team=x' }), {
    op: 'DropBudget',
    uid: 'b',
  });
  t.deepEqual(await marked(f), [], 'that binds nobody more than before');
  await ledger(f, 'o-1', budget('d', '9'), { op: 'DropBudget', uid: 'd' });
  t.deepEqual(await marked(f), [], 'nor does one that is gone');
});

test('a Budget that changes again in the same moment keeps its mark, though holds were gone through for the change before', async (t) => {
  const f = await openFixture(t);
  await ledger(f, 'o-1', place('a', 'uid-a', '1'), budget('b', '9'));
  // As if that moment were still to come.
  const later = `UPDATE budgets SET rebind_at = rebind_at + 3600000`;
  await f.store.postgres.write({ name: 'later', text: later });
  const { due, done } = await openReboundHolds(f.store.postgres)(10);
  t.is(due.size, 1);
  await ledger(f, 'o-1', budget('b', '9', { selector: 'team=x' }));
  await done();
  t.deepEqual(await marked(f), ['b']);
});

test('a Budget that is marked while the holds of others are read keeps its mark until its own were looked at', async (t) => {
  const f = await openFixture(t);
  await ledger(f, 'o-1', place('a', 'uid-a', '1'), budget('b-1', '9'));
  await ledger(f, 'o-2', place('c', 'uid-c', '1'));
  const { postgres } = f.store;
  let meanwhile = async (): Promise<void> => undefined;
  const find = openReboundHolds({
    write: (statement, values) => postgres.write(statement, values),
    async readRows<Row extends unknown[]>(statement: Statement, values?: readonly unknown[]) {
      const rows = await postgres.readRows<Row>(statement, values);
      if (statement.name.startsWith('holds')) await meanwhile();
      return rows;
    },
  });
  meanwhile = async () => {
    meanwhile = async () => undefined;
    await ledger(f, 'o-2', budget('b-2', '9'));
    // Another look of the same process, which learns of it and is not done.
    await find(10);
  };
  const { due, done } = await find(10);
  t.deepEqual([...due.keys()], ['o-1']);
  await done();
  t.deepEqual(await marked(f), ['b-2']);
});
