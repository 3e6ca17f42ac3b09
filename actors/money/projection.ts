/**
 * Shows in the status of objects what the ledger says of them: twice a second, counters that have changed since they were shown become
 * messages to the object that they are of: `CostChanged` to one that costs, `SpendChanged` to a Budget. A counter is shown once its
 * message was decided and committed, or its object is gone; so nothing is lost in a crash, and a message that comes twice changes nothing.
 *
 * What changes all the time is shown at most every five seconds (a Budget every second), and at once when nothing is held any more; an
 * Attempt for the first time when it is five seconds old, or at its end.
 *
 * I10: at most PAGE counters are read in a round, in the order of their names from where the last round ended; at most MOST_SENDING messages
 * are under way.
 */
import type { CostFigures, ObjectMessage, SpendFigures } from '../../src/kinds/object-message.js';
import { monthOf, parseCounter } from '../../src/money/counters.js';
import type { Hold } from '../../src/money/hold.js';
import { fundedUntil } from '../../src/money/renewal.js';
import { sumUSD } from '../../src/money/usd.js';
import type { ChangedCounter, CounterName, ProjectionRows, ShownCounter } from '../../storage/ledger/projection.js';
import type { Clock } from '../../storage/store.js';
import type { MessageRouter } from '../message-router.js';
import { tick } from './ticker.js';

const EVERY_MS = 500;
const PAGE = 500;
const MOST_SENDING = 1_000;
/** Objects that have ended and want their last figures. */
const MOST_ASKED = 100_000;
const OBJECTS_EVERY_MS = 5_000;
const BUDGETS_EVERY_MS = 1_000;
/** Holds read in a round. With more, rate and time are left out for once. */
const MOST_HOLDS = 20_000;
const START: CounterName = { org: '', counter: '' };

export interface ProjectionDeps {
  readonly rows: Pick<ProjectionRows, 'changed' | 'named' | 'shown' | 'holdsOf'>;
  readonly send: MessageRouter['send'];
  readonly clock: Clock;
  onProblem(message: string): void;
}

export interface Projection {
  /** Shows a counter though it has not changed, with the next round. When very many are asked for, one is lost: it is asked for again. */
  ask(name: CounterName): void;
  /** Goes on until `stopping` is aborted; resolves then. */
  run(stopping: AbortSignal): Promise<void>;
}

export function openProjection({ rows, send, clock, onProblem }: ProjectionDeps): Projection {
  let cursor = START;
  let shown: ShownCounter[] = [];
  const sending = new Set<string>();
  const asked = new Map<string, CounterName>();

  function ask(name: CounterName): void {
    if (asked.size < MOST_ASKED) asked.set(idOf(name), name);
  }

  async function changedNow(): Promise<readonly ChangedCounter[]> {
    const now = clock();
    const changed = await rows.changed({
      ...{ after: cursor, limit: PAGE },
      ...{ budgetsShownBefore: now - BUDGETS_EVERY_MS, objectsShownBefore: now - OBJECTS_EVERY_MS },
    });
    const last = changed.length < PAGE ? undefined : changed.at(-1);
    cursor = last === undefined ? START : { org: last.org, counter: last.counter.counter };
    return changed;
  }

  async function askedNow(): Promise<readonly ChangedCounter[]> {
    const names = [...asked].filter(([id]) => !sending.has(id)).slice(0, PAGE);
    const found = await rows.named(names.map(([, name]) => name));
    const there = new Set(found.map((one) => idOf(nameOf(one))));
    for (const [id] of names) if (!there.has(id)) asked.delete(id);
    return found;
  }

  async function flush(): Promise<void> {
    const now = shown;
    shown = [];
    try {
      await rows.shown(now, clock());
    } catch (error) {
      // Read and shown again, which changes nothing.
      onProblem(error instanceof Error ? error.message : 'failed');
    }
  }

  function show(changed: ChangedCounter, message: ObjectMessage | undefined): void {
    const { org, owner, revision } = changed;
    const { counter } = changed.counter;
    const id = idOf({ org, counter });
    asked.delete(id);
    if (message === undefined || owner === undefined) return void shown.push({ org, counter, revision });
    sending.add(id);
    const { kind, project, name, uid } = owner;
    void send({ org, kind, project, name }, uid, message).then((delivery) => {
      sending.delete(id);
      if (delivery === 'Done' || delivery === 'Absent') shown.push({ org, counter, revision });
      else ask({ org, counter });
    });
  }

  async function round(): Promise<void> {
    await flush();
    const found = new Map([...(await changedNow()), ...(await askedNow())].map((one) => [idOf(nameOf(one)), one]));
    const free = [...found].filter(([id]) => !sending.has(id)).slice(0, Math.max(0, MOST_SENDING - sending.size));
    const changed = free.map(([, one]) => one);
    const costs = changed.flatMap(({ org, owner, counter: { counter, holders } }) =>
      owner !== undefined && holders > 0 && parseCounter(counter).of === 'Cost' ? [{ org, uid: owner.uid }] : [],
    );
    const holds = billingBy(await rows.holdsOf(costs, MOST_HOLDS));
    for (const one of changed) show(one, messageOf(one, holds, clock()));
  }

  return {
    ask,
    async run(stopping) {
      await tick({ every: EVERY_MS, round, onProblem }, stopping);
      // What has arrived meanwhile need not be sent by the next process.
      await flush();
    },
  };
}

const idOf = ({ org, counter }: CounterName): string => `${org}/${counter}`;
const nameOf = ({ org, counter: { counter } }: ChangedCounter): CounterName => ({ org, counter });

interface Billing {
  readonly rateUSDPerHour: string;
  readonly fundedUntil: number | undefined;
}

/** What bills now, by the uid of each object that it counts in. */
function billingBy(holds: readonly Hold[]): ReadonlyMap<string, Billing> {
  const found = new Map<string, Billing>();
  if (holds.length >= MOST_HOLDS) return found;
  for (const hold of holds) {
    if (hold.billing === undefined) continue;
    const until = fundedUntil(hold);
    for (const { uid } of hold.payer.costs) {
      const before = found.get(uid);
      found.set(uid, {
        rateUSDPerHour: sumUSD([hold.billing.rateUSDPerHour, before?.rateUSDPerHour ?? '0']).toFixed(),
        fundedUntil: earliest(until, before?.fundedUntil),
      });
    }
  }
  return found;
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}

/** Undefined: nothing shows it. */
function messageOf(
  { counter, revision, refusing }: ChangedCounter,
  billing: ReadonlyMap<string, Billing>,
  now: number,
): ObjectMessage | undefined {
  const name = parseCounter(counter.counter);
  const { spentUSD, heldUSD, holders, segments, covered } = counter;
  if (name.of === 'Cost') {
    const cost: CostFigures = {
      ...{ totalUSD: spentUSD.toFixed(), heldUSD: heldUSD.toFixed(), holders, covered },
      segments: Object.fromEntries(Object.entries(segments).map(([segment, amount]) => [segment, amount.toFixed()])),
      ...billing.get(name.uid),
    };
    return { type: 'CostChanged', cost, revision };
  }
  // The next month has its figures when it begins.
  if (name.of === 'Wallet' || !(name.period === 'total' || name.period === monthOf(now))) return undefined;
  const spend: SpendFigures = {
    ...{ period: name.period, spentUSD: spentUSD.toFixed(), heldUSD: heldUSD.toFixed(), refusing },
  };
  return { type: 'SpendChanged', ...spend, revision };
}
