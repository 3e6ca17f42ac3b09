/** Money in the commit, on real Postgres: under one lock, in one transaction with the object, once. */
import test from 'ava';
import { openCommitter } from '../../storage/commit/committer.js';
import type { Committer, CommitRequest } from '../../storage/commit/request.js';
import { sessionOn, type Session } from '../../storage/commit/session.js';
import { runTransaction } from '../../storage/commit/transaction.js';
import { openVersionPrediction } from '../../storage/commit/version-prediction.js';
import { auditLedger } from '../../storage/ledger/audit.js';
import { openRehearsal } from '../../storage/ledger/rehearsal.js';
import { openPostgres } from '../../storage/postgres.js';
import type { MoneyOperation } from '../../src/money/operation.js';
import { openProxy } from './cutting-proxy.js';
import { address, insert, openFixture, remove, seal, update, versionOf, type Fixture } from './fixtures.js';
import { budget, countersIn, countOf, place, TERMS } from './money.js';

type Tear = Parameters<typeof openFixture>[0];

async function through(
  t: Tear,
  f: Fixture,
): Promise<{ committer: Committer; proxy: Awaited<ReturnType<typeof openProxy>> }> {
  const proxy = await openProxy(f.url);
  const postgres = openPostgres({ url: proxy.url });
  const committer = await openCommitter({
    ...{ postgres, epoch: f.lease.epoch, seal, publish: () => {}, onFenced: () => {}, objectsPerOrg: 1_000 },
  });
  t.teardown(async () => {
    await committer.close();
    await postgres.close();
    proxy.close();
  });
  return { committer, proxy };
}

async function ledger(committer: Committer, ...operations: MoneyOperation[]) {
  const result = await committer.ledger('o-1', operations);
  if (result.outcome !== 'Committed') throw new Error(JSON.stringify(result));
  return result.results;
}

test('of 200 holds that come at once against a Budget of 1.00 exactly those that fit are admitted', async (t) => {
  const f = await openFixture(t);
  await ledger(f.committer, budget('b', '1.00'));
  const results = await Promise.all(
    Array.from({ length: 200 }, (_, i) =>
      f.committer.commit(insert(`h-${i}`, { money: [place(`h-${i}`, `uid-h-${i}`, '0.03')] }), undefined),
    ),
  );
  t.is(results.filter(({ outcome }) => outcome === 'Committed').length, 33);
  for (const result of results)
    if (result.outcome !== 'Committed') t.like(result, { outcome: 'HoldRefused', uid: 'b', neededUSD: '0.03' });
  t.deepEqual((await countersIn(f))['budget/b/total'], { spent: '0.00', held: '0.99', holders: 33 });
  t.is(
    (await f.committer.commit(insert('last', { money: [place('last', 'uid-last', '0.01')] }), undefined)).outcome,
    'Committed',
  );
  t.is(await f.store.objects.count('o-1'), 34, 'a refused hold writes no object');
  t.deepEqual(
    f.published.map(({ version }) => version),
    Array.from({ length: 34 }, (_, i) => i + 1),
    'and leaves no gap',
  );
});

test('with holds, ends, renewals and deletions at once no limit is passed, held is the sum of the holds, and all is free at the end', async (t) => {
  const f = await openFixture(t);
  await ledger(f.committer, budget('b', '9.5'), budget('team', '7', { selector: 'team=x', period: 'Monthly' }));
  await ledger(f.committer, { op: 'SetCap', uid: 'parent', limitUSD: '9' });
  const one = async (i: number): Promise<string> => {
    const name = `w-${i}`;
    const uid = `uid-${name}`;
    const labels = i % 2 === 0 ? { team: 'x' } : undefined;
    const begin: MoneyOperation = { op: 'Bill', key: name, segment: 'Running', from: 0 };
    const money = [place(`${name}/first`, uid, '0.2', { labels: labels ?? {} })];
    const made = await f.committer.commit(insert(name, { money }), undefined);
    if (made.outcome !== 'Committed') return made.outcome;
    const taken = place(name, uid, '0.2', { labels: labels ?? {}, replaces: `${name}/first` });
    const version = versionOf(
      await f.committer.commit(update(name, made.version, { money: [taken, begin] }), Buffer.alloc(0)),
    );
    await ledger(f.committer, { op: 'Renew', key: name }, { op: 'Renew', key: 'nobody' });
    const release: MoneyOperation[] = i % 3 === 0 ? [{ op: 'Release', key: name }] : [];
    await f.committer.commit(remove(name, version, { money: release }), Buffer.alloc(0));
    return 'Done';
  };
  const results = await Promise.all(Array.from({ length: 90 }, (_, i) => one(i)));
  t.true(results.every((result) => result === 'Done' || result === 'HoldRefused'));
  t.true(results.includes('Done') && results.includes('HoldRefused'), results.join());
  const counters = await countersIn(f);
  for (const [name, { held, holders }] of Object.entries(counters)) t.deepEqual([held, holders], ['0.00', 0], name);
  t.is(await countOf(f, 'holds'), 0);
  t.true((await countOf(f, 'postings WHERE amount_usd > 0')) > 0);
  t.deepEqual(await auditLedger(f.store.postgres, 'o-1'), []);
});

