/** The rows of webhooks: the outbox in the commit of its event, deliveries made once, their results recorded once, given up and swept. */
import test from 'ava';
import {
  openDeliveries,
  type Settlement,
  type Deliveries,
  type PendingDelivery,
} from '../../storage/webhooks/deliveries.js';
import { deliveryId } from '../../storage/webhooks/ids.js';
import { openDeliveryLog } from '../../storage/webhooks/log.js';
import { openOutbox, type Dispatch, type OutboxRow } from '../../storage/webhooks/outbox.js';
import { sweepDeliveries } from '../../storage/webhooks/sweep-deliveries.js';
import { address, insert, openFixture, update, type Fixture } from './fixtures.js';

const event = (message: string) => ({ event: 'job.x', reason: 'X', message, status: '{"phase":"Running"}' });
const ENDPOINT = address('hook', { kind: 'WebhookEndpoint', project: '' });
const THROUGH = Number.MAX_SAFE_INTEGER;

async function withEndpoint(f: Fixture): Promise<void> {
  await f.committer.commit(insert('hook', { address: ENDPOINT, events: [event('ping')] }), undefined);
}

const to = (row: OutboxRow, ...endpoints: string[]): Dispatch => ({
  row,
  body: `{"n":${row.position}}`,
  deliveries: endpoints.map((endpoint) => ({ id: deliveryId(row.time, [row.version, row.count, endpoint]), endpoint })),
});

async function dispatched(f: Fixture, endpoint: string, count: number) {
  const outbox = openOutbox(f.store.postgres);
  const events = Array.from({ length: count }, (_, i) => event(String(i)));
  await f.committer.commit(insert(`j-${endpoint}`, { events }), undefined);
  const rows = (await outbox.take(THROUGH, 500)).filter((row) => row.name === `j-${endpoint}`);
  await outbox.dispatch(
    f.lease.epoch,
    rows.map((row) => to(row, endpoint)),
  );
  return dueRows(openDeliveries(f.store.postgres), [endpoint], [], 500);
}

async function dueRows(
  of: Pick<Deliveries, 'due'>,
  endpoints: readonly string[],
  known: readonly string[],
  rows: number,
): Promise<readonly PendingDelivery[]> {
  return (await of.due(endpoints, known, { rows, characters: 2 ** 20 })).deliveries;
}

test('an event is put into the outbox once per occurrence, with its message and count, where there is an endpoint', async (t) => {
  const f = await openFixture(t);
  const outbox = openOutbox(f.store.postgres);
  await f.committer.commit(insert('before', { events: [event('nobody asked')] }), undefined);
  t.deepEqual(await outbox.take(THROUGH, 10), []);
  await withEndpoint(f);
  const other = address('other', { org: 'o-2' });
  await f.committer.commit(insert('other', { address: other, events: [event('of another org')] }), undefined);
  const first = await f.committer.commit(insert('a', { events: [event('one'), event('two')] }), undefined);
  if (first.outcome !== 'Committed') throw new Error(first.outcome);
  await f.committer.commit(update('a', first.version, { events: [event('three')] }), Buffer.from('{}'));
  const rows = await outbox.take(THROUGH, 10);
  t.deepEqual(
    rows.map(({ name, message, count }) => [name, message, count]),
    [
      ['hook', 'ping', 1],
      ['a', 'one', 1],
      ['a', 'two', 2],
      ['a', 'three', 3],
    ],
  );
  t.deepEqual(
    (await outbox.take(first.version, 10)).map(({ message }) => message),
    ['ping', 'one', 'two'],
  );
  const [recorded] = await f.store.postgres.readRows<[number, string]>({
    name: 'recorded',
    text: "SELECT count, message FROM events WHERE name = 'a'",
  });
  t.deepEqual(recorded, [3, 'three']);
});

test('a row becomes its deliveries once, and only for who holds the lease', async (t) => {
  const f = await openFixture(t);
  await withEndpoint(f);
  const outbox = openOutbox(f.store.postgres);
  const [row] = await outbox.take(THROUGH, 10);
  if (row === undefined) throw new Error('no row');
  const made = to(row, 'uid-1', 'uid-2');
  t.is((await outbox.dispatch(f.lease.epoch + 1, [made])).size, 0);
  t.is((await outbox.take(THROUGH, 10)).length, 1);
  t.deepEqual(
    [...(await outbox.dispatch(f.lease.epoch, [made]))].toSorted(),
    made.deliveries.map(({ id }) => id).toSorted(),
  );
  t.is((await outbox.dispatch(f.lease.epoch, [made])).size, 0);
  t.deepEqual(await outbox.take(THROUGH, 10), []);
  const due = await dueRows(openDeliveries(f.store.postgres), ['uid-1', 'uid-2', 'uid-3'], [], 10);
  t.deepEqual(
    due.map(({ endpoint, body, attempts }) => [endpoint, body, attempts]),
    [
      ['uid-1', made.body, 0],
      ['uid-2', made.body, 0],
    ],
  );
});

