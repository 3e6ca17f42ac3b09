import test from 'ava';
import type { MoneyOperation, OperationResult } from '../../../src/money/operation.js';
import { renewHolds } from '../../../actors/money/renewals.js';
import type { Delivery } from '../../../actors/mailbox.js';
import type { ObjectMessage } from '../../../src/kinds/object-message.js';
import type { DueHold } from '../../../storage/ledger/due-holds.js';
import type { ReboundHolds } from '../../../storage/ledger/rebound-holds.js';
import type { LedgerResult } from '../../../storage/commit/request.js';

interface World {
  readonly due: Map<string, DueHold[]>;
  /** Orgs and numbers of holds of the members that the ledger was given. */
  readonly members: [string, number][];
  readonly told: [string, ObjectMessage['type']][];
  readonly problems: string[];
  /** By uid, until when work is paid. */
  readonly funded: [string, number | undefined][];
}

const hold = (key: string, placedAt = 2_000): DueHold => ({
  ...{ key, sequence: 1, placedAt },
  owner: { uid: key, kind: 'Attempt', project: 'default', name: key },
});

const REFUSED = {
  ...{ outcome: 'Applied', fundedUntil: 9_000, funding: 'Refused' },
  refusal: { key: 'x', by: 'Wallet', counter: 'wallet', limitUSD: '1', availableUSD: '0', neededUSD: '1' },
} as const satisfies OperationResult;

/** Rounds until `after` of them have begun. The process began at 1,000 ms. */
async function rounds(
  after: number,
  ledger: (org: string, operations: readonly MoneyOperation[], world: World) => LedgerResult,
  due: Record<string, DueHold[]>,
  delivered: (told: number) => Delivery = () => 'Done',
  rebound: () => ReboundHolds = () => ({ due: new Map(), done: () => Promise.resolve() }),
): Promise<World> {
  const world: World = { due: new Map(Object.entries(due)), members: [], told: [], funded: [], problems: [] };
  const stop = new AbortController();
  let begun = 0;
  await renewHolds(
    {
      due: () => {
        begun += 1;
        if (begun > after) stop.abort();
        return Promise.resolve(new Map(world.due));
      },
      rebound: () => Promise.resolve(rebound()),
      refused: () => new Map(),
      ledger(org, operations) {
        world.members.push([org, operations.length]);
        return Promise.resolve(ledger(org, operations, world));
      },
      send(_to, uid, { type }) {
        world.told.push([uid, type]);
        return Promise.resolve(delivered(world.told.length));
      },
      fund: (uid, until) => void world.funded.push([uid, until]),
      clock: () => 1_000,
      onProblem: (message) => void world.problems.push(message),
    },
    stop.signal,
  );
  return world;
}

const all = (operations: readonly MoneyOperation[], result: OperationResult): LedgerResult => ({
  outcome: 'Committed',
  results: operations.map(() => result),
});

test('many holds of one org are renewed in groups, and another org waits for one of them only', async (t) => {
  const many = Array.from({ length: 250 }, (_, i) => hold(`h-${i}`));
  const { members, told, problems } = await rounds(1, (_org, operations) => all(operations, { outcome: 'Applied' }), {
    big: many,
    small: [hold('s')],
  });
  t.deepEqual(members, [
    ['big', 100],
    ['small', 1],
    ['big', 100],
    ['big', 50],
  ]);
  t.deepEqual([told, problems], [[], []], 'what goes on wakes nobody');
});

test('when the ledger does not answer the round ends, is reported once, and the holds are taken again', async (t) => {
  const { members, problems } = await rounds(2, () => ({ outcome: 'Unavailable', message: 'away' }), {
    o: [hold('a')],
  });
  t.deepEqual(members, [
    ['o', 1],
    ['o', 1],
  ]);
  t.is(problems.length, 1);
});

test('a refusal is told until its owner has heard it and then no more, and a hold older than the process says also that it has money', async (t) => {
  const refused = await rounds(
    3,
    (_org, operations) => all(operations, REFUSED),
    { o: [hold('a')] },
    (told) => (told === 1 ? 'Retry' : 'Done'),
  );
  t.deepEqual(refused.told, [
    ['a', 'FundingRefused'],
    ['a', 'FundingRefused'],
  ]);
  const fine = await rounds(2, (_org, operations) => all(operations, { outcome: 'Applied', fundedUntil: 9_000 }), {
    o: [hold('old', 999), hold('new', 1_000)],
  });
  t.deepEqual(fine.told, [['old', 'FundingRestored']]);
  const queued = await rounds(1, (_org, operations) => all(operations, { ...REFUSED, fundedUntil: undefined }), {
    o: [hold('queued')],
  });
  t.deepEqual(queued.told, [], 'nothing runs that would end');
});

test('the engine hears until when work is paid that something limits, and that other work has no end', async (t) => {
  const results: OperationResult[] = [
    { outcome: 'Applied', fundedUntil: 9_000, limited: true },
    { outcome: 'Applied', fundedUntil: 8_000 },
    { outcome: 'Applied' },
    { ...REFUSED, fundedUntil: 7_000, limited: true },
    { outcome: 'Nothing', why: 'MovedOn' },
  ];
  const due = ['limited', 'free', 'waits', 'refused', 'moved'].map((key) => hold(key));
  const { funded } = await rounds(1, () => ({ outcome: 'Committed', results }), { o: due });
  t.deepEqual(funded, [
    ['limited', 9_000],
    ['free', undefined],
    ['refused', 7_000],
  ]);
});

test('holds of a new Budget are renewed behind those that are due, whatever has become of them, and are done when the ledger has taken them', async (t) => {
  for (const [answers, expected] of [
    [true, 1],
    [false, 0],
  ] as const) {
    const sequences: (number | undefined)[] = [];
    let done = 0;
    await rounds(
      1,
      (_org, operations) => {
        for (const one of operations) if (one.op === 'Renew') sequences.push(one.sequence);
        return answers ? all(operations, { outcome: 'Applied' }) : { outcome: 'Unavailable', message: 'away' };
      },
      { o: [hold('due')] },
      () => 'Done',
      () => ({
        due: new Map([['o', [{ ...hold('bound'), evenIfChanged: true }]]]),
        done: () => Promise.resolve(void (done += 1)),
      }),
    );
    t.deepEqual(sequences, [1, undefined]);
    t.is(done, expected);
  }
});

test('of blocks, on which requests to models draw, nobody is told anything: no work of them could be stopped', async (t) => {
  const { members, told } = await rounds(1, (_org, operations) => all(operations, REFUSED), {
    o: [hold('block/1/e/1', 0), hold('work', 0)],
  });
  t.deepEqual(members, [['o', 2]], 'they are renewed as others');
  t.deepEqual(told, [['work', 'FundingRefused']]);
});

test('a refused hold that has given money back tells that it ends earlier, and says nothing of less than a second', async (t) => {
  const ends = [90_000, 89_500, 30_000, 30_000];
  const { told } = await rounds(
    ends.length,
    (_org, operations, world) => all(operations, { ...REFUSED, fundedUntil: ends[world.members.length - 1] ?? 0 }),
    { o: [hold('a')] },
  );
  t.deepEqual(told, [
    ['a', 'FundingRefused'],
    ['a', 'FundingRefused'],
  ]);
});