test('what a deleted object holds is charged until now and given back, in the transaction of its end', async (t) => {
  const f = await openFixture(t);
  const version = versionOf(await f.committer.commit(insert('a', { money: [place('h', 'uid-a', '5')] }), undefined));
  await f.store.postgres.write({
    name: 'back',
    text: `UPDATE holds SET body = jsonb_set(body::jsonb, '{placedAt}', to_jsonb((body::jsonb->>'placedAt')::bigint - 100000))::text`,
  });
  await ledger(f.committer, { op: 'Bill', key: 'h', segment: 'Running', from: 0 });
  const beside = [insert('n1'), insert('n2', { money: [place('k', 'uid-n2', '1')] })];
  const results = await Promise.all([
    f.committer.commit(remove('a', version), Buffer.alloc(0)),
    ...beside.map((request) => f.committer.commit(request, undefined)),
  ]);
  t.true(results.every(({ outcome }) => outcome === 'Committed'));
  const { 'cost/uid-a': own, wallet } = await countersIn(f);
  t.is(own?.held, '0.00');
  t.regex(own?.spent ?? '', /^1\.\d\d$/, 'a hundred seconds at a cent, and what the test took');
  t.deepEqual([wallet?.held, wallet?.holders], ['1.00', 1]);
  t.is(await countOf(f, `holds WHERE uid = 'uid-a'`), 0);
});

test('operations without an object take no version, ride with commits, and each has its own result', async (t) => {
  const f = await openFixture(t);
  const [made, first, second] = await Promise.all([
    f.committer.commit(insert('a', { money: [budget('b', '1'), place('h', 'uid-a', '0.6')] }), undefined),
    f.committer.ledger('o-1', [place('i', 'uid-i', '0.6'), place('j', 'uid-j', '0.4'), { op: 'Renew', key: 'x' }]),
    f.committer.ledger('o-2', [place('h', 'uid-a', '9')]),
  ]);
  t.is(versionOf(made), 1);
  t.like(first, { outcome: 'Committed' });
  const outcomes = first.outcome === 'Committed' ? first.results.map(({ outcome }) => outcome) : [];
  t.deepEqual(outcomes, ['Refused', 'Applied', 'Nothing']);
  t.deepEqual(second, { outcome: 'Committed', results: [{ outcome: 'Applied' }] }, 'another org has its own book');
  t.is(await f.store.changes.head(), 1);
  t.is(versionOf(await f.committer.commit(insert('b'), undefined)), 2);
});

test('operations that change nothing write nothing', async (t) => {
  const f = await openFixture(t);
  await ledger(f.committer, budget('b', '0.1'));
  const commits = await countOf(f, 'ledger_commits');
  t.like((await ledger(f.committer, { op: 'Renew', key: 'x' }, place('h', 'uid-h', '1')))[1], { outcome: 'Refused' });
  t.is(await countOf(f, 'ledger_commits'), commits);
});

for (const how of ['answer', 'commit', 'answer and away', 'commit and away'] as const) {
  test(`operations without an object whose ${how} is lost are carried out exactly once`, async (t) => {
    const f = await openFixture(t);
    const { committer, proxy } = await through(t, f);
    await ledger(committer, budget('b', '5'));
    for (let round = 0; round < 5; round++) {
      proxy.cut(how);
      const [result] = await ledger(committer, place(`h-${round}`, 'uid-h', '1'));
      t.is(result?.outcome, 'Applied', `round ${round}`);
    }
    t.is(proxy.cuts(), 5);
    t.deepEqual((await countersIn(f))['budget/b/total'], { spent: '0.00', held: '5.00', holders: 5 });
  });
}

test('a lost answer of a batch of commits and operations is settled for both', async (t) => {
  const f = await openFixture(t);
  const { committer, proxy } = await through(t, f);
  await ledger(committer, budget('b', '2'));
  proxy.cut('answer');
  const [made, result] = await Promise.all([
    committer.commit(insert('a', { money: [place('h', 'uid-a', '1')] }), undefined),
    ledger(committer, place('i', 'uid-i', '1'), place('j', 'uid-j', '1')),
  ]);
  t.is(proxy.cuts(), 1);
  t.is(made.outcome, 'Committed');
  t.deepEqual(
    result.map(({ outcome }) => outcome),
    ['Applied', 'Refused'],
  );
  t.is((await countersIn(f))['budget/b/total']?.held, '2.00');
});