test('an attempt is noted once: a row that has moved on is left alone', async (t) => {
  const f = await openFixture(t);
  await withEndpoint(f);
  const deliveries = openDeliveries(f.store.postgres);
  const log = openDeliveryLog(f.store.postgres);
  const [one] = await dispatched(f, 'uid-1', 1);
  if (one === undefined) throw new Error('nothing is due');
  const now = f.store.clock();
  const attempt = { at: now, status: 500, durationMs: 3, error: 'no' };
  const failed: Settlement = { id: one.id, before: 0, phase: 'Pending', attempt, due: now + 60_000 };
  await deliveries.recordResults([failed]);
  await deliveries.recordResults([{ ...failed, phase: 'Succeeded' }]);
  const [entry] = await log.list('o-1', 'uid-1', undefined, 10);
  t.like(entry, { phase: 'Pending', attempts: 1, statusCode: 500, error: 'no', nextAttemptTime: now + 60_000 });
  t.deepEqual(await dueRows(deliveries, ['uid-1'], [], 10), [], 'not due before its time');
  await deliveries.recordResults([
    { id: one.id, before: 1, phase: 'Succeeded', attempt: { at: now, status: 204, durationMs: 1 } },
  ]);
  const [ended] = await log.list('o-1', 'uid-1', undefined, 10);
  t.like(ended, { phase: 'Succeeded', attempts: 2, statusCode: 204, error: undefined, nextAttemptTime: undefined });
  t.deepEqual(await log.list('o-2', 'uid-1', undefined, 10), [], 'another org sees nothing');
  t.deepEqual(await deliveries.summarise(['uid-1', 'uid-2']), [
    { endpoint: 'uid-1', recent: [{ succeeded: true, time: now }], succeeded: 1, failed: 0 },
    { endpoint: 'uid-2', recent: [], succeeded: 0, failed: 0 },
  ]);
});

test('a summary is that of the three latest deliveries that were attempted', async (t) => {
  const f = await openFixture(t);
  await withEndpoint(f);
  const deliveries = openDeliveries(f.store.postgres);
  const all = (await dispatched(f, 'uid-1', 6)).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const now = f.store.clock();
  await deliveries.recordResults(
    all.slice(0, 5).map(({ id }, i) => {
      const phase = i < 2 ? 'Succeeded' : i === 2 ? 'Failed' : 'Pending';
      return { id, before: 0, phase, attempt: { at: now + i, status: 0, durationMs: 1 }, due: undefined } as const;
    }),
  );
  const [summary] = await deliveries.summarise(['uid-1']);
  t.deepEqual(summary, {
    endpoint: 'uid-1',
    recent: [4, 3, 2].map((i) => ({ succeeded: false, time: now + i })),
    succeeded: 2,
    failed: 1,
  });
});

test('giving up takes what is pending of events up to then; a known delivery is not read again', async (t) => {
  const f = await openFixture(t);
  await withEndpoint(f);
  const deliveries = openDeliveries(f.store.postgres);
  const [one, two] = await dispatched(f, 'uid-1', 2);
  if (one === undefined || two === undefined) throw new Error('less than two are due');
  t.deepEqual(
    (await dueRows(deliveries, ['uid-1'], [one.id], 10)).map(({ id }) => id),
    [two.id],
  );
  await deliveries.recordResults([
    { id: one.id, before: 0, phase: 'Succeeded', attempt: { at: 1, status: 200, durationMs: 1 } },
  ]);
  await deliveries.abandon('o-1', 'uid-1', 1);
  t.is((await dueRows(deliveries, ['uid-1'], [], 10)).length, 1, 'its event is later');
  await deliveries.abandon('o-2', 'uid-1', THROUGH);
  t.is((await dueRows(deliveries, ['uid-1'], [], 10)).length, 1, 'of another org');
  await deliveries.abandon('o-1', 'uid-1', THROUGH);
  const phases = (await openDeliveryLog(f.store.postgres).list('o-1', 'uid-1', undefined, 10)).map(
    ({ phase }) => phase,
  );
  t.deepEqual(phases.toSorted(), ['Abandoned', 'Succeeded']);
});

