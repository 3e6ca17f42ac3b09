/**
 * Wakes what money has refused, once there is money for it: once a second it reads how much is free on the counters for which something waits.
 *
 * - Renewals that were refused are due again when more is free on their counter than before, or its limit is another, as many as fit: their
 *   work runs, so they come first. The ledger's rows say which they are.
 * - Owners of work that is to begin (`AwaitMoney`) hear how many of their pieces fit (`MoneyFreed`): in the order in which they began to
 *   wait, each as many as fit into what is left; one that needs more than that is passed over, for a while (`gathering.ts`), and those
 *   who have ended meanwhile, or were cancelled or suspended, leave the queue: resumed, they ask again. What was
 *   stopped for want of money is woken only when the limit is higher than it was then.
 * - Where nothing is held below a cap that could be given back, its owner hears that (`MoneyExhausted`).
 *
 * It looks at what is there, not at what happened, so a raised limit, a credit, a release, a deleted Budget and a new month are the same to it,
 * and none is missed. Nothing is decided or reserved here: what is woken asks the ledger, and may be refused and wait again. What waits is
 * known from memory: owners say it again when a process begins (each is opened then), and try again by themselves after a while.
 *
 * I10: at most MOST_WAITING entries (further ones are not noted), COUNTERS counters and WAKES pieces of work a round, REFUSED renewals; a counter
 * from which was woken rests for PAUSE_MS, until what was woken has taken its money.
 */
import type { Address } from '../../src/api/address.js';
import type { LaterEffect } from '../../src/kinds/effect.js';
import { monthOf, parseCounter } from '../../src/money/counters.js';
import { USD } from '../../src/money/usd.js';
import type { DueHold, DueHolds } from '../../storage/ledger/due-holds.js';
import type { CounterRoom, LimitedCounters, RefusedHold } from '../../storage/ledger/limited-counters.js';
import type { CounterName } from '../../storage/ledger/projection.js';
import type { Clock } from '../../storage/store.js';
import type { MessageRouter } from '../message-router.js';
import { gatheringNow, isBehind, type Gathering } from './gathering.js';
import { tick } from './ticker.js';

const EVERY_MS = 1_000;
const MOST_WAITING = 100_000;
const COUNTERS = 500;
const WAKES = 500;
const REFUSED = 1_000;
const PAUSE_MS = 2_000;
/** Counters of which it is known what was free. */
const MOST_SEEN = 10_000;
const START: CounterName = { org: '', counter: '' };

type AwaitMoney = Extract<LaterEffect, { type: 'AwaitMoney' }>;

export interface WaitingDeps {
  readonly rows: LimitedCounters;
  readonly send: MessageRouter['send'];
  /** Whether this object still has work to begin: it is there, has not ended, and is neither cancelled nor suspended. */
  wants(owner: Address, uid: string): Promise<boolean>;
  readonly clock: Clock;
  onProblem(message: string): void;
}

export interface WaitingWork {
  /** Takes the place of what the object said before of this counter. */
  add(owner: Address, uid: string, wait: AwaitMoney): void;
  /** Refused renewals that are to be tried now, each once. */
  takeRefused(): DueHolds;
  /** Goes on until `stopping` is aborted; resolves then. */
  run(stopping: AbortSignal): Promise<void>;
}

/** Pieces of work of one owner that wait on one counter. */
interface Entry {
  readonly id: string;
  readonly owner: Address;
  readonly uid: string;
  readonly wait: AwaitMoney;
  count: number;
  exhausted: boolean;
}

interface Queue {
  readonly name: CounterName;
  readonly entries: Map<string, Entry>;
  pausedUntil: number;
  /** What there was when none of the entries fitted; undefined: it is to be looked at. */
  seen: CounterRoom | undefined;
  gathering: Gathering | undefined;
}