test('operations of a process whose epoch is over are fenced and change nothing', async (t) => {
  const f = await openFixture(t);
  await ledger(f.committer, budget('b', '5'));
  await f.store.postgres.write({ name: 'steal', text: 'UPDATE clock SET epoch = epoch + 1' });
  t.deepEqual(await f.committer.ledger('o-1', [place('h', 'uid-h', '1')]), { outcome: 'Fenced' });
  t.is(await countOf(f, 'holds'), 0);
  t.deepEqual(await f.committer.ledger('o-1', []), { outcome: 'Fenced' });
});

test('a commit whose object is stale leaves no money behind, and its neighbour finds what it would have taken', async (t) => {
  const f = await openFixture(t);
  await ledger(f.committer, budget('b', '1'));
  const [stale, next] = await Promise.all([
    f.committer.commit(update('gone', 7, { money: [place('g', 'uid-gone', '1')] }), Buffer.alloc(0)),
    f.committer.commit(insert('a', { money: [place('h', 'uid-a', '1')] }), undefined),
  ]);
  t.deepEqual(stale, { outcome: 'Stale' });
  t.is(next.outcome, 'Committed');
  t.deepEqual((await countersIn(f))['budget/b/total'], { spent: '0.00', held: '1.00', holders: 1 });
});

test('a key that stands refuses its commit, and an operation that no book can carry out is refused before', async (t) => {
  const f = await openFixture(t);
  versionOf(await f.committer.commit(insert('a', { money: [place('h', 'uid-a', '1')] }), undefined));
  const again = await f.committer.commit(insert('b', { money: [place('h', 'uid-b', '1')] }), undefined);
  t.deepEqual(again, { outcome: 'DuplicateKey', key: 'h' });
  const wrong = await f.committer.commit(insert('b', { money: [place('i', 'uid-b', '0.0000000001')] }), undefined);
  t.like(wrong, { outcome: 'Unavailable' });
  t.like(await f.committer.ledger('o-1', [place('i', 'uid-b', '-1')]), { outcome: 'Unavailable' });
  const many = Array.from({ length: 1_001 }, (_, i): MoneyOperation => ({ op: 'Renew', key: `${i}` }));
  t.like(await f.committer.ledger('o-1', many), { outcome: 'Unavailable' });
  t.is(await f.store.objects.read(address('b')), undefined);
});

test('a Budget, caps, grants and the mode of payment are read as they were written', async (t) => {
  const f = await openFixture(t);
  const soon = f.store.clock() + 3_600_000;
  await ledger(
    ...[f.committer, { op: 'SetMode', mode: 'Prepaid' } as const],
    { op: 'Credit', grant: 'g', amountUSD: '2', expires: soon, once: 'topup/1' },
    budget('m', '1', { period: 'Monthly', project: 'default', selector: 'team in (x, y)' }),
    { op: 'SetCap', uid: 'parent', limitUSD: '1.5' },
  );
  const [twice, ...rest] = await ledger(
    ...[f.committer, { op: 'Credit', grant: 'h', amountUSD: '2', once: 'topup/1' } as const],
    place('a', 'uid-a', '1.1', { labels: { team: 'y' } }),
    place('b', 'uid-b', '1.1'),
    place('c', 'uid-c', '0.5'),
  );
  t.deepEqual(twice, { outcome: 'Nothing', why: 'Once' });
  t.like(rest[0], { outcome: 'Refused', by: 'Budget', uid: 'm', availableUSD: '1.00' });
  t.like(rest[1], { outcome: 'Applied' });
  t.like(rest[2], { outcome: 'Refused', by: 'Cap', uid: 'parent', availableUSD: '0.40' });
  await ledger(f.committer, { op: 'SetCap', uid: 'parent', limitUSD: undefined }, { op: 'DropBudget', uid: 'm' });
  const [wallet, fits] = await ledger(
    f.committer,
    place('d', 'uid-d', '1'),
    place('e', 'uid-e', '0.9', { labels: { team: 'x' } }),
  );
  t.like(wallet, { outcome: 'Refused', by: 'Wallet', availableUSD: '0.90' });
  t.is(fits?.outcome, 'Applied');
});

test('a renewal finds the counters and the caps of its hold, though nothing but its key is given', async (t) => {
  const f = await openFixture(t);
  await ledger(f.committer, { op: 'SetCap', uid: 'parent', limitUSD: '1.5' });
  await ledger(f.committer, place('a', 'uid-a', '0.6'), place('b', 'uid-b', '0.6'));
  await ledger(f.committer, { op: 'Bill', key: 'a', segment: 'Running', from: f.store.clock() });
  const [refused] = await ledger(f.committer, { op: 'Renew', key: 'a' });
  t.like(refused, { outcome: 'Applied', funding: 'Refused' });
  const refusal = refused?.outcome === 'Applied' ? refused.refusal : undefined;
  t.like(refusal, { by: 'Cap', uid: 'parent', availableUSD: '0.30' });
  await ledger(f.committer, { op: 'Release', key: 'b' });
  t.like((await ledger(f.committer, { op: 'Renew', key: 'a' }))[0], { outcome: 'Applied', funding: 'Restored' });
});