test('events are taken org by org in turns, those of one org in the order of commits', async (t) => {
  const f = await openFixture(t);
  await withEndpoint(f);
  const hook = address('hook', { org: 'o-2', kind: 'WebhookEndpoint', project: '' });
  await f.committer.commit(insert('hook-2', { address: hook }), undefined);
  const many = Array.from({ length: 150 }, (_, i) => event(`many ${i}`));
  await f.committer.commit(insert('many', { events: many }), undefined);
  const few = address('few', { org: 'o-2' });
  await f.committer.commit(insert('few', { address: few, events: [event('one'), event('two')] }), undefined);
  const outbox = openOutbox(f.store.postgres);
  const taken = (await outbox.take(THROUGH, 5)).map(({ message }) => message);
  t.deepEqual(taken, ['ping', 'one', 'many 0', 'two', 'many 1']);
  t.is((await outbox.take(THROUGH, 500)).length, 102, 'no more of one org than a part of it');
});

test('results and what is given up at the same time wait for each other, and none is refused for it', async (t) => {
  const f = await openFixture(t);
  await withEndpoint(f);
  const deliveries = openDeliveries(f.store.postgres);
  const due = [await dispatched(f, 'uid-1', 90), await dispatched(f, 'uid-2', 90)].flat();
  const tries = (of: readonly PendingDelivery[], before: number): Settlement[] =>
    of.map(({ id }) => ({ id, before, phase: 'Pending', attempt: { at: 1, status: 500, durationMs: 1 }, due: 1 }));
  for (let before = 0; before < 5; before += 1)
    await Promise.all([
      deliveries.recordResults(tries(due, before)),
      deliveries.recordResults(tries(due.toReversed(), before)),
      deliveries.recordResults(tries([...due.slice(90), ...due.slice(0, 90)], before)),
    ]);
  t.is((await dueRows(deliveries, ['uid-2'], [], 500))[0]?.attempts, 5);
  const ends = due.map(({ id }): Settlement => ({ id, before: 5, phase: 'Failed' }));
  await Promise.all([
    deliveries.recordResults(ends),
    deliveries.recordResults(ends.toReversed()),
    deliveries.abandon('o-1', 'uid-1', THROUGH),
    deliveries.abandon('o-1', 'uid-2', THROUGH),
  ]);
  t.deepEqual(await dueRows(deliveries, ['uid-1', 'uid-2'], [], 500), []);
});

test('what is overdue is found endpoint by endpoint', async (t) => {
  const f = await openFixture(t);
  await withEndpoint(f);
  const deliveries = openDeliveries(f.store.postgres);
  for (const endpoint of ['uid-1', 'uid-2', 'uid-3']) await dispatched(f, endpoint, 3);
  t.deepEqual((await deliveries.overdue(0, 10)).toSorted(), ['uid-1', 'uid-2', 'uid-3']);
  t.deepEqual(await deliveries.overdue(60_000, 10), []);
  t.deepEqual(await deliveries.overdue(0, 2), ['uid-1', 'uid-2']);
  t.deepEqual(await deliveries.overdue(0, 2, 'uid-2'), ['uid-3']);
  await deliveries.abandon('o-1', 'uid-2', THROUGH);
  t.deepEqual((await deliveries.overdue(0, 10)).toSorted(), ['uid-1', 'uid-3']);
});

test('the log is kept for seven days', async (t) => {
  const f = await openFixture(t);
  await withEndpoint(f);
  await dispatched(f, 'uid-1', 2);
  const log = openDeliveryLog(f.store.postgres);
  const day = 24 * 3_600_000;
  const [newest] = await log.list('o-1', 'uid-1', undefined, 1);
  await openDeliveries(f.store.postgres).abandon('o-1', 'uid-1', THROUGH);
  const again = await log.replay('o-1', 'uid-1', newest?.id ?? '', 'x', f.store.clock());
  t.is(again?.replayOf, newest?.id);
  await sweepDeliveries(f.store.postgres, f.store.clock() + 6.9 * day, AbortSignal.timeout(10_000));
  t.is((await log.list('o-1', 'uid-1', undefined, 10)).length, 3);
  await sweepDeliveries(f.store.postgres, f.store.clock() + 7.1 * day, AbortSignal.timeout(10_000));
  const left = await log.list('o-1', 'uid-1', undefined, 10);
  t.deepEqual(
    left.map(({ phase }) => phase),
    ['Pending'],
    'what is pending is not lost',
  );
});

test('a read of what is due is bounded by rows and by characters, and says what it has left out', async (t) => {
  const f = await openFixture(t);
  await withEndpoint(f);
  await dispatched(f, 'uid-1', 3);
  const deliveries = openDeliveries(f.store.postgres);
  const read = async (rows: number, characters: number) => {
    const page = await deliveries.due(['uid-1', 'uid-none'], [], { rows, characters });
    return [page.deliveries.length, [...page.cut]];
  };
  t.deepEqual(await read(3, 2 ** 20), [3, []]);
  t.deepEqual(await read(2, 2 ** 20), [2, ['uid-1']]);
  t.deepEqual(await read(3, 1), [1, ['uid-1']], 'the first comes whatever its size');
});