export function openWaitingWork({ rows, send, wants, clock, onProblem }: WaitingDeps): WaitingWork {
  const queues = new Map<string, Queue>();
  /** What was free on counters that refused renewals when these were tried last. */
  const seen = new Map<string, CounterRoom>();
  let refused: RefusedHold[] = [];
  let waiting = 0;
  let cursor = START;

  function put(name: CounterName, entry: Entry): void {
    const id = idOf(name);
    const queue = queues.get(id) ?? {
      name,
      entries: new Map<string, Entry>(),
      pausedUntil: 0,
      seen: undefined,
      gathering: undefined,
    };
    if (!queue.entries.has(entry.id)) {
      if (waiting >= MOST_WAITING) return;
      waiting += 1;
    }
    queue.entries.set(entry.id, entry);
    queue.seen = undefined;
    queues.set(id, queue);
  }

  function take(queue: Queue, entry: Entry, count: number): void {
    entry.count -= count;
    if (entry.count > 0 || queue.entries.get(entry.id) !== entry) return;
    queue.entries.delete(entry.id);
    waiting -= 1;
    if (queue.entries.size === 0) queues.delete(idOf(queue.name));
  }

  /** As `fitting`, but for those who want it no more: they leave the queue, or the money would wait for each of their pieces in turn. */
  async function fittingNow(queue: Queue, entries: readonly Entry[], room: CounterRoom, most: number) {
    let left = entries;
    for (let looked = 0; ;) {
      const found = fitting(left, room, most);
      const gone = new Set<Entry>();
      for (const { entry } of found) {
        if (entry.wait.above !== undefined || looked >= WAKES) continue;
        looked += 1;
        if (!(await wants(entry.owner, entry.uid))) gone.add(entry);
      }
      if (gone.size === 0) return found;
      for (const entry of gone) take(queue, entry, entry.count);
      left = left.filter((entry) => !gone.has(entry));
    }
  }

  async function wake(queue: Queue, entry: Entry, count: number): Promise<void> {
    take(queue, entry, count);
    const { owner, uid, wait } = entry;
    const stopped = wait.above !== undefined;
    const delivery = await send(owner, uid, { type: 'MoneyFreed', counter: wait.counter, stopped, count });
    if (delivery === 'Retry') put(queue.name, { ...entry, count: entry.count + count });
  }

  async function tellExhausted(queue: Queue, entry: Entry, limitUSD: string): Promise<void> {
    entry.exhausted = true;
    const { owner, uid, wait } = entry;
    const delivery = await send(owner, uid, { type: 'MoneyExhausted', counter: wait.counter, limitUSD });
    if (delivery !== 'Retry') return;
    entry.exhausted = false;
    queue.seen = undefined;
  }

  /** Reads which refused renewals may fit by now; answers their counters. */
  async function readRefused(): Promise<ReadonlySet<string>> {
    if (refused.length > 0) return new Set(refused.map(idOf));
    const names = await rows.refusing(cursor, COUNTERS);
    cursor = (names.length < COUNTERS ? undefined : names.at(-1)) ?? START;
    const freed = new Map<string, CounterRoom>();
    for (const room of await rows.rooms(names)) {
      const id = idOf(room);
      if (hasMore(room, seen.get(id), clock())) freed.set(id, room);
      seen.delete(id);
      seen.set(id, room);
    }
    for (const id of seen.keys()) {
      if (seen.size <= MOST_SEEN) break;
      seen.delete(id);
    }
    const left = new Map([...freed].map(([id, room]) => [id, freeOn(room, clock())]));
    for (const hold of await rows.refusedBy([...freed.values()], REFUSED)) {
      const free = left.get(idOf(hold))?.minus(hold.lacksUSD);
      if (free === undefined || free.lt(0)) continue;
      left.set(idOf(hold), free);
      refused.push(hold);
    }
    return new Set(refused.map(idOf));
  }

  async function round(): Promise<void> {
    const now = clock();
    const busy = await readRefused();
    const due = [...queues].filter(([, { pausedUntil }]) => pausedUntil <= now).slice(0, COUNTERS);
    let left = WAKES;
    for (const room of await rows.rooms(due.map(([, { name }]) => name))) {
      const id = idOf(room);
      const queue = queues.get(id);
      if (queue === undefined) continue;
      // The last become the first of the next round.
      queues.delete(id);
      queues.set(id, queue);
      // Those that waited behind another one are looked at again.
      if (queue.gathering?.first !== undefined && now >= queue.gathering.until) queue.seen = undefined;
      // As it was when nothing fitted: else many that wait would be gone through each second.
      if (busy.has(id) || (queue.seen !== undefined && isSame(room, queue.seen) && !isOver(room, now))) continue;
      const open = isOver(room, now) ? { ...room, limitUSD: undefined } : room;
      const entries = [...queue.entries.values()];
      const gathering = gatheringNow(queue.gathering, queue.entries, open, now);
      queue.gathering = gathering;
      const next = gathering === undefined ? entries : entries.filter((entry) => !isBehind(entry, gathering));
      const woken = await fittingNow(queue, next, open, left);
      for (const { entry, count } of woken) {
        left -= count;
        void wake(queue, entry, count);
      }
      queue.seen = woken.length > 0 || left <= 0 ? undefined : room;
      if (woken.length > 0) queue.pausedUntil = now + PAUSE_MS;
      else for (const entry of exhaustedOf(queue, open)) void tellExhausted(queue, entry, open.limitUSD ?? '0');
    }
  }

  return {
    add(owner, uid, wait) {
      const id = `${uid}/${wait.above === undefined ? 'new' : 'stopped'}`;
      put({ org: owner.org, counter: wait.counter }, { id, owner, uid, wait, count: wait.count, exhausted: false });
    },
    takeRefused() {
      const taken = new Map<string, DueHold[]>();
      for (const { org, ...hold } of refused) taken.set(org, [...(taken.get(org) ?? []), hold]);
      refused = [];
      return taken;
    },
    run: (stopping) => tick({ every: EVERY_MS, round, onProblem }, stopping),
  };
}