test('a new monthly Budget begins with what was posted in this month, read from the log of postings', async (t) => {
  const f = await openFixture(t);
  const terms = { ...TERMS, minimumUSD: '0.25' };
  await ledger(f.committer, place('a', 'uid-a', '1', { terms, labels: { team: 'x' } }), {
    op: 'Bill',
    key: 'a',
    segment: 'Boot',
    from: 0,
  });
  await ledger(f.committer, { op: 'Release', key: 'a' });
  await ledger(
    ...([f.committer, budget('all', '0.3', { period: 'Monthly' })] as const),
    budget('x', '1', { period: 'Monthly', selector: 'team=x' }),
    budget('y', '1', { period: 'Monthly', selector: 'team=y' }),
  );
  const counters = Object.entries(await countersIn(f));
  const spentOf = (uid: string) => counters.find(([name]) => name.startsWith(`budget/${uid}/`))?.[1].spent;
  t.deepEqual([spentOf('all'), spentOf('x'), spentOf('y')], ['0.25', '0.25', '0.00']);
  t.like((await ledger(f.committer, place('b', 'uid-b', '0.06')))[0], {
    outcome: 'Refused',
    uid: 'all',
    availableUSD: '0.05',
  });
});

test('a commit without money sends the statements of its object and no other, and one with money asks all books in the turn of the clock', async (t) => {
  const f = await openFixture(t);
  const client = await f.store.postgres.connect('test', {}, { pipeline: true });
  t.teardown(() => client.end());
  const session = sessionOn(client);
  let sent: string[] = [];
  const recording: Session = {
    together: session.together,
    rows(name, text, values) {
      sent.push(name);
      return session.rows(name, text, values);
    },
    async script(text) {
      sent.push(text.split(' ')[0] ?? '');
      const answer = await session.script(text);
      sent.push('answered');
      return answer;
    },
  };
  const run = async (request: CommitRequest): Promise<string[]> => {
    sent = [];
    const queued = { request, before: undefined, keys: [], bytes: 0, since: 0, sealed: undefined, resolve: () => {} };
    const head = await f.store.changes.head();
    const options = { epoch: f.lease.epoch, clock: openVersionPrediction(head), objectsPerOrg: 9, newest: () => head };
    const result = await runTransaction(recording, [{ type: 'Object', ...queued }], {
      ...options,
      onCommitting: () => {},
    });
    t.is(result.end, 'Committed');
    return sent;
  };
  const end = ['answered', 'COMMIT', 'answered'];
  t.deepEqual(await run(insert('a')), ['BEGIN;', 'insert 1', ...end]);
  t.deepEqual(await run(update('a', 1)), ['BEGIN;', 'update 1', ...end]);
  t.deepEqual(await run(remove('a', 2)), ['BEGIN;', 'forget', 'delete 1', ...end]);
  const paid = await run(insert('b', { money: [place('h', 'uid-b', '1')] }));
  const reads = ['orgs', 'budgets', 'holds', 'counters', 'grants'].map((name) => `ledger ${name}`);
  t.deepEqual(paid.slice(0, 7), ['BEGIN;', ...reads, 'answered']);
});

test('a rehearsal answers what the commit would, of each limit, and leaves no trace', async (t) => {
  const f = await openFixture(t);
  const rehearse = openRehearsal(f.store.postgres);
  t.is(await rehearse('o-1', [place('h', 'uid-a', '1')]), undefined);
  await ledger(f.committer, budget('b', '1.00'), place('taken', 'uid-b', '0.60'));
  t.is(await rehearse('o-1', [place('h', 'uid-a', '0.40')]), undefined);
  const refusal = { outcome: 'Refused', by: 'Budget', name: 'b', availableUSD: '0.40', neededUSD: '0.41' } as const;
  t.like(await rehearse('o-1', [place('h', 'uid-a', '0.41')]), refusal);
  const capped: MoneyOperation[] = [{ op: 'SetCap', uid: 'uid-a', limitUSD: '0.10' }, place('h', 'uid-a', '0.20')];
  t.like(await rehearse('o-1', capped), { outcome: 'Refused', by: 'Cap', uid: 'uid-a', availableUSD: '0.10' });
  t.is(await rehearse('o-1', [place('h', 'uid-a', '0.9', { replaces: 'taken' })]), undefined);
  t.is(await rehearse('o-2', [place('h', 'uid-a', '5')]), undefined);
  t.is(await countOf(f, 'holds'), 1);
  t.is(await countOf(f, 'caps'), 0);
});