const idOf = ({ org, counter }: CounterName): string => `${org}/${counter}`;

function isSame(a: CounterRoom, b: CounterRoom): boolean {
  return a.limitUSD === b.limitUSD && a.availableUSD === b.availableUSD && a.heldUSD === b.heldUSD;
}

/** A month that is over refuses nothing any more. */
function isOver({ counter }: CounterName, now: number): boolean {
  const name = parseCounter(counter);
  return name.of === 'Budget' && name.period !== 'total' && name.period < monthOf(now);
}

/** More than all work needs. */
const PLENTY = new USD(10n ** 40n);

/** No limit: as much as there is. */
function freeOn(room: CounterRoom, now: number): USD {
  return room.limitUSD === undefined || isOver(room, now) ? PLENTY : new USD(room.availableUSD);
}

/** `before` is undefined when it was never looked at: then it is tried once. */
function hasMore(room: CounterRoom, before: CounterRoom | undefined, now: number): boolean {
  if (before === undefined || room.limitUSD !== before.limitUSD || isOver(room, now)) return true;
  return new USD(room.availableUSD).gt(before.availableUSD);
}

/** The longest waiting first, each as much of it as fits into what those before it leave; `most` pieces in all. */
export function fitting<One extends Pick<Entry, 'wait' | 'count'>>(
  entries: readonly One[],
  { limitUSD, availableUSD }: Pick<CounterRoom, 'limitUSD' | 'availableUSD'>,
  most: number,
): readonly { readonly entry: One; readonly count: number }[] {
  const found: { entry: One; count: number }[] = [];
  let [free, left] = [new USD(availableUSD), most];
  for (const entry of entries.toSorted((a, b) => a.wait.since - b.wait.since)) {
    if (left <= 0) break;
    const { above, neededUSD } = entry.wait;
    if (limitUSD !== undefined && above !== undefined && new USD(limitUSD).lte(above)) continue;
    const room = limitUSD === undefined ? Infinity : USD.max(0, free).wholeTimes(neededUSD);
    const count = Math.min(entry.count, left, room);
    if (!(count > 0)) continue;
    free = free.minus(new USD(neededUSD).times(count));
    left -= count;
    found.push({ entry, count });
  }
  return found;
}

/** Those who wait for room below a cap although nothing is held there, and have not been told. */
function exhaustedOf({ name, entries }: Queue, room: CounterRoom): readonly Entry[] {
  if (parseCounter(name.counter).of !== 'Cost' || room.limitUSD === undefined || !new USD(room.heldUSD).isZero())
    return [];
  return [...entries.values()].filter(
    ({ wait, exhausted }) => !exhausted && new USD(wait.neededUSD).gt(room.availableUSD),
  );
}
